#include "gpu/runtime/cuda_driver.hpp"

#include <dlfcn.h>

#include "reference/core/error.hpp"

namespace assay::gpu::driver {
namespace {

template <class F>
void find(void* library, const char* symbol, F& function) {
  void* const at = dlsym(library, symbol);
  if (at == nullptr) throw Error("the CUDA driver is too old", std::string("function ") + symbol, "none");
  function = reinterpret_cast<F>(at);
}

}  // namespace

Api load(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    throw Error("no CUDA driver here", file, why == nullptr ? "nothing" : why);
  }
  Api api{};
  find(library, "cuInit", api.Init);
  find(library, "cuGetErrorString", api.GetErrorString);
  find(library, "cuDeviceGet", api.DeviceGet);
  find(library, "cuDeviceGetName", api.DeviceGetName);
  find(library, "cuDeviceGetAttribute", api.DeviceGetAttribute);
  find(library, "cuDevicePrimaryCtxRetain", api.DevicePrimaryCtxRetain);
  find(library, "cuDevicePrimaryCtxRelease_v2", api.DevicePrimaryCtxRelease);
  find(library, "cuCtxSetCurrent", api.CtxSetCurrent);
  find(library, "cuCtxSynchronize", api.CtxSynchronize);
  find(library, "cuMemAlloc_v2", api.MemAlloc);
  find(library, "cuMemFree_v2", api.MemFree);
  find(library, "cuMemcpyHtoD_v2", api.MemcpyHtoD);
  find(library, "cuMemcpyDtoH_v2", api.MemcpyDtoH);
  find(library, "cuModuleLoadDataEx", api.ModuleLoadDataEx);
  find(library, "cuModuleGetFunction", api.ModuleGetFunction);
  find(library, "cuModuleUnload", api.ModuleUnload);
  find(library, "cuFuncSetAttribute", api.FuncSetAttribute);
  find(library, "cuLaunchKernelEx", api.LaunchKernelEx);
  return api;
}

}  // namespace assay::gpu::driver

// A CUDA driver that has one device of compute capability 9.0, the memory of the host and one kernel, `copy(from, to,
// bytes)`. It is written against the toolkit's header, so that what the runtime declares by itself is compared with it.
#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

/// What the last launch asked for, read by the test through its symbol.
struct Seen {
  unsigned grid[3], block[3], shared, cluster[3];
  int dynamic_shared_allowed;
} seen;

struct Copy {
  const void* from;
  void* to;
  std::uint64_t bytes;
};

}  // namespace

extern "C" {

const void* fake_cuda_seen() { return &seen; }

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_INVALID_PTX ? "a PTX JIT compilation failed" : "not found";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "a device that is none", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
                                                                       : -1;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  *module = nullptr;
  if (std::strstr(static_cast<const char*>(image), ".entry") != nullptr) return CUDA_SUCCESS;
  char* log = nullptr;
  std::size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) bytes = reinterpret_cast<std::size_t>(values[i]);
  }
  if (log != nullptr) std::strncpy(log, "line 1; no entry", bytes);
  return CUDA_ERROR_INVALID_PTX;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  *function = nullptr;
  return std::strcmp(name, "copy") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) seen.dynamic_shared_allowed = value;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void** params, void** extra) {
  if (params != nullptr || extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
      extra[4] != CU_LAUNCH_PARAM_END || *static_cast<std::size_t*>(extra[3]) != sizeof(Copy))
    return CUDA_ERROR_INVALID_VALUE;
  const int allowed = seen.dynamic_shared_allowed;
  seen = {{config->gridDimX, config->gridDimY, config->gridDimZ},
          {config->blockDimX, config->blockDimY, config->blockDimZ},
          config->sharedMemBytes,
          {1, 1, 1},
          allowed};
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& dim = config->attrs[i].value.clusterDim;
      seen.cluster[0] = dim.x, seen.cluster[1] = dim.y, seen.cluster[2] = dim.z;
    }
  Copy copy;
  std::memcpy(&copy, extra[1], sizeof copy);
  std::memcpy(copy.to, copy.from, copy.bytes);
  return CUDA_SUCCESS;
}

}  // extern "C"

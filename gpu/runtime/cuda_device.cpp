// A CUDA device through its driver. Memory has no guards here, and a kernel that breaks a rule is seen only if the
// driver stops it: what is wrong with it the PTX machine says.
#include <cstring>

#include "gpu/runtime/cuda_driver.hpp"
#include "gpu/runtime/device.hpp"
#include "reference/core/error.hpp"

namespace assay::gpu {
namespace {

using driver::Handle;

/// Without more than this of dynamic shared memory a kernel need not ask.
constexpr std::uint32_t kOrdinaryShared = 48 * 1024;

class CudaDevice : public Device {
 public:
  explicit CudaDevice(const std::string& library) : api_(driver::load(library)) {
    check(api_.Init(0), "cuInit");
    check(api_.DeviceGet(&id_, 0), "cuDeviceGet");
    char text[256] = {};
    check(api_.DeviceGetName(text, sizeof text - 1, id_), "cuDeviceGetName");
    name_ = text;
    int minor = 0;
    check(api_.DeviceGetAttribute(&major_, driver::kCapabilityMajor, id_), "cuDeviceGetAttribute");
    check(api_.DeviceGetAttribute(&minor, driver::kCapabilityMinor, id_), "cuDeviceGetAttribute");
    if (major_ < 8)
      throw Error("this CUDA device is too old", "compute capability 8.0 or more",
                  name_ + " with " + std::to_string(major_) + "." + std::to_string(minor));
    minor_ = minor;
    Handle context = nullptr;
    check(api_.DevicePrimaryCtxRetain(&context, id_), "cuDevicePrimaryCtxRetain");
    check(api_.CtxSetCurrent(context), "cuCtxSetCurrent");
  }
  ~CudaDevice() override {
    for (const Handle module : modules_) api_.ModuleUnload(module);
    api_.DevicePrimaryCtxRelease(id_);
  }

  std::string name() const override { return name_; }
  /// PTX for sm_90a, sm_100a and sm_120a runs on these alone; anything else takes that for sm_80.
  std::string arch() const override {
    if (minor_ == 0 && (major_ == 9 || major_ == 10 || major_ == 12)) return "sm_" + std::to_string(major_ * 10) + "a";
    return "sm_80";
  }
  bool checks() const override { return false; }

  std::uint64_t allocate(std::uint64_t bytes) override {
    driver::Address address = 0;
    check(api_.MemAlloc(&address, bytes == 0 ? 1 : bytes), "cuMemAlloc of " + std::to_string(bytes) + " bytes");
    return address;
  }
  /// After a kernel that the driver stopped nothing can be freed, and the launch has said so.
  void free(std::uint64_t address) override { api_.MemFree(address); }
  void write(std::uint64_t address, const void* from, std::uint64_t bytes) override {
    if (bytes > 0) check(api_.MemcpyHtoD(address, from, bytes), "cuMemcpyHtoD");
  }
  void read(std::uint64_t address, void* to, std::uint64_t bytes, std::vector<std::uint8_t>* defined) const override {
    if (bytes > 0) check(api_.MemcpyDtoH(to, address, bytes), "cuMemcpyDtoH");
    if (defined != nullptr) defined->assign(bytes, 1);
  }

  int load(const std::string& ptx) override {
    char log[4096] = {};
    int keys[] = {driver::kErrorLog, driver::kErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
    Handle module = nullptr;
    const driver::Result result = api_.ModuleLoadDataEx(&module, ptx.c_str(), 2, keys, values);
    check(result, std::string("cuModuleLoadDataEx: ") + log);
    modules_.push_back(module);
    return static_cast<int>(modules_.size()) - 1;
  }

  Report launch(int module, const Launch& launch, const Options&) override {
    Handle function = nullptr;
    check(api_.ModuleGetFunction(&function, modules_.at(static_cast<std::size_t>(module)), launch.kernel.c_str()),
          "cuModuleGetFunction of " + launch.kernel);
    if (launch.dynamic_shared > kOrdinaryShared)
      check(api_.FuncSetAttribute(function, driver::kMaxDynamicShared, static_cast<int>(launch.dynamic_shared)),
            "cuFuncSetAttribute");
    driver::Attribute cluster{};
    driver::LaunchConfig config{launch.grid.x,  launch.grid.y,         launch.grid.z, launch.block.x, launch.block.y,
                                launch.block.z, launch.dynamic_shared, nullptr,       nullptr,        0};
    if (launch.cluster.x * launch.cluster.y * launch.cluster.z > 1) {
      const unsigned dims[] = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
      cluster.id = driver::kClusterDimension;
      std::memcpy(cluster.value, dims, sizeof dims);
      config.attributes = &cluster;
      config.count = 1;
      if (launch.cluster.x * launch.cluster.y * launch.cluster.z > 8)
        check(api_.FuncSetAttribute(function, driver::kNonPortableCluster, 1), "cuFuncSetAttribute");
    }
    std::vector<std::uint8_t> params = launch.params;
    std::size_t bytes = params.size();
    void* extra[] = {reinterpret_cast<void*>(driver::kParamsAt), params.data(),
                     reinterpret_cast<void*>(driver::kParamsBytes), &bytes,
                     reinterpret_cast<void*>(driver::kParamsEnd)};
    check(api_.LaunchKernelEx(&config, function, nullptr, extra), "cuLaunchKernelEx of " + launch.kernel);
    check(api_.CtxSynchronize(), "kernel " + launch.kernel);
    return {};
  }

 private:
  void check(driver::Result result, const std::string& what) const {
    if (result == 0) return;
    const char* text = nullptr;
    api_.GetErrorString(result, &text);
    throw Error("CUDA: " + what, "success", text == nullptr ? "error " + std::to_string(result) : text);
  }

  driver::Api api_;
  driver::DeviceId id_ = 0;
  std::string name_;
  int major_ = 0, minor_ = 0;
  std::vector<Handle> modules_;
};

}  // namespace

std::unique_ptr<Device> cuda_device(const std::string& library) {
  return std::make_unique<CudaDevice>(library.empty() ? "libcuda.so.1" : library);
}

}  // namespace assay::gpu

// The target cuda: our kernels on a CUDA device, through the driver that is found at run time.
#include "gpu/target/device_target.hpp"

namespace assay {
namespace {

std::unique_ptr<Target> make_cuda(const std::string& name) {
  std::unique_ptr<gpu::Device> device;
  try {
    device = gpu::cuda_device(name.size() > 5 ? name.substr(5) : "");
  } catch (const Error& e) {
    throw TargetMissing(e.what());
  }
  const std::string arch = device->arch();
  return std::make_unique<DeviceTarget>(name, std::move(device), kernels_built_for(arch), Manner{});
}

const RegisterTarget cuda("cuda", "cuda", &make_cuda);

}  // namespace
}  // namespace assay

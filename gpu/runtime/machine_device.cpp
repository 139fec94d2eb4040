// The PTX machine as a device.
#include "gpu/runtime/device.hpp"

namespace assay::gpu {
namespace {

class MachineDevice : public Device {
 public:
  explicit MachineDevice(const std::string& arch) : machine_(arch), arch_(arch) {}
  std::string name() const override { return "PTX machine"; }
  std::string arch() const override { return arch_; }
  bool checks() const override { return true; }
  std::uint64_t allocate(std::uint64_t bytes) override { return machine_.allocate(bytes); }
  void free(std::uint64_t address) override { machine_.free(address); }
  void write(std::uint64_t address, const void* from, std::uint64_t bytes) override {
    machine_.write(address, from, bytes);
  }
  void read(std::uint64_t address, void* to, std::uint64_t bytes, std::vector<std::uint8_t>* defined) const override {
    machine_.read(address, to, bytes, defined);
  }
  int load(const std::string& ptx) override { return machine_.load(ptx); }
  Report launch(int module, const Launch& launch, const Options& options) override {
    return machine_.launch(module, launch, options);
  }

 private:
  Machine machine_;
  std::string arch_;
};

}  // namespace

std::unique_ptr<Device> machine_device(const std::string& arch) { return std::make_unique<MachineDevice>(arch); }

}  // namespace assay::gpu

#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/machine/machine.hpp"

// What kernels run on: memory, modules, launches. Two back ends: the PTX machine, which is everywhere and says what a
// launch did wrong, and the CUDA driver, loaded at run time where there is one.
namespace assay::gpu {

class Device {
 public:
  virtual ~Device() = default;
  /// "PTX machine", or what the driver calls the device.
  virtual std::string name() const = 0;
  /// The architecture whose PTX it is given: sm_80, sm_90a, sm_100a or sm_120a.
  virtual std::string arch() const = 0;
  /// Whether a launch's report has findings, and memory that nothing wrote is known as such.
  virtual bool checks() const = 0;

  /// Aligned to 256 bytes, at least one byte; the content is undefined.
  virtual std::uint64_t allocate(std::uint64_t bytes) = 0;
  virtual void free(std::uint64_t address) = 0;
  virtual void write(std::uint64_t address, const void* from, std::uint64_t bytes) = 0;
  /// `defined`, if asked for, is 1 for each byte that something wrote; all of them where the device does not check.
  virtual void read(std::uint64_t address, void* to, std::uint64_t bytes,
                    std::vector<std::uint8_t>* defined = nullptr) const = 0;

  /// Throws Error on PTX that is not for this device.
  virtual int load(const std::string& ptx) = 0;
  /// Runs a kernel to its end. `options` say how adversarial the machine is; a real device has no choice. Throws Error
  /// on a launch that is refused and, where the device does not check, on one that fails.
  virtual Report launch(int module, const Launch& launch, const Options& options = {}) = 0;
};

/// Throws Error on an architecture that the machine does not have.
std::unique_ptr<Device> machine_device(const std::string& arch);

/// Throws Error where there is no driver or no device. `driver`: the library's file, "": libcuda.so.1.
std::unique_ptr<Device> cuda_device(const std::string& driver = "");

/// Memory of a device that goes with its owner. None of it for 0 bytes: the address is 0, and no access is right.
class Memory {
 public:
  Memory(Device& device, std::uint64_t bytes)
      : device_(&device), address_(bytes == 0 ? 0 : device.allocate(bytes)), bytes_(bytes) {}
  ~Memory() {
    if (address_ != 0) device_->free(address_);
  }
  Memory(Memory&& other) noexcept : device_(other.device_), address_(other.address_), bytes_(other.bytes_) {
    other.address_ = 0;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory& operator=(Memory&&) = delete;
  std::uint64_t address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Device* device_;
  std::uint64_t address_, bytes_;
};

}  // namespace assay::gpu

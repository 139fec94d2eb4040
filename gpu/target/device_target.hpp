#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/engine/target.hpp"
#include "conformance/engine/worker/worker.hpp"
#include "gpu/runtime/kernels.hpp"

// Kernels on a device as a target: tensors of a call go to device memory of their own, outputs are poisoned before,
// and what a launch breaks is the verdict, as a crash of a worker is.
namespace assay {

/// A kernel and the PTX it is launched from.
struct OfferedKernel {
  const gpu::Kernel* kernel;
  std::string ptx;
};

/// How calls are run.
struct Manner {
  gpu::Options options;      ///< of the machine
  bool fixed_async = false;  ///< asynchronous operations happen as the options say; otherwise as is drawn for each call
  bool same_kernel = true;   ///< every element is computed the same way whatever else is in the call
};

/// Every kernel that was built for an architecture, those of the newest family first. Throws TargetMissing if there is
/// none.
std::vector<OfferedKernel> kernels_built_for(const std::string& arch);

class DeviceTarget : public Target {
 public:
  /// Of two kernels that take a call the first runs.
  DeviceTarget(std::string name, std::unique_ptr<gpu::Device> device, std::vector<OfferedKernel> kernels,
               const Manner& manner);

  std::string name() const override { return name_; }
  std::vector<Contract> contracts(const OpSpec& op) const override;
  bool offers_output(const OpSpec& op, const std::string& output) const override;
  bool offers_option(const OpSpec& op, std::size_t option, int value) const override;
  std::vector<std::string> corners(const OpSpec& op) const override;
  std::vector<std::string> remarks() const override;
  bool sees_memory() const override { return true; }
  bool same_kernel() const override { return manner_.same_kernel; }
  Answer run(const Call& call, const Layout& layout) override;

 protected:
  /// Loads all kernels now. Throws Error on PTX that the device refuses.
  void load();

 private:
  /// The contracts of a kernel, as this device adds.
  std::vector<std::string> contracts_of(const gpu::Kernel& kernel) const;
  /// The place in kernels_ of the one that takes the call; past the end, and why, if none does.
  std::size_t pick(const Call& call, std::string& why) const;
  int module_of(std::size_t kernel);
  /// Runs the call; what it did to tensors that it should not have becomes the reply's kind and message.
  void run_on(const Call& call, std::size_t kernel, Request& request, Reply& reply);
  void keep_remarks(const gpu::Report& report);

  std::string name_;
  std::unique_ptr<gpu::Device> device_;
  std::vector<OfferedKernel> kernels_;
  Manner manner_;
  std::vector<int> modules_;  // of kernels_; -1: not loaded yet
  std::set<std::string> remarks_;
};

}  // namespace assay

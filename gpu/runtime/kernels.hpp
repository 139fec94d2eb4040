#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "reference/core/contract.hpp"
#include "reference/core/tensor.hpp"

// The kernels that are linked into this program: found by op and architecture, run on a call whose tensors lie in a
// device's memory.
namespace assay::gpu {

/// A tensor of a call in device memory. The stride of a size of 1 means nothing.
struct DeviceTensor {
  std::string name;
  const Format* format = nullptr;
  Shape shape, strides;  ///< strides in elements
  std::uint64_t address = 0;

  std::int64_t size(std::size_t dim) const { return shape[dim]; }
  std::int64_t stride(std::size_t dim) const { return shape[dim] == 1 ? 0 : strides[dim]; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(address);
  }
  /// Whether every row (all sizes but the last fixed) starts at a multiple of this many bytes and is contiguous.
  bool rows_aligned(int bytes) const;
};

/// Blocks of a grid that cover n elements, `each` of them at a time.
constexpr std::uint32_t blocks_of(std::int64_t n, std::int64_t each) {
  return static_cast<std::uint32_t>((n + each - 1) / each);
}

/// A call of an op: tensors that this call has, options in the order of the op's page.
struct DeviceCall {
  std::string op;
  Contract contract;
  std::vector<double> options;
  std::vector<DeviceTensor> inputs, outputs;

  /// nullptr if the call has no such tensor.
  const DeviceTensor* find(const std::string& name) const;
  /// Throws Error if the call has no such tensor.
  const DeviceTensor& operator[](const std::string& name) const;
};

/// Thrown by a kernel's run: what of the call it does not take.
struct NotTaken {
  std::string what;
};
/// A launch that broke a rule of PTX, or that the device refused. Its text names the kernel and the place.
struct LaunchFailed {
  std::string what;
};

/// How the host code of a kernel reaches the device: scratch memory for one call, and launches, one after another.
class Launcher {
 public:
  Launcher(Device& device, int module, const Options& options) : device_(device), module_(module), options_(options) {}

  /// Launches an entry of the kernel's PTX; a grid with a 0 in it launches nothing. Throws LaunchFailed.
  void launch(const std::string& entry, Dim grid, Dim block, std::uint32_t dynamic_shared,
              std::vector<std::uint8_t> params, Dim cluster = {});
  /// The same for a kernel whose only parameter is this struct.
  template <class Params>
  requires std::is_trivially_copyable_v<Params> &&
      (!std::is_pointer_v<Params>)void launch(const std::string& entry, Dim grid, Dim block,
                                              std::uint32_t dynamic_shared, const Params& params) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&params);
    launch(entry, grid, block, dynamic_shared, std::vector<std::uint8_t>(bytes, bytes + sizeof params));
  }
  /// Memory with undefined content, freed after the call.
  std::uint64_t scratch(std::uint64_t bytes);

  Device& device() { return device_; }
  /// What the launches so far counted and found: of the findings none of severity error.
  const Report& report() const { return report_; }

 private:
  Device& device_;
  int module_;
  Options options_;
  std::vector<Memory> scratch_;
  Report report_;
};

/// A kernel of an op with the host code around it.
struct Kernel {
  std::string op;
  std::string source;                  ///< "attention/flash_forward_sm80"; the PTX of this name holds its entries
  std::vector<std::string> contracts;  ///< what it promises, as contracts are spelled
  bool tensor_cores = false;           ///< its sums are those of a matrix unit
  /// Of the op's options, one value each, what it does not take, or "".
  std::function<std::string(const std::vector<double>& options)> lacks;
  /// Throws NotTaken, Error on a call that is wrong, LaunchFailed.
  std::function<void(const DeviceCall& call, Launcher& launcher)> run;
  std::vector<std::string> outputs = {};  ///< what it computes; none: all of the op
  /// Calls at the edges of its tiles and stages, as `--case` spells them: those that the claims are asked of beside the
  /// page's, and on which mutants of its synchronisation are run.
  std::vector<std::string> corners = {};
};
struct RegisterKernel {
  explicit RegisterKernel(Kernel kernel);
};

/// PTX that was embedded when the program was built.
struct Ptx {
  std::string source, arch;
  const char* text;
};
struct RegisterPtx {
  RegisterPtx(const char* source, const char* arch, const char* text);
};
/// nullptr if this kernel was not built for this architecture.
const Ptx* find_ptx(const std::string& source, const std::string& arch);
/// Whether any kernel was built: there was an nvcc.
bool kernels_built();

/// All kernels, by op and source.
std::vector<const Kernel*> all_kernels();
/// The kernels of an op that were built for an architecture: those written for the newest family first.
std::vector<const Kernel*> kernels_of(const std::string& op, const std::string& arch);

}  // namespace assay::gpu

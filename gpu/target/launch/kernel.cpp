// A launch file as a kernel: what it does not take, and how a call becomes launches.
#include <algorithm>
#include <cstring>
#include <limits>

#include "conformance/engine/call.hpp"
#include "gpu/target/launch/launch_file.hpp"

namespace assay {
namespace {

using gpu::DeviceCall;
using gpu::DeviceTensor;

constexpr long long kMaxScratch = 1LL << 30;

std::size_t index_of(const OpSpec& op, const std::string& option) {
  std::size_t i = 0;
  while (op.options[i].name != option) ++i;
  return i;
}

/// The size that a symbol of the op's shapes has in a call.
double size_of(const OpSpec& op, const DeviceCall& call, const std::string& symbol) {
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const TensorSpec& spec : *list)
      for (std::size_t d = 0; d < spec.shape.size(); ++d)
        if (const DeviceTensor* const t = call.find(spec.name); t != nullptr && spec.shape[d] == symbol)
          return static_cast<double>(t->size(d));
  throw gpu::NotTaken{"calls without a tensor that has the size " + symbol};
}

Values values_of(const OpSpec& op, const DeviceCall& call) {
  Values values;
  values.number = [&op, &call](const std::string& name) {
    for (std::size_t i = 0; i < op.options.size(); ++i)
      if (op.options[i].name == name) return call.options[i];
    return size_of(op, call, name);
  };
  values.stride = [&call](const std::string& tensor, int dim) {
    const DeviceTensor* const t = call.find(tensor);
    return t == nullptr ? 0.0 : static_cast<double>(t->stride(static_cast<std::size_t>(dim)));
  };
  values.choice = [&op, &call](const std::string& option, const std::string& value) {
    const std::size_t i = index_of(op, option);
    return op.options[i].names[static_cast<std::size_t>(call.options[i])] == value;
  };
  return values;
}

/// Whether an option's value is among those that a file lists: its default where it lists none.
bool offered(const LaunchFile& file, const OptionSpec& option, double value) {
  const auto listed = file.options.find(option.name);
  if (listed == file.options.end()) return value == (option.numeric() ? option.numbers[0] : 0);
  if (listed->second.empty()) return true;
  return std::any_of(listed->second.begin(), listed->second.end(), [&](const std::string& text) {
    return option.numeric() ? text == spell_number(value) : text == option.names[static_cast<std::size_t>(value)];
  });
}

std::string lacks(const LaunchFile& file, const std::vector<double>& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    const OptionSpec& o = file.op->options[i];
    if (!offered(file, o, options[i]))
      return o.name + "=" + (o.numeric() ? spell_number(options[i]) : o.names[static_cast<std::size_t>(options[i])]);
  }
  return "";
}

/// Parameters one after another, each aligned to its size, as PTX lays them out.
class Params {
 public:
  template <class T>
  void add(T value) {
    bytes_.resize((bytes_.size() + sizeof value - 1) / sizeof value * sizeof value);
    const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  std::vector<std::uint8_t> bytes() && { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

std::vector<std::uint8_t> params_of(const LaunchStep& step, const DeviceCall& call, const Values& values,
                                    const std::map<std::string, std::uint64_t>& scratch) {
  Params params;
  for (const LaunchParam& p : step.params) {
    const std::string what = "a parameter of " + step.entry;
    if (p.type == "tensor") {
      const DeviceTensor* const t = call.find(p.name);
      params.add<std::uint64_t>(t == nullptr ? 0 : t->address);
    } else if (p.type == "scratch") {
      params.add<std::uint64_t>(scratch.at(p.name));
    } else if (p.type == "i32") {
      using Limits = std::numeric_limits<std::int32_t>;
      params.add(static_cast<std::int32_t>(p.value->whole(values, Limits::min(), Limits::max(), what)));
    } else if (p.type == "i64") {
      params.add<std::int64_t>(p.value->whole(values, -(1LL << 53), 1LL << 53, what));
    } else if (p.type == "f32") {
      params.add(static_cast<float>((*p.value)(values)));
    } else {
      params.add((*p.value)(values));
    }
  }
  return std::move(params).bytes();
}

gpu::Dim dim_of(const std::vector<Expression>& sizes, const Values& values, const std::string& what, long long low) {
  std::uint32_t all[3] = {1, 1, 1};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    all[i] = static_cast<std::uint32_t>(sizes[i].whole(values, low, std::numeric_limits<std::int32_t>::max(), what));
  return {all[0], all[1], all[2]};
}

bool dense(const DeviceTensor& t) { return t.strides == dense_strides(t.shape) || count(t.shape) == 0; }

void run(const LaunchFile& file, const DeviceCall& call, gpu::Launcher& launcher) {
  const Values values = values_of(*file.op, call);
  for (const auto* list : {&call.inputs, &call.outputs})
    for (const DeviceTensor& t : *list)
      if (!file.strided && !dense(t)) throw gpu::NotTaken{"strided tensors"};
  for (const Expression& e : file.require)
    if (e(values) == 0) throw gpu::NotTaken{"calls without " + e.text()};
  std::map<std::string, std::uint64_t> scratch;
  try {
    for (const auto& [name, bytes] : file.scratch)
      scratch[name] =
          launcher.scratch(static_cast<std::uint64_t>(bytes.whole(values, 0, kMaxScratch, "scratch " + name)));
    for (const LaunchStep& step : file.steps) {
      if (step.when && (*step.when)(values) == 0) continue;
      const gpu::Dim grid = dim_of(step.grid, values, "the grid of " + step.entry, 0);
      const gpu::Dim block = dim_of(step.block, values, "the block of " + step.entry, 1);
      const gpu::Dim cluster = dim_of(step.cluster, values, "the cluster of " + step.entry, 1);
      const long long shared =
          step.shared ? step.shared->whole(values, 0, 1 << 20, "the shared memory of " + step.entry) : 0;
      launcher.launch(step.entry, grid, block, static_cast<std::uint32_t>(shared),
                      params_of(step, call, values, scratch), cluster);
    }
  } catch (const Error& e) {  // a launch file that is wrong for this call is no refusal of the kernel
    throw gpu::LaunchFailed{file.path + ": " + e.what()};
  }
}

}  // namespace

gpu::Kernel kernel_of(const LaunchFile& file) {
  return {file.op->name,
          file.path,
          file.contracts,
          file.tensor_cores,
          [file](const std::vector<double>& options) { return lacks(file, options); },
          [file](const DeviceCall& call, gpu::Launcher& launcher) { run(file, call, launcher); },
          file.outputs,
          {}};
}

}  // namespace assay

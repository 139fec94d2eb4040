#include "gpu/target/device_target.hpp"

#include <algorithm>

#include "conformance/engine/memory.hpp"
#include "conformance/engine/worker/diagnose.hpp"
#include "conformance/engine/worker/layout.hpp"
#include "reference/core/vocabulary.hpp"

namespace assay {
namespace {

using gpu::DeviceCall;
using gpu::DeviceTensor;
using gpu::Memory;

/// The options at their defaults but one.
std::vector<double> with_option(const OpSpec& op, std::size_t option, int value) {
  std::vector<double> all;
  for (std::size_t i = 0; i < op.options.size(); ++i) {
    const OptionSpec& o = op.options[i];
    const int index = i == option ? value : 0;
    all.push_back(o.numeric() ? o.numbers[static_cast<std::size_t>(index)] : index);
  }
  return all;
}

/// Throws Error if an input has another dtype than the contract says, or sizes that do not fit together.
void require_inputs(const Call& call) {
  for (const TensorSpec& spec : call.op->inputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    const Named& t = call.inputs.find(spec.name);
    const Format& expected = format_of(spec, call.contract);
    if (expected.name != t.format->name)
      throw Error("tensor " + spec.name + " has the wrong dtype", std::string(expected.name),
                  std::string(t.format->name));
    require_shape(spec.name.c_str(), t.value.shape(), shape_of(spec, call));
  }
}

/// A number that follows from all of the call, so that a call repeated meets the same schedule.
std::uint64_t digest(const Request& request) {
  std::uint64_t hash = 1469598103934665603u;  // FNV-1a
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 1099511628211u; };
  for (const TensorBytes& t : request.inputs) {
    for (const Index n : t.shape) add(static_cast<std::uint64_t>(n));
    for (const std::byte b : t.bytes) add(static_cast<std::uint64_t>(b));
  }
  for (const RequestOption& o : request.options)
    for (const char c : o.value) add(static_cast<std::uint64_t>(c));
  return hash;
}

/// What a call left in an output's gaps, and in an input, which are not its to write.
void inspect(const TensorBytes& before, const std::vector<std::byte>& after, bool output, Reply& reply) {
  if (reply.kind != Reply::Kind::ok) return;
  const std::vector<bool> mine = output ? element_bytes(before, false) : std::vector<bool>{};
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (output && (mine.empty() || mine[i])) continue;
    if (before.bytes[i] == after[i]) continue;
    reply.kind = output ? Reply::Kind::output_gap_written : Reply::Kind::input_written;
    reply.message = output ? "wrote between the elements of output " + before.name + ", at byte " + std::to_string(i)
                           : "wrote input " + before.name;
    return;
  }
}

}  // namespace

std::vector<OfferedKernel> kernels_built_for(const std::string& arch) {
  std::vector<OfferedKernel> list;
  std::set<std::string> ops;
  for (const gpu::Kernel* k : gpu::all_kernels()) ops.insert(k->op);
  for (const std::string& op : ops)
    for (const gpu::Kernel* k : gpu::kernels_of(op, arch)) list.push_back({k, gpu::find_ptx(k->source, arch)->text});
  if (list.empty())
    throw TargetMissing("the kernels are not built", "nvcc, of a CUDA toolkit, when assay was configured", "none");
  return list;
}

DeviceTarget::DeviceTarget(std::string name, std::unique_ptr<gpu::Device> device, std::vector<OfferedKernel> kernels,
                           const Manner& manner)
    : name_(std::move(name)),
      device_(std::move(device)),
      kernels_(std::move(kernels)),
      manner_(manner),
      modules_(kernels_.size(), -1) {}

std::vector<Contract> DeviceTarget::contracts(const OpSpec& op) const {
  std::vector<Contract> all;
  std::set<std::string> seen;
  for (const OfferedKernel& k : kernels_) {
    if (k.kernel->op != op.name) continue;
    for (const std::string& text : contracts_of(*k.kernel))
      if (Contract c = parse_contract(text); seen.insert(c.spell()).second) all.push_back(c);
  }
  return all;
}

/// A matrix unit that aligns and truncates, if the machine is to add like one or the device has one.
std::vector<std::string> DeviceTarget::contracts_of(const gpu::Kernel& kernel) const {
  std::vector<std::string> all = kernel.contracts;
  const bool hardware = !device_->checks() || manner_.options.tensor_core == gpu::TensorCore::hardware;
  if (kernel.tensor_cores && hardware)
    for (std::string& c : all) c += " kind=mma(24,8)";  // the coarsest of them: sm_80
  return all;
}

bool DeviceTarget::offers_output(const OpSpec& op, const std::string& output) const {
  return std::any_of(kernels_.begin(), kernels_.end(), [&](const OfferedKernel& k) {
    const auto& named = k.kernel->outputs;
    return k.kernel->op == op.name && (named.empty() || std::find(named.begin(), named.end(), output) != named.end());
  });
}

bool DeviceTarget::offers_option(const OpSpec& op, std::size_t option, int value) const {
  const std::vector<double> options = with_option(op, option, value);
  return std::any_of(kernels_.begin(), kernels_.end(), [&](const OfferedKernel& k) {
    return k.kernel->op == op.name && k.kernel->lacks(options).empty();
  });
}

std::vector<std::string> DeviceTarget::corners(const OpSpec& op) const {
  std::vector<std::string> all;
  for (const OfferedKernel& k : kernels_)
    if (k.kernel->op == op.name) all.insert(all.end(), k.kernel->corners.begin(), k.kernel->corners.end());
  return all;
}

std::vector<std::string> DeviceTarget::remarks() const { return {remarks_.begin(), remarks_.end()}; }

std::size_t DeviceTarget::pick(const Call& call, std::string& why) const {
  why = "op " + call.op->name;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const gpu::Kernel& k = *kernels_[i].kernel;
    if (k.op != call.op->name) continue;
    const std::vector<std::string> promised = contracts_of(k);
    const bool holds = std::any_of(promised.begin(), promised.end(), [&](const std::string& text) {
      return parse_contract(text).spell() == call.contract.spell();
    });
    const std::string lack = k.lacks(call.options);
    if (holds && lack.empty()) return i;
    why = holds ? "option " + lack : "contract " + call.contract.spell();
  }
  return kernels_.size();
}

void DeviceTarget::load() {
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    if (modules_[i] < 0) modules_[i] = device_->load(kernels_[i].ptx);
}

int DeviceTarget::module_of(std::size_t kernel) {
  int& module = modules_[kernel];
  if (module >= 0) return module;
  try {
    module = device_->load(kernels_[kernel].ptx);
  } catch (const Error& e) {
    throw gpu::LaunchFailed{kernels_[kernel].kernel->source + ": " + e.what()};
  }
  return module;
}

void DeviceTarget::keep_remarks(const gpu::Report& report) {
  for (const gpu::Finding& f : report.findings)
    remarks_.insert((f.severity == gpu::Severity::lint ? "lint: " : "not portable: ") + f.rule + ": " + f.says + " (" +
                    (f.source.empty() ? "PTX line " + std::to_string(f.line) : f.source) + ")");
}

void DeviceTarget::run_on(const Call& call, std::size_t kernel, Request& request, Reply& reply) {
  DeviceCall on{call.op->name, call.contract, call.options, {}, {}};
  std::vector<Memory> memory;
  for (const bool output : {false, true})
    for (TensorBytes& t : output ? request.outputs : request.inputs) {
      const std::size_t bytes = span_bytes(t);
      if (output) {
        t.bytes.resize(bytes);
        fill_pattern(t.bytes.data(), bytes, request.poison);
      }
      memory.emplace_back(*device_, bytes);
      if (bytes > 0) device_->write(memory.back().address(), t.bytes.data(), bytes);
      (output ? on.outputs : on.inputs)
          .push_back({t.name, &format(t.dtype), t.shape, t.strides, memory.back().address()});
    }
  gpu::Options options = manner_.options;
  options.seed += digest(request);
  if (!manner_.fixed_async) options.async = static_cast<gpu::Async>(options.seed % 3);
  gpu::Launcher launcher(*device_, module_of(kernel), options);
  kernels_[kernel].kernel->run(on, launcher);
  keep_remarks(launcher.report());
  std::size_t at = 0;
  for (const bool output : {false, true})
    for (TensorBytes& t : output ? request.outputs : request.inputs) {
      const Memory& m = memory[at++];
      std::vector<std::byte> after(m.bytes());
      std::vector<std::uint8_t> defined(m.bytes(), 1);
      if (m.bytes() > 0) device_->read(m.address(), after.data(), m.bytes(), &defined);
      inspect(t, after, output, reply);
      if (const auto hole = std::find(defined.begin(), defined.end(), 0);
          hole != defined.end() && reply.kind == Reply::Kind::ok) {
        reply.kind = Reply::Kind::crashed;
        reply.message = "output " + t.name + " was given a value that depends on memory nothing wrote, at byte " +
                        std::to_string(hole - defined.begin());
      }
      if (!output) continue;
      reply.outputs.push_back(t);
      reply.outputs.back().bytes = std::move(after);
    }
}

Answer DeviceTarget::run(const Call& call, const Layout& layout) {
  std::string why;
  const std::size_t kernel = pick(call, why);
  if (kernel == kernels_.size()) return {Answer::Kind::unsupported, why, {}, {}, {}, {}};
  try {
    require_inputs(call);
    std::vector<std::string> outputs;
    for (const TensorSpec& spec : call.op->outputs)
      if (exists(spec, *call.op, call.options) && offers_output(*call.op, spec.name)) outputs.push_back(spec.name);
    Request request = make_request(kernels_[kernel].kernel->source, call, outputs, layout);
    Reply reply;
    run_on(call, kernel, request, reply);
    return read_reply(reply, request, call);
  } catch (const gpu::NotTaken& e) {
    return {Answer::Kind::unsupported, e.what, {}, {}, {}, {}};
  } catch (const gpu::LaunchFailed& e) {
    return {Answer::Kind::broken, e.what, {}, {}, {}, {}};
  } catch (const Error& e) {
    return {Answer::Kind::refused, e.what(), {}, {}, {}, {}};
  }
}

}  // namespace assay

#include "gpu/target/sync/run.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "conformance/engine/case.hpp"
#include "conformance/engine/fill.hpp"
#include "conformance/engine/suite.hpp"
#include "gpu/target/device_target.hpp"

namespace assay {
namespace {

constexpr gpu::Async when[] = {gpu::Async::lazy, gpu::Async::eager, gpu::Async::random};
constexpr std::uint64_t instruction_limit = 1u << 24;  // many times what a corner takes: a mutant may never end

/// A device that notes which kernels are launched.
class Watched : public gpu::Device {
 public:
  Watched(std::unique_ptr<gpu::Device> device, std::set<std::string>& launched)
      : device_(std::move(device)), launched_(launched) {}
  std::string name() const override { return device_->name(); }
  std::string arch() const override { return device_->arch(); }
  bool checks() const override { return device_->checks(); }
  std::uint64_t allocate(std::uint64_t bytes) override { return device_->allocate(bytes); }
  void free(std::uint64_t address) override { device_->free(address); }
  void write(std::uint64_t address, const void* from, std::uint64_t bytes) override {
    device_->write(address, from, bytes);
  }
  void read(std::uint64_t address, void* to, std::uint64_t bytes, std::vector<std::uint8_t>* defined) const override {
    device_->read(address, to, bytes, defined);
  }
  int load(const std::string& ptx) override { return device_->load(ptx); }
  gpu::Report launch(int module, const gpu::Launch& launch, const gpu::Options& options) override {
    launched_.insert(launch.kernel);
    return device_->launch(module, launch, options);
  }

 private:
  std::unique_ptr<gpu::Device> device_;
  std::set<std::string>& launched_;
};

/// A call of a kernel's op, what the original makes of it, and the entries that it launches.
struct Trial {
  const gpu::Kernel* kernel;
  Call call;
  Tensors outputs;
  std::set<std::string> launched;
};

std::unique_ptr<DeviceTarget> target_of(const gpu::Kernel& kernel, const std::string& ptx, const std::string& arch,
                                        gpu::Async async, std::set<std::string>& launched) {
  Manner manner;
  manner.options.async = async;
  manner.options.instruction_limit = instruction_limit;
  manner.fixed_async = true;
  auto device = std::make_unique<Watched>(gpu::machine_device(arch), launched);
  return std::make_unique<DeviceTarget>("sync", std::move(device), std::vector<OfferedKernel>{{&kernel, ptx}}, manner);
}

/// The call with a NaN and infinities among the elements of one input: kernels may take another way then.
Call with_specials(Call call, const std::string& input) {
  const Tensor<double> x = call[input].clone();
  if (x.size() > 0) {
    x.data()[x.size() / 6] = __builtin_nan("");
    x.data()[x.size() / 2] = infinity;
    x.data()[x.size() - 1] = -infinity;
  }
  call.set(input, x);
  return call;
}

/// What an original makes of its corners, as they are and with specials in each input of floating-point numbers.
void add_trials(std::vector<Trial>& all, const gpu::Kernel& kernel, const std::string& ptx, const std::string& arch) {
  std::set<std::string> launched;
  const auto target = target_of(kernel, ptx, arch, gpu::Async::lazy, launched);
  const Space space(page(page_of_op(kernel.op).id));
  const auto add = [&](const Call& call, const std::string& text) {
    launched.clear();
    const Answer answer = target->run(call, {});
    if (answer.kind == Answer::Kind::unsupported) return;  // a corner of another kernel of the op
    if (answer.kind != Answer::Kind::ok)
      throw Error(kernel.source + " on " + text + " under " + call.contract.spell(), "an answer", answer.message);
    all.push_back({&kernel, call, answer.outputs, launched});
  };
  for (const std::string& text : kernel.corners)
    for (const std::string& contract : kernel.contracts) {
      const Call call = make_call(Case::parse(space, text), parse_contract(contract));
      add(call, text);
      for (const Named& t : call.inputs.all())
        if (t.format->has_infinity()) add(with_specials(call, t.name), text);
    }
}

bool same_bits(const Tensors& x, const Tensors& y) {
  for (const Named& t : x.all()) {
    const Tensor<double>& other = y[t.name];
    for (Index i = 0; i < t.value.size(); ++i) {
      const double a = t.value.at_flat(i), b = other.at_flat(i);
      if (a != b && (a == a || b == b)) return false;
    }
  }
  return true;
}

/// The rule that the machine says is broken, "wrong answer", or "" if nothing is seen.
std::string killed_by(const SyncMutant& mutant, const std::string& arch, const std::vector<Trial>& trials) {
  std::set<std::string> launched, entries;
  for (const Trial& trial : trials)
    if (trial.launched.count(mutant.entry) > 0) entries.insert(trial.launched.begin(), trial.launched.end());
  const std::string ptx = with_kernels(mutant.ptx, entries);
  for (const gpu::Async async : when) {
    std::map<const gpu::Kernel*, std::unique_ptr<DeviceTarget>> targets;
    for (const Trial& trial : trials) {
      if (trial.launched.count(mutant.entry) == 0) continue;
      auto& target = targets[trial.kernel];
      if (target == nullptr) target = target_of(*trial.kernel, ptx, arch, async, launched);
      const Answer answer = target->run(trial.call, {});
      if (answer.kind != Answer::Kind::ok) return answer.message.substr(0, answer.message.find(" in kernel "));
      if (!answer.unwritten.empty() || !same_bits(trial.outputs, answer.outputs)) return "wrong answer";
    }
  }
  return "";
}

}  // namespace

std::map<std::string, std::string> read_explained_sync(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("list of explained mutants cannot be read", "a file", path);
  std::map<std::string, std::string> all;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const auto tab = line.find('\t');
    if (tab == std::string::npos || tab + 1 == line.size())
      throw Error(path + ":" + std::to_string(number), "a mutant, a tab and a reason", line);
    if (!all.emplace(line.substr(0, tab), line.substr(tab + 1)).second)
      throw Error(path + ":" + std::to_string(number), "each mutant once", line);
  }
  return all;
}

std::vector<SyncResult> run_sync_mutants(const SyncOptions& options,
                                         const std::function<void(const SyncResult&)>& progress) {
  std::vector<SyncResult> results;
  std::map<std::string, std::vector<const OfferedKernel*>> sources;  // one PTX may serve several ops
  const std::vector<OfferedKernel> offered = kernels_built_for(options.arch);
  for (const OfferedKernel& k : offered)
    if (matches(options.source_glob, k.kernel->source)) sources[k.kernel->source].push_back(&k);
  for (const auto& [source, kernels] : sources) {
    const std::string& ptx = kernels.front()->ptx;
    const std::vector<SyncMutant> all = sync_mutants(ptx);
    if (all.empty()) continue;
    std::vector<Trial> trials;
    for (const OfferedKernel* k : kernels) add_trials(trials, *k->kernel, ptx, options.arch);
    const std::size_t n = all.size(), wanted = static_cast<std::size_t>(options.sample);
    const std::size_t take = wanted == 0 ? n : std::min(n, wanted);
    for (std::size_t k = 0; k < take; ++k) {
      const SyncMutant& mutant = all[k * n / take];
      SyncResult r{source, mutant, SyncResult::Fate::killed, killed_by(mutant, options.arch, trials)};
      r.mutant.ptx.clear();
      if (r.by.empty()) {
        const auto reason = options.explained.find(mutant.name());
        r.fate = reason == options.explained.end() ? SyncResult::Fate::survives : SyncResult::Fate::explained;
        if (reason != options.explained.end()) r.by = reason->second;
      }
      progress(r);
      results.push_back(std::move(r));
    }
  }
  if (results.empty()) throw Error("no kernel has a mutant", "a glob over kernel sources", options.source_glob);
  return results;
}

}  // namespace assay

#include "gpu/runtime/kernels.hpp"

#include <algorithm>

namespace assay::gpu {
namespace {

std::vector<Kernel>& kernels() {
  static std::vector<Kernel> list;
  return list;
}
std::vector<Ptx>& texts() {
  static std::vector<Ptx> list;
  return list;
}

/// The architecture a source is written for: 80 of "attention/flash_forward_sm80".
int family(const std::string& source) {
  const auto at = source.rfind("_sm");
  return at == std::string::npos ? 0 : std::atoi(source.c_str() + at + 3);
}

std::string place(const Finding& f) {
  const auto dim = [](const Dim& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
  };
  return "PTX line " + std::to_string(f.line) + (f.source.empty() ? "" : ", " + f.source) + ", CTA " + dim(f.cta) +
         ", warp " + std::to_string(f.warp) + ", lane " + std::to_string(f.lane) +
         (f.count > 1 ? ", " + std::to_string(f.count) + " times" : "");
}

/// The errors of a launch in words: the first three, and how many more.
std::string errors_of(const std::string& entry, const Report& report) {
  std::string text;
  int errors = 0;
  for (const Finding& f : report.findings) {
    if (f.severity != Severity::error || ++errors > 3) continue;
    text += (text.empty() ? "" : "; ") + f.rule + " in kernel " + entry + ": " + f.says + " (" + place(f) + ")";
  }
  if (errors > 3) text += "; and " + std::to_string(errors - 3) + " more";
  return text;
}

}  // namespace

bool DeviceTensor::rows_aligned(int bytes) const {
  const std::int64_t width = format->bits / 8;
  if (shape.empty() || stride(shape.size() - 1) > 1) return false;
  bool all = address % static_cast<std::uint64_t>(bytes) == 0;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) all = all && stride(d) * width % bytes == 0;
  return all;
}

const DeviceTensor* DeviceCall::find(const std::string& name) const {
  for (const auto* list : {&inputs, &outputs})
    for (const DeviceTensor& t : *list)
      if (t.name == name) return &t;
  return nullptr;
}

const DeviceTensor& DeviceCall::operator[](const std::string& name) const {
  if (const DeviceTensor* const t = find(name)) return *t;
  throw Error("a call of " + op + " has no tensor " + name);
}

void Launcher::launch(const std::string& entry, Dim grid, Dim block, std::uint32_t dynamic_shared,
                      std::vector<std::uint8_t> params, Dim cluster) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  Report report;
  try {
    report = device_.launch(module_, {entry, grid, block, cluster, dynamic_shared, std::move(params)}, options_);
  } catch (const Error& e) {
    throw LaunchFailed{"launch of kernel " + entry + ": " + e.what()};
  }
  const std::string errors = errors_of(entry, report);
  if (!errors.empty()) throw LaunchFailed{errors};
  report_.findings.insert(report_.findings.end(), report.findings.begin(), report.findings.end());
  report_.counters.warp_instructions += report.counters.warp_instructions;
  report_.counters.lane_operations += report.counters.lane_operations;
  for (const auto& [name, n] : report.counters.by_name) report_.counters.by_name[name] += n;
  report_.printed += report.printed;
}

std::uint64_t Launcher::scratch(std::uint64_t bytes) {
  scratch_.emplace_back(device_, bytes);
  return scratch_.back().address();
}

RegisterKernel::RegisterKernel(Kernel kernel) { kernels().push_back(std::move(kernel)); }
RegisterPtx::RegisterPtx(const char* source, const char* arch, const char* text) {
  texts().push_back({source, arch, text});
}

const Ptx* find_ptx(const std::string& source, const std::string& arch) {
  for (const Ptx& p : texts())
    if (p.source == source && p.arch == arch) return &p;
  return nullptr;
}

bool kernels_built() { return !texts().empty(); }

std::vector<const Kernel*> all_kernels() {
  std::vector<const Kernel*> all;
  for (const Kernel& k : kernels()) all.push_back(&k);
  std::sort(all.begin(), all.end(),
            [](const Kernel* a, const Kernel* b) { return a->op != b->op ? a->op < b->op : a->source < b->source; });
  return all;
}

std::vector<const Kernel*> kernels_of(const std::string& op, const std::string& arch) {
  std::vector<const Kernel*> found;
  for (const Kernel* k : all_kernels())
    if (k->op == op && find_ptx(k->source, arch) != nullptr) found.push_back(k);
  std::stable_sort(found.begin(), found.end(),
                   [](const Kernel* a, const Kernel* b) { return family(a->source) > family(b->source); });
  return found;
}

}  // namespace assay::gpu

#include "gpu/machine/machine.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/machine/decode.hpp"
#include "gpu/machine/run.hpp"
#include "reference/core/error.hpp"
#include "reference/core/parallel.hpp"

namespace assay::gpu {
namespace {

/// Bytes of shared memory that a block may have.
struct Architecture {
  const char* name;
  std::uint32_t shared;
};
constexpr Architecture architectures[] = {
    {"sm_80", 163 * 1024}, {"sm_90a", 227 * 1024}, {"sm_100a", 227 * 1024}, {"sm_120a", 99 * 1024}};

const Architecture& architecture(const std::string& name) {
  for (const Architecture& a : architectures)
    if (name == a.name) return a;
  throw Error("architecture of the PTX machine", "sm_80, sm_90a, sm_100a or sm_120a", name);
}

/// PTX for an older architecture runs on a newer one; PTX for sm_90a on that one alone.
void require_target(const std::string& target, const std::string& arch) {
  if (target == arch) return;
  const bool own = !target.empty() && (target.back() == 'a' || target.back() == 'f');
  const bool known = target.rfind("sm_", 0) == 0 && target.size() > 4 &&
                     target.find_first_not_of("0123456789", 3) == std::string::npos;
  if (!own && known && target.size() < 8 && std::stoi(target.substr(3)) <= std::stoi(arch.substr(3))) return;
  throw Error("target of the PTX", "one that runs on " + arch, target);
}

std::int64_t aligned(std::int64_t at, std::int64_t to) { return (at + to - 1) / to * to; }

}  // namespace

bool Report::ok() const {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

struct Machine::Impl {
  const Architecture& arch;
  GlobalMemory memory;
  std::vector<std::unique_ptr<Program>> programs;

  /// Gives the variables of a module their places, and the global ones their first values.
  void place(Program& program) {
    const std::vector<Variable>& all = program.module.variables;
    std::int64_t top = shared_base;
    for (const Variable& v : all) {
      std::uint64_t address = 0;
      if (v.space == Space::shared && !v.is_extern) {
        top = aligned(top, v.align);
        address = static_cast<std::uint64_t>(top);
        top += v.bytes;
      } else if (v.space == Space::global || v.space == Space::constant) {
        address =
            memory.allocate(static_cast<std::uint64_t>(std::max<std::int64_t>(v.bytes, 1)), v.space == Space::constant);
      }
      program.addresses.push_back(address);
      if (v.space == Space::shared && v.is_extern) program.dynamic_align = std::max(program.dynamic_align, v.align);
    }
    program.static_shared = top - shared_base;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k].space == Space::shared && all[k].is_extern)
        program.addresses[k] = static_cast<std::uint64_t>(aligned(top, program.dynamic_align));
      if (all[k].space == Space::global || all[k].space == Space::constant) initialise(program, k);
    }
  }

  /// What has no first value is 0, as the ISA says of global variables.
  void initialise(Program& program, std::size_t k) {
    const Variable& v = program.module.variables[k];
    Range& range = *memory.find(program.addresses[k])->range;
    std::fill(range.state.begin(), range.state.end(), Byte::defined);
    std::copy(v.init.begin(), v.init.end(), range.data.begin());
    for (const Variable::Relocation& r : v.relocations) {
      std::uint64_t address =
          r.function ? Program::function_address(r.variable) : program.addresses[static_cast<std::size_t>(r.variable)];
      if (r.generic && !r.function &&
          program.module.variables[static_cast<std::size_t>(r.variable)].space == Space::shared)
        address += shared_window;
      address += static_cast<std::uint64_t>(r.addend);
      std::memcpy(range.data.data() + r.offset, &address, 8);
    }
  }
};

Machine::Machine(const std::string& arch) : impl_(new Impl{architecture(arch), {}, {}}) {}
Machine::~Machine() = default;

int Machine::load(const std::string& ptx) {
  auto program = std::make_unique<Program>();
  program->module = parse(ptx);
  program->arch = impl_->arch.name;
  require_target(program->module.target, program->arch);
  impl_->place(*program);
  decode(*program);
  impl_->programs.push_back(std::move(program));
  return static_cast<int>(impl_->programs.size()) - 1;
}

std::uint64_t Machine::allocate(std::uint64_t bytes) { return impl_->memory.allocate(bytes); }

void Machine::free(std::uint64_t address) {
  if (!impl_->memory.free(address)) throw Error("address to free", "one that allocate gave", std::to_string(address));
}

namespace {
const GlobalMemory::Block& block_of(const GlobalMemory& memory, std::uint64_t address, std::uint64_t bytes) {
  const GlobalMemory::Block* block = memory.find(address);
  if (block == nullptr || block->freed || bytes > block->last - address)
    throw Error("device memory", std::to_string(bytes) + " bytes of one allocation",
                "address " + std::to_string(address));
  return *block;
}
}  // namespace

void Machine::write(std::uint64_t address, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  const Spot spot = block_of(impl_->memory, address, bytes).at(address);
  std::memcpy(spot.data, from, bytes);
  std::fill_n(spot.state, bytes, Byte::defined);
}

void Machine::read(std::uint64_t address, void* to, std::uint64_t bytes, std::vector<std::uint8_t>* defined) const {
  if (defined != nullptr) defined->assign(bytes, 0);
  if (bytes == 0) return;
  const Spot spot = block_of(impl_->memory, address, bytes).at(address);
  std::memcpy(to, spot.data, bytes);
  if (defined != nullptr)
    for (std::uint64_t k = 0; k < bytes; ++k) (*defined)[k] = spot.state[k] == Byte::defined ? 1 : 0;
}

namespace {

const Code& entry_of(const Program& program, const std::string& name) {
  std::string names;
  for (const Code& code : program.codes) {
    if (!code.function->is_entry) continue;
    if (code.name == name) return code;
    names += (names.empty() ? "" : ", ") + code.name;
  }
  throw Error("kernel", names.empty() ? "a module with kernels" : "one of " + names, name);
}

std::string text_of(const Dim& d) {
  return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
}

void check(const Grid& grid, const Architecture& arch) {
  const Launch& l = grid.launch;
  const auto threads = std::uint64_t{l.block.x} * l.block.y * l.block.z,
             blocks = std::uint64_t{l.grid.x} * l.grid.y * l.grid.z;
  if (threads < 1 || threads > 1024 || l.block.z > 64)
    throw Error("block of " + l.kernel, "1 to 1024 threads, z up to 64", text_of(l.block));
  if (blocks < 1 || l.grid.x > 0x7fffffff || l.grid.y > 65535 || l.grid.z > 65535)
    throw Error("grid of " + l.kernel, "at least one block, y and z up to 65535", text_of(l.grid));
  if (l.cluster.x * l.cluster.y * l.cluster.z != 1)
    throw Error("cluster of " + l.kernel, "1 x 1 x 1: the machine has no clusters yet", text_of(l.cluster));
  const Function& f = *grid.entry->function;
  if (f.reqntid && (static_cast<std::uint32_t>((*f.reqntid)[0]) != l.block.x ||
                    static_cast<std::uint32_t>((*f.reqntid)[1]) != l.block.y ||
                    static_cast<std::uint32_t>((*f.reqntid)[2]) != l.block.z))
    throw Error("block of " + l.kernel, "the size that .reqntid names", text_of(l.block));
  if (f.maxntid && threads > static_cast<std::uint64_t>((*f.maxntid)[0]) * static_cast<std::uint64_t>((*f.maxntid)[1]) *
                                 static_cast<std::uint64_t>((*f.maxntid)[2]))
    throw Error("block of " + l.kernel, "at most the threads that .maxntid names", text_of(l.block));
  if (static_cast<std::int64_t>(l.params.size()) != grid.entry->param_bytes)
    throw Error("parameters of " + l.kernel, std::to_string(grid.entry->param_bytes) + " bytes",
                std::to_string(l.params.size()));
  if (grid.shared_bytes > arch.shared)
    throw Error("shared memory of " + l.kernel, "at most " + std::to_string(arch.shared) + " bytes on " + arch.name,
                std::to_string(grid.shared_bytes));
}

void count(Grid& grid, Counters& counters) {
  for (std::size_t f = 0; f < grid.program->codes.size(); ++f) {
    const Code& code = grid.program->codes[f];
    for (std::size_t k = 0; k < code.instructions.size(); ++k) {
      const std::uint64_t n = grid.executed[grid.first_counter[f] + k];
      if (n == 0) continue;
      counters.warp_instructions += n;
      counters.lane_operations += grid.lanes[grid.first_counter[f] + k];
      counters.by_name[code.instructions[k].counted] += n;
    }
  }
  for (const auto& [name, n] : grid.counters) counters.by_name[name] += n;
}

}  // namespace

Report Machine::launch(int module, const Launch& launch, const Options& options) {
  if (module < 0 || static_cast<std::size_t>(module) >= impl_->programs.size())
    throw Error("module", "one that load gave", std::to_string(module));
  Grid grid;
  grid.program = impl_->programs[static_cast<std::size_t>(module)].get();
  grid.entry = &entry_of(*grid.program, launch.kernel);
  grid.launch = launch;
  grid.options = options;
  if (grid.options.threads == 0) grid.options.threads = thread_count();
  grid.memory = &impl_->memory;
  const auto dynamic_at = aligned(grid.program->static_shared + shared_base, grid.program->dynamic_align) - shared_base;
  grid.shared_bytes = static_cast<std::uint32_t>(launch.dynamic_shared > 0 ? dynamic_at + launch.dynamic_shared
                                                                           : grid.program->static_shared);
  grid.params = Range(launch.params.size(), Byte::defined);
  grid.params.data = launch.params;
  check(grid, impl_->arch);
  std::size_t counters = 0;
  for (const Code& code : grid.program->codes) {
    grid.first_counter.push_back(counters);
    counters += code.instructions.size();
  }
  grid.executed.assign(counters, 0);
  grid.lanes.assign(counters, 0);
  run(grid);
  Report report;
  for (auto& [key, found] : grid.findings) report.findings.push_back(std::move(found.finding));
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  count(grid, report.counters);
  report.printed = std::move(grid.printed);
  return report;
}

}  // namespace assay::gpu

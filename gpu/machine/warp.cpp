#include "gpu/machine/decode.hpp"

#include <algorithm>
#include <bit>

namespace assay::gpu {
namespace {

/// Instructions after which a fragment that could go on gets its turn, whatever the others do.
constexpr std::uint64_t patience = 2048;

}  // namespace

Frame::Frame(const Code& of, std::shared_ptr<Frame> from)
    : code(&of),
      caller(std::move(from)),
      slots(static_cast<std::size_t>(of.slots)),
      defined(static_cast<std::size_t>(of.slots), 0),
      predicates(static_cast<std::size_t>(of.predicates), 0),
      predicates_defined(static_cast<std::size_t>(of.predicates), 0) {
  if (caller) {
    depth = caller->depth + 1;
    local_base = caller->local_base + (caller->code->local_bytes + 15) / 16 * 16;
  }
}

Warp::Warp(Cta& of, int warp_number, Mask lanes) : cta(of), number(warp_number), live(lanes) {
  auto first = std::make_shared<Frame>(*of.grid.entry, nullptr);
  for (Range& r : local) r = Range(static_cast<std::uint64_t>(of.grid.entry->local_bytes));
  begin(*first);
  fragments.push_back({lanes, 0, std::move(first), false, 0, 0});
}

void Warp::begin(Frame& f) const {
  for (const Code::Special& special : f.code->specials) {
    const auto slot = static_cast<std::size_t>(special.slot);
    fill_special(special.name, *this, f.slots[slot].lane.data());
    f.defined[slot] = ptx::full_mask;
  }
}

/// The innermost function first, there the lowest place: so lanes meet again where structured code comes together.
bool Warp::pick() {
  std::size_t best = fragments.size();
  const auto before = [&](const Fragment& a, const Fragment& b) {
    const bool a_starves = steps_done - a.last_run > patience, b_starves = steps_done - b.last_run > patience;
    if (a_starves != b_starves) return a_starves;
    if (a_starves) return a.last_run < b.last_run;
    if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
    return a.pc < b.pc;
  };
  for (std::size_t i = 0; i < fragments.size(); ++i)
    if (!fragments[i].waits && (best == fragments.size() || before(fragments[i], fragments[best]))) best = i;
  if (best == fragments.size()) return false;
  for (std::size_t i = fragments.size(); i-- > 0;) {
    Fragment &chosen = fragments[best], &other = fragments[i];
    if (i == best || other.pc != chosen.pc || other.frame != chosen.frame || other.barrier_phase != 0 ||
        chosen.barrier_phase != 0)
      continue;
    chosen.mask |= other.mask;
    fragments.erase(fragments.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < best) --best;
  }
  current = best;
  return true;
}

bool Warp::run(std::uint64_t steps) {
  bool did = false;
  Grid& grid = cta.grid;
  for (Fragment& f : fragments) f.waits = false;
  if (!arrivals.empty()) deliver(*this, false);
  for (std::uint64_t n = 0; n < steps && !fragments.empty(); ++n) {
    if (fragments.size() > 1 || fragments[0].waits) {
      if (!pick()) return did;
    } else {
      current = 0;
    }
    Fragment& f = fragments[current];
    frame = f.frame.get();
    const Code& code = *frame->code;
    if (static_cast<std::size_t>(f.pc) >= code.instructions.size()) {
      leave(f.mask);
      did = true;
      continue;
    }
    const Instruction& i = code.instructions[static_cast<std::size_t>(f.pc)];
    Mask active = f.mask;
    if (i.guard >= 0) {
      const Mask unknown = active & ~predicate_defined(i.guard);
      if (unknown != 0)
        report("uninitialized", i, std::countr_zero(unknown),
               "the predicate of this instruction was never given a value");
      active &= i.guard_negated ? ~predicate(i.guard) : predicate(i.guard);
    }
    const Step step = active != 0 ? i.run(*this, i, active) : Step::next;
    if (step == Step::wait) {
      fragments[current].waits = true;
      continue;
    }
    did = true;
    const std::size_t counter = grid.first_counter[static_cast<std::size_t>(&code - grid.program->codes.data())] +
                                static_cast<std::size_t>(&i - code.instructions.data());
    ++grid.executed[counter];
    grid.lanes[counter] += static_cast<std::uint64_t>(std::popcount(active));
    ++steps_done;
    ++cta.steps;
    if (step == Step::next) {
      ++fragments[current].pc;
      fragments[current].last_run = steps_done;
    }
    if (fragments.size() > 1)
      for (Fragment& other : fragments) other.waits = false;
    if (cta.stopped) return true;
  }
  return did;
}

void Warp::branch(Mask taken, int target) {
  Fragment& f = fragments[current];
  f.last_run = steps_done;
  const Mask rest = f.mask & ~taken;
  if (rest == 0) {
    f.pc = target;
    return;
  }
  Fragment other = f;
  other.mask = taken;
  other.pc = target;
  f.mask = rest;
  ++f.pc;
  fragments.push_back(std::move(other));
}

void Warp::enter(Mask lanes, const Code& callee, const Instruction& call) {
  auto inner = std::make_shared<Frame>(callee, fragments[current].frame);
  inner->return_to = fragments[current].pc + 1;
  inner->call = &call;
  begin(*inner);
  const auto top = static_cast<std::uint64_t>(inner->local_base + callee.local_bytes);
  for (Range& r : local)
    if (r.data.size() < top) {
      r.data.resize(top, 0);
      r.state.resize(top, Byte::undefined);
    }
  const Mask rest = fragments[current].mask & ~lanes;
  fragments[current].last_run = steps_done;
  if (rest != 0) {
    Fragment other = fragments[current];
    other.mask = rest;
    ++other.pc;
    fragments.push_back(std::move(other));
  }
  Fragment& f = fragments[current];
  f.mask = lanes;
  f.pc = 0;
  f.frame = std::move(inner);
}

void Warp::leave(Mask lanes) {
  Fragment& f = fragments[current];
  const std::shared_ptr<Frame> done = f.frame;
  if (!done->caller) return end_lanes(lanes);
  // Results go from the callee's return parameters to the caller's variables, a lane at a time.
  const Code &callee = *done->code, &caller = *done->caller->code;
  const std::vector<Ref>& to = caller.lists[static_cast<std::size_t>(done->call->more)];
  for (std::size_t k = 0; k < callee.returns.size() && k < to.size(); ++k)
    for (int lane = 0; lane < 32; ++lane) {
      if (!ptx::has(lanes, lane)) continue;
      Range& r = local[static_cast<std::size_t>(lane)];
      const auto from = done->local_base + callee.returns[k].offset, into = done->caller->local_base + to[k].at;
      std::copy_n(r.data.begin() + from, callee.returns[k].bytes, r.data.begin() + into);
      std::copy_n(r.state.begin() + from, callee.returns[k].bytes, r.state.begin() + into);
    }
  Fragment back{lanes, done->return_to, done->caller, false, 0, steps_done};
  if (f.mask == lanes) {
    f = std::move(back);
    return;
  }
  f.mask &= ~lanes;
  ++f.pc;
  fragments.push_back(std::move(back));
}

void Warp::end_lanes(Mask lanes) {
  live &= ~lanes;
  Fragment& f = fragments[current];
  f.mask &= ~lanes;
  if (f.mask == 0)
    fragments.erase(fragments.begin() + static_cast<std::ptrdiff_t>(current));
  else
    ++f.pc;
}

void Warp::report(const char* rule, const Instruction& i, int lane, const std::string& says, Severity severity) {
  Finding found;
  found.rule = rule;
  found.severity = severity;
  found.says = says;
  found.line = i.line;
  const Module& module = cta.grid.program->module;
  const auto file = module.files.find(i.source.file);
  if (file != module.files.end()) found.source = file->second + ":" + std::to_string(i.source.line);
  found.cta = cta.id;
  found.warp = number;
  found.lane = lane;
  cta.grid.add(found, cta.order);
}

Space Warp::space_of(std::uint64_t generic, std::uint64_t& address) {
  address = generic & (window_bytes - 1);
  switch (generic / window_bytes) {
    case 1:
      return Space::shared;
    case 2:
      return Space::local;
    case 3:
      return Space::param;
    default:
      address = generic;
      return Space::global;
  }
}

namespace {

std::string hexadecimal(std::uint64_t x) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (; x != 0 || text.empty(); x /= 16) text.insert(text.begin(), digits[x % 16]);
  return "0x" + text;
}

const char* name_of(Space space) {
  switch (space) {
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::param:
      return "parameter";
    case Space::constant:
      return "constant";
    default:
      return "global";
  }
}

}  // namespace

Spot Warp::at(Space space, std::uint64_t address, int bytes, bool write, const Instruction& i, int lane) {
  const auto n = static_cast<std::uint64_t>(bytes);
  if (space == Space::generic) space = space_of(address, address);
  const auto describe = [&] {
    return std::string(write ? "a write of " : "a read of ") + std::to_string(bytes) + " bytes of " + name_of(space) +
           " memory at " + hexadecimal(address);
  };
  if ((address & (n - 1)) != 0) {
    report("misaligned", i, lane, describe() + ", which is no multiple of " + std::to_string(bytes));
    return {};
  }
  const auto outside = [&](const std::string& expected) {
    report("out_of_bounds", i, lane, describe() + ": " + expected);
    return Spot{};
  };
  const auto within = [&](Range& r, std::uint64_t first) -> Spot {
    if (address < first || address - first + n > r.data.size())
      return outside("there are " + std::to_string(r.data.size()) + " bytes from " + hexadecimal(first) + " on");
    return {r.data.data() + (address - first), r.state.data() + (address - first)};
  };
  switch (space) {
    case Space::shared: {
      const Spot spot = within(cta.shared, shared_base);
      if (spot.data == nullptr || !cta.races.on()) return spot;
      const auto offset = static_cast<std::uint32_t>(address - shared_base);
      const int who = (i.flags & Instruction::strong) != 0 ? Races::unknown : lane;
      const Races::Conflict conflict =
          cta.races.access(number, who, offset, bytes, write, i.line, (i.flags & Instruction::strong) != 0);
      if (conflict.found)
        report("race", i, lane,
               describe() + " is not ordered with the " + (conflict.was_write ? "write" : "read") + " at line " +
                   std::to_string(conflict.line) + " by " +
                   (conflict.warp != number ? "warp " + std::to_string(conflict.warp)
                    : conflict.lane >= 0    ? "lane " + std::to_string(conflict.lane) + " of its warp"
                                            : "other lanes of its warp") +
                   ": a barrier between them is missing");
      return spot;
    }
    case Space::local:
      return within(local[static_cast<std::size_t>(lane)], 0);
    case Space::param:
      if (write) return outside("parameters are read-only");
      return within(cta.grid.params, 0);
    default: {
      if (last_block == nullptr || address < last_block->first || address + n > last_block->last || last_block->freed) {
        const GlobalMemory::Block* block = static_cast<const GlobalMemory*>(cta.grid.memory)->find(address);
        if (block == nullptr) return outside("no allocation is there");
        if (block->freed) return outside("its allocation was freed");
        if (address + n > block->last) return outside("its allocation ends at " + hexadecimal(block->last));
        last_block = block;
      }
      if (write && last_block->read_only) return outside("constants are read-only");
      return last_block->at(address);
    }
  }
}

}  // namespace assay::gpu

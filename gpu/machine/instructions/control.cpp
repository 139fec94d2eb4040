#include <algorithm>
#include <bit>

#include "gpu/machine/lanewise.hpp"
#include "gpu/machine/system_calls.hpp"

// Branches, calls and ends.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

void bra(Decoder& d, Instruction& i) {
  d.flag("uni");
  d.operands(1, 1);
  if (d.operand(0).what != Operand::What::label) d.fail("a label is expected");
  i.target = d.operand(0).index;
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    w.branch(active, n.target);
    return Step::moved;
  };
}

/// brx.idx index, table: each lane to the statement that its index names.
void brx(Decoder& d, Instruction& i) {
  d.flag("uni");
  if (!d.flag("idx")) d.fail("brx.idx is expected");
  d.operands(2, 2);
  if (d.operand(1).what != Operand::What::table) d.fail("a list of branch targets is expected");
  i.a = d.in(0, {Kind::u, 32});
  i.target = d.operand(1).index;
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const std::vector<int>& targets = w.frame->code->function->tables[static_cast<std::size_t>(n.target)];
    const U* index = w.in<U>(n.a);
    const int first = std::countr_zero(active);
    if ((active & ~w.defined(n.a)) != 0 || index[first] >= targets.size()) {
      w.report("out_of_bounds", n, first,
               "the index of a branch is not in its list of " + std::to_string(targets.size()));
      w.cta.stopped = true;
      return Step::wait;
    }
    Mask same = 0;
    for_lanes(active, [&](int l) { same |= static_cast<Mask>(index[l] == index[first] ? 1U : 0U) << l; });
    // Lanes with another index come back here as a fragment of their own.
    const int here = w.fragments[w.current].pc;
    w.branch(same, targets[index[first]]);
    if (same != active) {
      for (Fragment& f : w.fragments)
        if (f.pc == here + 1 && f.frame.get() == w.frame && (f.mask & active & ~same) != 0) f.pc = here;
    }
    return Step::moved;
  };
}

void ret(Decoder& d, Instruction& i) {
  d.flag("uni");
  d.operands(0, 0);
  i.run = [](Warp& w, const Instruction&, Mask active) {
    w.leave(active);
    return Step::moved;
  };
}

void exit_(Decoder& d, Instruction& i) {
  d.operands(0, 0);
  i.run = [](Warp& w, const Instruction&, Mask active) {
    w.end_lanes(active);
    return Step::moved;
  };
}

void trap(Decoder& d, Instruction& i) {
  d.operands(0, 0);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    w.report("trap", n, std::countr_zero(active), "the kernel traps");
    w.cta.stopped = true;
    return Step::wait;
  };
}

void nothing(Decoder& d, Instruction& i) {
  d.left.clear();
  i.run = [](Warp&, const Instruction&, Mask) { return Step::next; };
}

/// Arguments go to the callee's parameters, a lane at a time; both lie in local memory.
void pass(Warp& w, const std::vector<Ref>& from, const Code& callee, std::int64_t caller_base, Mask active) {
  const std::int64_t base = w.frame->local_base;
  for (std::size_t k = 0; k < callee.params.size(); ++k)
    for_lanes(active, [&](int l) {
      Range& r = w.local[static_cast<std::size_t>(l)];
      const auto at = caller_base + from[k].at, to = base + callee.params[k].offset;
      std::copy_n(r.data.begin() + at, callee.params[k].bytes, r.data.begin() + to);
      std::copy_n(r.state.begin() + at, callee.params[k].bytes, r.state.begin() + to);
    });
}

Step enter(Warp& w, const Instruction& n, Mask active, int index) {
  const Program& program = *w.cta.grid.program;
  const Code& callee = program.codes[static_cast<std::size_t>(index)];
  const Code& caller = *w.frame->code;
  const std::vector<Ref>& arguments = caller.lists[static_cast<std::size_t>(n.more) + 1];
  if (arguments.size() != callee.params.size()) {
    w.report("call", n, std::countr_zero(active),
             callee.name + " takes " + std::to_string(callee.params.size()) + " arguments, it is given " +
                 std::to_string(arguments.size()));
    w.cta.stopped = true;
    return Step::wait;
  }
  if (callee.function->is_declared_only) return system_call(w, n, active, callee, arguments);
  constexpr std::int64_t most_local = 1 << 19;
  if (w.frame->local_base + caller.local_bytes + callee.local_bytes > most_local || w.frame->depth > 1000) {
    w.report("stack", n, std::countr_zero(active), "calls go too deep: at most 512 KiB a lane, or 1000 calls");
    w.cta.stopped = true;
    return Step::wait;
  }
  const std::int64_t base = w.frame->local_base;
  w.enter(active, callee, n);
  w.frame = w.fragments[w.current].frame.get();
  pass(w, arguments, callee, base, active);
  return Step::moved;
}

std::vector<Ref> variables(const Decoder& d, const std::vector<Operand>& parts) {
  std::vector<Ref> refs;
  for (const Operand& o : parts) {
    if (o.what != Operand::What::variable || !o.local) d.fail("arguments and results are variables in .param");
    refs.push_back({static_cast<int>(d.code.variable_offsets[static_cast<std::size_t>(o.index)])});
  }
  return refs;
}

/// call (results), function, (arguments); or a register that holds a function's address, and its prototype.
void call(Decoder& d, Instruction& i) {
  d.flag("uni");
  std::size_t k = 0;
  std::vector<Operand> results, arguments;
  if (d.has(k) && d.operand(k).what == Operand::What::list) results = d.operand(k++).parts;
  if (!d.has(k)) d.fail("a function is expected");
  const Operand& callee = d.operand(k++);
  if (d.has(k) && d.operand(k).what == Operand::What::list) arguments = d.operand(k++).parts;
  if (d.has(k) && d.operand(k).what == Operand::What::table) ++k;
  d.operands(k, k);
  i.more = d.list(variables(d, results));
  d.list(variables(d, arguments));
  if (callee.what == Operand::What::function) {
    i.target = callee.index;
    i.run = [](Warp& w, const Instruction& n, Mask active) { return enter(w, n, active, n.target); };
    return;
  }
  i.a = d.in(callee, {Kind::b, 64});
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const U64* address = w.in<U64>(n.a);
    const int first = std::countr_zero(active);
    Mask same = 0;
    for_lanes(active, [&](int l) { same |= static_cast<Mask>(address[l] == address[first] ? 1U : 0U) << l; });
    const auto index = address[first] - Program::function_address(0);
    if ((active & ~w.defined(n.a)) != 0 || index >= w.cta.grid.program->codes.size()) {
      w.report("out_of_bounds", n, first, "no function is at the address that is called");
      w.cta.stopped = true;
      return Step::wait;
    }
    if (same != active) {  // the others stay behind, and call theirs
      const int here = w.fragments[w.current].pc;
      w.branch(same, here);
      std::swap(w.fragments[w.current], w.fragments.back());
      w.fragments.back().pc = here;
    }
    return enter(w, n, same, static_cast<int>(index));
  };
}

}  // namespace

void add_control(Families& families) {
  families["bra"] = bra;
  families["brx"] = brx;
  families["ret"] = ret;
  families["exit"] = exit_;
  families["call"] = call;
  families["trap"] = trap;
  families["brkpt"] = trap;
  families["nanosleep"] = nothing;
  families["pmevent"] = nothing;
}

}  // namespace assay::gpu

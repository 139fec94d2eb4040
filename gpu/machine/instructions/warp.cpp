#include "reference/ptx/warp.hpp"

#include <algorithm>

#include "gpu/machine/lanewise.hpp"

// Shuffles, votes and whatever else lanes of a warp do together.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;
constexpr Type b32{Kind::b, 32};

/// The lanes that take part in a .sync instruction with this mask operand. `here`: whether all of them are; else it
/// waits.
Mask members(Warp& w, const Instruction& n, Ref operand, Mask active, bool& here) {
  const U* mask = w.in<U>(operand);
  const int first = std::countr_zero(active);
  const Mask m = mask[first];
  here = w.gathered(m);
  if (!here) return 0;
  for_lanes(active, [&](int l) {
    if (mask[l] != m) w.report("membermask", n, l, "lanes give different masks");
    if (!ptx::has(m, l)) w.report("membermask", n, l, "the lane executes it and is not in its mask");
  });
  if ((w.defined(operand) & active) != active)
    w.report("uninitialized", n, first, "the mask of lanes was never given a value");
  return m & w.live;
}

/// The operand that is the mask; immediates are the same for all.
Ref mask_operand(Decoder& d, std::size_t k) { return d.in(k, b32); }

void shfl(Decoder& d, Instruction& i) {
  const bool sync = d.flag("sync");
  const int mode = d.one_of({"up", "down", "bfly", "idx"});
  d.type();
  if (!sync || mode < 0) d.fail("shfl.sync.up, .down, .bfly or .idx is expected");
  d.operands(5, 5);
  const Operand& to = d.operand(0);
  const bool pair = to.what == Operand::What::pair;
  i.d = d.out(pair ? to.parts[0] : to, b32);
  i.target = pair ? d.predicate(to.parts[1]) : -1;
  i.a = d.in(1, b32);
  i.b = d.in(2, b32);
  i.c = d.in(3, b32);
  i.more = d.list({mask_operand(d, 4)});
  i.mode = static_cast<std::uint8_t>(mode);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    bool here = false;
    const Mask all = members(w, n, w.frame->code->lists[static_cast<std::size_t>(n.more)][0], active, here);
    if (!here) return Step::wait;
    const U *b = w.in<U>(n.b), *c = w.in<U>(n.c);
    ptx::Reg32 a;
    std::copy_n(w.in<U>(n.a), 32, a.lane.begin());
    U* to_lane = w.out<U>(n.d);
    const Mask known_a = w.defined(n.a), known_bc = w.defined(n.b) & w.defined(n.c);
    Mask known = 0, in_range = 0;
    for_lanes(active, [&](int l) {
      const ptx::Source from = ptx::shuffle_source(static_cast<ptx::Shuffle>(n.mode), l, b[l], c[l]);
      const bool there =
          ptx::has(all & active, from.lane);  // of a lane that does not execute it the value is undefined
      to_lane[l] = a[from.lane];
      if (there && ptx::has(known_a, from.lane) && ptx::has(known_bc, l)) known |= 1U << l;
      if (from.in_range) in_range |= 1U << l;
    });
    w.define(n.d, active, known);
    if (n.target >= 0) w.set_predicate(n.target, active, in_range, known_bc);
    return Step::next;
  };
}

enum class Vote : std::uint8_t { all, any, uni, ballot };
void vote(Decoder& d, Instruction& i) {
  const bool sync = d.flag("sync");
  const int mode = d.one_of({"all", "any", "uni", "ballot"});
  d.type();
  if (!sync || mode < 0) d.fail("vote.sync.all, .any, .uni or .ballot is expected");
  d.operands(3, 3);
  i.mode = static_cast<std::uint8_t>(mode);
  if (static_cast<Vote>(mode) == Vote::ballot)
    i.d = d.out(0, b32);
  else
    i.d.at = d.predicate(d.operand(0));
  if (d.operand(1).what == Operand::What::immediate) {
    i.a.at = -1;
    i.offset = d.integer(d.operand(1)) != 0 ? 0xffffffff : 0;
  } else {
    i.a.at = d.predicate(d.operand(1));
  }
  if (d.operand(1).negated) i.flags |= Instruction::negated;
  i.more = d.list({mask_operand(d, 2)});
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    bool here = false;
    const Mask all = members(w, n, w.frame->code->lists[static_cast<std::size_t>(n.more)][0], active, here);
    if (!here) return Step::wait;
    Mask p = n.a.at < 0 ? static_cast<Mask>(n.offset) : w.predicate(n.a.at);
    if ((n.flags & Instruction::negated) != 0) p = ~p;
    const Mask known = n.a.at < 0 || (all & active & ~w.predicate_defined(n.a.at)) == 0 ? ptx::full_mask : 0;
    const Mask yes = p & all & active, every = all & active;
    if (static_cast<Vote>(n.mode) == Vote::ballot) {
      U* to = w.out<U>(n.d);
      for_lanes(active, [&](int l) { to[l] = yes; });
      w.define(n.d, active, known);
      return Step::next;
    }
    const auto v = static_cast<Vote>(n.mode);
    const bool value = v == Vote::all ? yes == every : v == Vote::any ? yes != 0 : yes == every || yes == 0;
    w.set_predicate(n.d.at, active, value ? ptx::full_mask : 0, known);
    return Step::next;
  };
}

void activemask(Decoder& d, Instruction& i) {
  d.type();
  d.operands(1, 1);
  i.d = d.out(0, b32);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    U* to = w.out<U>(n.d);
    for_lanes(active, [&](int l) { to[l] = active; });
    w.define(n.d, active, ptx::full_mask);
    return Step::next;
  };
}

void match(Decoder& d, Instruction& i) {
  const int mode = d.one_of({"any", "all"});
  d.flag("sync");
  const Type t = d.type();
  d.operands(3, 3);
  const Operand& to = d.operand(0);
  const bool pair = to.what == Operand::What::pair;
  i.d = d.out(pair ? to.parts[0] : to, b32);
  i.target = pair ? d.predicate(to.parts[1]) : -1;
  i.a = d.in(1, t);
  i.more = d.list({mask_operand(d, 2)});
  i.mode = static_cast<std::uint8_t>(mode < 0 ? 0 : mode);
  const auto make = []<class T>() -> Handler {
    return [](Warp& w, const Instruction& n, Mask active) {
      bool here = false;
      const Mask all = members(w, n, w.frame->code->lists[static_cast<std::size_t>(n.more)][0], active, here);
      if (!here) return Step::wait;
      const T* a = w.in<T>(n.a);
      U* to_lane = w.out<U>(n.d);
      Mask equal = 0;
      for_lanes(active, [&](int l) {
        const Mask same = ptx::match_any(a, all & active, l);
        const bool whole = same == (all & active);
        to_lane[l] = n.mode == 0 ? same : whole ? same : 0;
        if (whole) equal |= 1U << l;
      });
      w.define(n.d, active, (all & active & ~w.defined(n.a)) == 0 ? ptx::full_mask : 0);
      if (n.target >= 0) w.set_predicate(n.target, active, equal, ptx::full_mask);
      return Step::next;
    };
  };
  i.run = t.bits == 64 ? make.operator()<U64>() : make.operator()<U>();
}

template <class T>
U reduced(int op, const U* a, Mask m) {
  const auto with = [&](auto f) { return static_cast<U>(ptx::reduce<T>(a, m, f)); };
  switch (op) {
    case 0:
      return with([](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); });
    case 1:
      return with([](T x, T y) { return std::min(x, y); });
    case 2:
      return with([](T x, T y) { return std::max(x, y); });
    case 3:
      return with([](T x, T y) { return static_cast<T>(x & y); });
    case 4:
      return with([](T x, T y) { return static_cast<T>(x | y); });
    default:
      return with([](T x, T y) { return static_cast<T>(x ^ y); });
  }
}

void redux(Decoder& d, Instruction& i) {
  constexpr std::uint8_t signed_flag = 1, abs_flag = 2, nan_flag = 4, float_flag = 8;
  d.needs(80, "redux");
  d.flag("sync");
  const int op = d.one_of({"add", "min", "max", "and", "or", "xor"});
  if (d.flag("abs")) i.flags |= abs_flag;
  if (d.flag("NaN")) i.flags |= nan_flag;
  const Type t = d.type();
  if (op < 0 || t.bits != 32) d.fail("an operation on values of 32 bits is expected");
  if (t.kind == Kind::f) {
    if (op != 1 && op != 2) d.fail("of floats .min and .max are known");
    if (d.program.arch != "sm_100a") d.fail("of floats it needs sm_100a, this is for " + d.program.arch);
    i.flags |= float_flag;
  } else if (i.flags != 0) {
    d.fail(".abs and .NaN are of floats");
  }
  if (t.kind == Kind::s) i.flags |= signed_flag;
  d.operands(3, 3);
  i.d = d.out(0, b32);
  i.a = d.in(1, b32);
  i.more = d.list({mask_operand(d, 2)});
  i.mode = static_cast<std::uint8_t>(op);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    bool here = false;
    const Mask all = members(w, n, w.frame->code->lists[static_cast<std::size_t>(n.more)][0], active, here) & active;
    if (!here) return Step::wait;
    const U* a = w.in<U>(n.a);
    const U x = (n.flags & float_flag) != 0
                    ? ptx::reduce_f32(a, all, n.mode == 2, (n.flags & abs_flag) != 0, (n.flags & nan_flag) != 0)
                : (n.flags & signed_flag) != 0 ? reduced<std::int32_t>(n.mode, a, all)
                                               : reduced<U>(n.mode, a, all);
    U* to = w.out<U>(n.d);
    for_lanes(active, [&](int l) { to[l] = x; });
    w.define(n.d, active, (all & ~w.defined(n.a)) == 0 ? ptx::full_mask : 0);
    return Step::next;
  };
}

void elect(Decoder& d, Instruction& i) {
  d.needs(90, "elect");
  d.flag("sync");
  d.operands(2, 2);
  const Operand& to = d.operand(0);
  if (to.what != Operand::What::pair) d.fail("d|p is expected as destination");
  i.d = d.out(to.parts[0], b32);
  i.target = d.predicate(to.parts[1]);
  i.more = d.list({mask_operand(d, 1)});
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    bool here = false;
    const Mask all = members(w, n, w.frame->code->lists[static_cast<std::size_t>(n.more)][0], active, here);
    if (!here) return Step::wait;
    const int leader = ptx::elected(all);
    U* to_lane = w.out<U>(n.d);
    for_lanes(active, [&](int l) { to_lane[l] = static_cast<U>(leader); });
    w.define(n.d, active, ptx::full_mask);
    w.set_predicate(n.target, active, 1U << leader, ptx::full_mask);
    return Step::next;
  };
}

}  // namespace

/// bar.warp.sync mask
void decode_warp_barrier(Decoder& d, Instruction& i) {
  d.operands(1, 1);
  i.more = d.list({mask_operand(d, 0)});
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    bool here = false;
    members(w, n, w.frame->code->lists[static_cast<std::size_t>(n.more)][0], active, here);
    if (here) w.cta.races.warp_barrier(w.number);
    return here ? Step::next : Step::wait;
  };
}

void add_warp(Families& families) {
  families["shfl"] = shfl;
  families["vote"] = vote;
  families["activemask"] = activemask;
  families["match"] = match;
  families["redux"] = redux;
  families["elect"] = elect;
}

}  // namespace assay::gpu

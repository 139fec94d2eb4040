#include <bit>

#include "gpu/machine/lanewise.hpp"

// Barriers of a CTA and fences.
namespace assay::gpu {

void decode_warp_barrier(Decoder& d, Instruction& i);  // instructions/warp.cpp

namespace {

using U = std::uint32_t;
constexpr Type u32{Kind::u, 32};
constexpr std::uint8_t arrive_flag = 8, aligned_flag = 16, negated_c = 32;
enum class Reduction : std::uint8_t { none, land, lor, popc };

/// The same number in all lanes that execute it.
bool uniform(Warp& w, const Instruction& n, Ref r, Mask active, const char* what, U& value) {
  const U* x = w.in<U>(r);
  const int first = std::countr_zero(active);
  value = x[first];
  bool same = (active & ~w.defined(r)) == 0;
  if (!same) w.report("uninitialized", n, first, std::string(what) + " was never given a value");
  for_lanes(active, [&](int l) { same = same && x[l] == value; });
  if (!same) w.report("barrier", n, first, std::string(what) + " differs between lanes");
  return same;
}

Step stop(Warp& w) {
  w.cta.stopped = true;
  return Step::wait;
}

/// bar.sync, bar.arrive, bar.red. A warp arrives as a whole, whatever lanes of it have ended.
Step barrier(Warp& w, const Instruction& n, Mask active) {
  Fragment& f = w.fragments[w.current];
  U number = 0, count = 0;
  if (!uniform(w, n, n.a, active, "the barrier's number", number)) return stop(w);
  if (number > 15) {
    w.report("barrier", n, std::countr_zero(active), "barriers are 0 to 15, this is " + std::to_string(number));
    return stop(w);
  }
  Barrier& b = w.cta.barriers[number];
  const auto finish = [&] {
    const auto reduction = static_cast<Reduction>(n.mode);
    if (reduction == Reduction::popc) {
      U* to = w.out<U>(n.d);
      for_lanes(active, [&](int l) { to[l] = b.last_count; });
      w.define(n.d, active, ptx::full_mask);
    } else if (reduction != Reduction::none) {
      const bool value = reduction == Reduction::land ? b.last_all : b.last_any;
      w.set_predicate(n.d.at, active, value ? ptx::full_mask : 0, ptx::full_mask);
    }
    w.cta.races.acquire(w.number, b.last_clock);
    f.barrier_phase = 0;
    return Step::next;
  };
  if (f.barrier_phase != 0) return b.phase >= f.barrier_phase ? finish() : Step::wait;
  // Lanes that are elsewhere may still come; where none can, the launch ends and says so.
  if (!w.gathered(ptx::full_mask)) return Step::wait;
  if (n.more >= 0) {
    if (!uniform(w, n, n.b, active, "the barrier's count of threads", count)) return stop(w);
    if (count == 0 || count % 32 != 0 || count > w.cta.warps.size() * 32) {
      w.report("barrier", n, std::countr_zero(active),
               "a count of threads is a multiple of 32 up to the block's, this is " + std::to_string(count));
      return stop(w);
    }
  }
  if (b.arrived > 0 && b.expected != count)
    w.report("barrier", n, std::countr_zero(active),
             "this warp expects " + (count == 0 ? "all threads" : std::to_string(count)) + " at barrier " +
                 std::to_string(number) + ", another " +
                 (b.expected == 0 ? "all threads" : std::to_string(b.expected)));
  Mask predicate = 0;
  if (n.mode != 0) {
    if ((active & ~w.predicate_defined(n.c.at)) != 0)
      w.report("uninitialized", n, std::countr_zero(active & ~w.predicate_defined(n.c.at)),
               "the predicate was never given a value");
    predicate = (n.flags & negated_c) != 0 ? ~w.predicate(n.c.at) : w.predicate(n.c.at);
  }
  const std::uint64_t phase = b.phase;
  w.cta.arrive(w, static_cast<int>(number), 32, count, active, predicate);
  if ((n.flags & arrive_flag) != 0) return Step::next;
  f.barrier_phase = phase + 1;
  return b.phase >= f.barrier_phase ? finish() : Step::wait;
}

void bar(Decoder& d, Instruction& i) {
  if (d.flag("warp")) {
    if (!d.flag("sync")) d.fail("bar.warp.sync is expected");
    return decode_warp_barrier(d, i);
  }
  d.flag("cta");
  d.flag("aligned");
  const int what = d.one_of({"sync", "arrive", "red"});
  if (what < 0) d.fail(".sync, .arrive or .red is expected");
  std::size_t k = 0;
  if (what == 2) {
    const int op = d.one_of({"and", "or", "popc"});
    const Type t = d.type();
    if (op < 0) d.fail(".and, .or or .popc is expected");
    i.mode = static_cast<std::uint8_t>(op + 1);
    if (t.kind == Kind::pred)
      i.d.at = d.predicate(d.operand(0));
    else
      i.d = d.out(0, u32);
    k = 1;
  }
  if (what == 1) i.flags |= arrive_flag;
  const std::size_t last = d.s.operands.size() - (what == 2 ? 1 : 0);
  if (last < k + 1 || last > k + 2) d.fail("the number of a barrier, and perhaps a count of threads, is expected");
  i.a = d.in(k, u32);
  if (last == k + 2) {
    i.b = d.in(k + 1, u32);
    i.more = d.list({});  // it has a count
  }
  if (what == 1 && last == k + 1) d.fail("a count of threads is expected");
  if (what == 2) {
    const Operand& p = d.operand(d.s.operands.size() - 1);
    i.c.at = d.predicate(p);
    if (p.negated) i.flags |= negated_c;
  }
  i.run = barrier;
}

/// Fences order what one thread does; the machine runs a warp's accesses in program order anyway.
void fence(Decoder& d, Instruction& i) {
  d.left.clear();
  i.run = [](Warp&, const Instruction&, Mask) { return Step::next; };
  d.code.orders_global = true;
}

}  // namespace

void add_barrier(Families& families) {
  families["bar"] = bar;
  families["barrier"] = bar;
  families["membar"] = fence;
  families["fence"] = fence;
}

}  // namespace assay::gpu

#include <algorithm>
#include <bit>

#include "gpu/machine/access.hpp"

// mbarrier: init, inval, arrive, expect_tx, complete_tx, waits. The state is that of reference/ptx/mbarrier.hpp; here
// is who may see what: an arrival hands on what its warp did, a wait that succeeds takes what was handed on until then.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;
constexpr Type u32{Kind::u, 32}, b64{Kind::b, 64};
constexpr std::uint8_t parity_flag = 8, try_flag = 16, drop_flag = 32, expect_flag = 64, no_complete_flag = 128;

/// A token: the phase in the upper half, the arrivals pending before this one in the lower.
U64 packed(const ptx::Mbarrier::Token& t) { return t.phase << 32 | static_cast<U64>(t.pending & 0xffffffff); }
ptx::Mbarrier::Token unpacked(U64 x) { return {x >> 32, static_cast<std::int64_t>(x & 0xffffffff)}; }

const char* text_of(ptx::MbarrierFault fault) {
  using F = ptx::MbarrierFault;
  switch (fault) {
    case F::count_range:
      return "a count is 1 to 2^20 - 1";
    case F::too_many:
      return "more arrivals than the phase waits for";
    case F::bytes_range:
      return "the count of bytes leaves -(2^20 - 1) to 2^20 - 1";
    case F::completes:
      return ".noComplete, and it completes the phase";
    case F::stale_token:
      return "only the current phase and the one before may be asked about";
    default:
      return "the last phase went by and nobody waited for it";
  }
}

void look(Warp& w, const Instruction& n, int lane, const MbarrierState& m) {
  if (m.object.fault == ptx::MbarrierFault::none) return;
  const bool lint = m.object.fault == ptx::MbarrierFault::unobserved;
  w.report(lint ? "mbarrier_unobserved" : "mbarrier", n, lane, text_of(m.object.fault),
           lint ? Severity::lint : Severity::error);
}

/// Where in shared memory; false, after a report, if nowhere.
bool place(Warp& w, const Instruction& n, U64 address, int lane, U& at) {
  Space space = Space::shared;
  if (address >= window_bytes) space = Warp::space_of(address, address);
  if (space != Space::shared || address < shared_base || address + 8 > shared_base + w.cta.shared.data.size()) {
    w.report("out_of_bounds", n, lane, "an mbarrier lies in the shared memory of its block");
    return false;
  }
  if (address % 8 != 0) {
    w.report("misaligned", n, lane, "an mbarrier is aligned to 8 bytes");
    return false;
  }
  at = static_cast<U>(address - shared_base);
  return true;
}

/// After a change by `warp`: what it did until now is handed on, and with the end of a phase to those that wait for it.
void hand_on(Warp& w, MbarrierState& m, std::uint64_t phase_before) {
  if (w.cta.races.on()) join(m.clock, w.cta.races.release(w.number));
  if (m.object.phase != phase_before) m.completed = m.clock;
}

Step init(Warp& w, const Instruction& n, Mask active) {
  const Addresses at = addresses(w, n, n.a, active);
  const U* count = w.in<U>(n.b);
  for_lanes(at.known, [&](int l) {
    U offset = 0;
    if (!place(w, n, at[l], l, offset)) return;
    Byte* state = w.cta.shared.state.data() + offset;
    if (any_is(state, 8, Byte::object))
      w.report("mbarrier", n, l, "an mbarrier lives there already: .inval comes first");
    const Spot spot = w.at(Space::shared, at[l], 8, true, n, l);  // a write as any other, until it is an object
    if (spot.data == nullptr) return;
    MbarrierState m;
    m.object.init(static_cast<std::int64_t>(count[l]));
    m.seen.assign(w.cta.warps.size(), 0);
    look(w, n, l, m);
    std::fill_n(state, 8, Byte::object);
    w.cta.mbarriers[offset] = std::move(m);
  });
  return Step::next;
}

Step inval(Warp& w, const Instruction& n, Mask active) {
  const Addresses at = addresses(w, n, n.a, active);
  for_lanes(at.known, [&](int l) {
    if (mbarrier_at(w, n, at[l], l) == nullptr) return;
    const auto offset = static_cast<U>(at[l] - shared_base);
    w.cta.mbarriers.erase(offset);
    std::fill_n(w.cta.shared.state.data() + offset, 8, Byte::undefined);
  });
  return Step::next;
}

Step arrive(Warp& w, const Instruction& n, Mask active) {
  const Addresses at = addresses(w, n, n.a, active);
  const U* count = w.in<U>(n.b);
  for_lanes(at.known, [&](int l) {
    MbarrierState* m = mbarrier_at(w, n, at[l], l);
    if (m == nullptr) return;
    const std::uint64_t before = m->object.phase;
    const bool drop = (n.flags & drop_flag) != 0;
    const ptx::Mbarrier::Token token =
        (n.flags & expect_flag) != 0
            ? m->object.arrive_expect(static_cast<std::int64_t>(count[l]), drop)
            : m->object.arrive(static_cast<std::int64_t>(count[l]), drop, (n.flags & no_complete_flag) != 0);
    look(w, n, l, *m);
    hand_on(w, *m, before);
    if (n.target != 0) {
      w.out<U64>(n.d)[l] = packed(token);
      w.define(n.d, 1U << l, ptx::full_mask);
    }
  });
  return Step::next;
}

/// expect_tx and complete_tx.
Step bytes(Warp& w, const Instruction& n, Mask active) {
  const Addresses at = addresses(w, n, n.a, active);
  const U* count = w.in<U>(n.b);
  for_lanes(at.known, [&](int l) {
    MbarrierState* m = mbarrier_at(w, n, at[l], l);
    if (m == nullptr) return;
    const std::uint64_t before = m->object.phase;
    if ((n.flags & expect_flag) != 0)
      m->object.expect(static_cast<std::int64_t>(count[l]));
    else
      m->object.complete(static_cast<std::int64_t>(count[l]));
    look(w, n, l, *m);
    hand_on(w, *m, before);
  });
  return Step::next;
}

/// test_wait answers at once; try_wait may be suspended, and is until the phase is over.
Step wait(Warp& w, const Instruction& n, Mask active) {
  const Addresses at = addresses(w, n, n.a, active);
  if ((active & ~w.defined(n.b)) != 0)
    w.report("uninitialized", n, std::countr_zero(active & ~w.defined(n.b)), "the phase was never given a value");
  Mask over = 0;
  for_lanes(at.known, [&](int l) {
    MbarrierState* m = mbarrier_at(w, n, at[l], l);
    if (m == nullptr) return;
    const bool is = (n.flags & parity_flag) != 0 ? m->object.test_parity(w.in<U>(n.b)[l])
                                                 : m->object.test(unpacked(w.in<U64>(n.b)[l]));
    if (is) over |= 1U << l;
  });
  if ((n.flags & try_flag) != 0 && over == 0 && at.known != 0 && !w.cta.mbarriers.empty()) return Step::wait;
  for_lanes(at.known, [&](int l) {
    MbarrierState* m = mbarrier_at(w, n, at[l], l);
    if (m == nullptr) return;
    if ((n.flags & parity_flag) == 0) {
      m->object.test(unpacked(w.in<U64>(n.b)[l]));
      look(w, n, l, *m);
    }
    if (!ptx::has(over, l)) return;
    w.cta.races.acquire(w.number, m->completed);
    std::uint64_t& seen = m->seen[static_cast<std::size_t>(w.number)];
    if ((n.flags & parity_flag) != 0 && m->object.phase > seen + 2)
      w.report("mbarrier_lag", n, l,
               "two phases or more went by since this warp last looked: their parities say the same", Severity::lint);
    seen = m->object.phase;
  });
  w.set_predicate(n.d.at, active, over, ptx::full_mask);
  return Step::next;
}

void mbarrier(Decoder& d, Instruction& i) {
  d.needs(80, "mbarrier");
  const int what = d.one_of(
      {"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count"});
  d.one_of({"shared", "shared::cta", "shared::cluster"});
  d.one_of({"relaxed", "release", "acquire"});
  d.one_of({"cta", "cluster"});
  if (what < 0) d.fail(".init, .arrive, .test_wait or the like is expected");
  d.type();
  Space space = Space::shared;
  const auto address = [&](std::size_t k) { i.a = d.address(d.operand(k), i, space); };
  if (what == 8) {
    d.operands(2, 2);
    i.d = d.out(0, u32);
    i.a = d.in(1, b64);
    i.run = unary<U, U64>([](U64 token) { return static_cast<U>(token); });
  } else if (what == 0) {
    d.operands(2, 2);
    address(0);
    i.b = d.in(1, u32);
    i.run = init;
  } else if (what == 1) {
    d.operands(1, 1);
    address(0);
    i.run = inval;
  } else if (what <= 3) {
    if (d.flag("expect_tx")) i.flags |= expect_flag;
    if (d.flag("noComplete")) i.flags |= no_complete_flag;
    if (what == 3) i.flags |= drop_flag;
    d.operands(2, 3);
    const std::uint8_t flags = i.flags;
    i.target = d.operand(0).what == Operand::What::sink ? 0 : 1;
    i.d = d.out(0, b64);
    i.flags = 0;
    address(1);
    i.flags |= flags;
    i.b = d.has(2) ? d.in(2, u32) : d.constant(1, 32);
    i.run = arrive;
  } else if (what <= 5) {
    d.needs(90, "a count of bytes");
    d.operands(2, 2);
    address(0);
    if (what == 4) i.flags |= expect_flag;
    i.b = d.in(1, u32);
    i.run = bytes;
  } else {
    const bool parity = d.flag("parity");
    d.operands(3, 4);
    i.d.at = d.predicate(d.operand(0));
    address(1);
    i.b = d.in(2, parity ? u32 : b64);
    i.flags = static_cast<std::uint8_t>(i.flags | (parity ? parity_flag : 0) | (what == 7 ? try_flag : 0));
    if (what == 7) d.needs(90, "mbarrier.try_wait");
    i.run = wait;
  }
}

}  // namespace

MbarrierState* mbarrier_at(Warp& w, const Instruction& n, std::uint64_t address, int lane) {
  U offset = 0;
  if (!place(w, n, address, lane, offset)) return nullptr;
  const auto found = w.cta.mbarriers.find(offset);
  if (found != w.cta.mbarriers.end()) return &found->second;
  w.report("mbarrier", n, lane, "no mbarrier was initialised there");
  w.cta.stopped = true;
  return nullptr;
}

void deliver(Warp& w, bool all) {
  const Async policy = w.cta.grid.options.async;
  std::vector<AsyncArrival> later;
  for (AsyncArrival& a : w.arrivals) {
    if (!all && policy != Async::eager && (w.cta.draw() & 1) != 0) {
      later.push_back(a);
      continue;
    }
    wait_for_copies(w, a.lanes);
    for_lanes(a.lanes, [&](int l) {
      const auto found = w.cta.mbarriers.find(a.at[static_cast<std::size_t>(l)]);
      if (found == w.cta.mbarriers.end()) return;
      const std::uint64_t before = found->second.object.phase;
      found->second.object.arrive();
      look(w, *a.instruction, l, found->second);
      hand_on(w, found->second, before);
    });
  }
  w.arrivals = std::move(later);
}

void add_mbarrier(Families& families) { families["mbarrier"] = mbarrier; }

}  // namespace assay::gpu

#include <algorithm>

#include "gpu/machine/access.hpp"

// cp.async: copies from global to shared memory that go on while the thread does. A lane closes groups of them and
// waits for all but its newest ones.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

void land(Warp& w, AsyncCopy& copy, Mask lanes) {
  for_lanes(lanes, [&](int l) {
    const auto k = static_cast<std::size_t>(l);
    const auto n = static_cast<std::size_t>(copy.from_bytes[k]);
    Range& shared = w.cta.shared;
    std::uint8_t* to = shared.data.data() + copy.to[k];
    const std::uint8_t* source =
        n > 0 ? w.at(Space::global, copy.from[k], 1, false, *copy.instruction, l).data : nullptr;
    if (source == nullptr && n > 0) return;
    for (U i = 0; i < static_cast<U>(copy.bytes); ++i) to[i] = ptx::copied(source, copy.from_bytes[k], i);
  });
}

/// What the lanes have waited for may be looked at.
void finish(Warp& w, AsyncCopy& copy, Mask lanes) {
  if (!copy.landed) land(w, copy, lanes);
  for_lanes(lanes, [&](int l) {
    const auto k = static_cast<std::size_t>(l);
    // Until now the bytes were nobody's: for others the write is done when this lane has waited.
    w.cta.races.access(w.number, l, copy.to[k], copy.bytes, true, copy.instruction->line);
    Byte* state = w.cta.shared.state.data() + copy.to[k];
    std::fill_n(state, copy.bytes, Byte::defined);
    if (copy.from_bytes[k] > 0) {
      const Spot from = w.at(Space::global, copy.from[k], 1, false, *copy.instruction, l);
      if (from.state != nullptr) std::copy_n(from.state, copy.from_bytes[k], state);
    }
  });
  copy.lanes &= ~lanes;
}

/// At most `newest` groups of each lane stay open; `all`: none, and what no group has closed is finished too.
void wait(Warp& w, Mask lanes, U newest, bool all) {
  for (AsyncCopy& copy : w.copies) {
    Mask ready = 0;
    for_lanes(lanes & copy.lanes, [&](int l) {
      const auto k = static_cast<std::size_t>(l);
      if (all || w.groups[k].awaited(copy.group[k], newest)) ready |= 1U << l;
    });
    if (ready != 0) finish(w, copy, ready);
  }
  std::erase_if(w.copies, [](const AsyncCopy& copy) { return copy.lanes == 0; });
}

Step copy(Warp& w, const Instruction& n, Mask active) {
  const std::vector<Ref>& more = w.frame->code->lists[static_cast<std::size_t>(n.more)];
  Instruction source = n;
  source.offset = n.target;
  source.flags = n.mode;
  const Addresses to = addresses(w, n, n.a, active), from = addresses(w, source, n.b, active);
  AsyncCopy c{&n, 0, n.c.at, false, {}, {}, {}, {}};
  for_lanes(to.known & from.known, [&](int l) {
    const auto k = static_cast<std::size_t>(l);
    const Spot into = w.at(Space::shared, to[l], c.bytes, true, n, l);
    if (into.data == nullptr || !settled(w, n, l, into.state, c.bytes, true)) return;
    U bytes = static_cast<U>(c.bytes);
    if (!more.empty()) bytes = w.in<U>(more[0])[l];
    if (bytes > static_cast<U>(c.bytes)) {
      w.report("out_of_bounds", n, l,
               "a source of " + std::to_string(bytes) + " bytes for a copy of " + std::to_string(c.bytes));
      return;
    }
    if ((from[l] & static_cast<U64>(c.bytes - 1)) != 0) {
      w.report("misaligned", n, l, "its source is not aligned to " + std::to_string(c.bytes) + " bytes");
      return;
    }
    // The whole source has to be there when the copy is issued; what it reads, it reads later.
    U64 global = from[l];
    if (bytes > 0) {
      if (n.d.at == 0 && Warp::space_of(from[l], global) != Space::global) {
        w.report("out_of_bounds", n, l, "its source is not in global memory");
        return;
      }
      for (U b = 0; b < bytes; b += bytes == static_cast<U>(c.bytes) ? bytes : 1)
        if (w.at(Space::global, global + b, bytes == static_cast<U>(c.bytes) ? c.bytes : 1, false, n, l).data ==
            nullptr)
          return;
    }
    std::fill_n(into.state, c.bytes, Byte::pending);
    c.lanes |= 1U << l;
    c.to[k] = static_cast<U>(into.data - w.cta.shared.data.data());
    c.from[k] = global;
    c.from_bytes[k] = bytes;
    c.group[k] = w.groups[k].current();
  });
  if (c.lanes == 0) return Step::next;
  const Async policy = w.cta.grid.options.async;
  if (policy == Async::eager || (policy == Async::random && (w.cta.draw() & 1) != 0)) {
    land(w, c, c.lanes);
    c.landed = true;
  }
  w.copies.push_back(c);
  return Step::next;
}

/// cp.async.mbarrier.arrive{.noinc}: without .noinc one more arrival is awaited from now on.
void arrive(Decoder& d, Instruction& i) {
  d.flag("arrive");
  if (d.flag("noinc")) i.mode = 1;
  d.one_of({"shared", "shared::cta"});
  d.type();
  d.operands(1, 1);
  Space space = Space::shared;
  i.a = d.address(d.operand(0), i, space);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const Addresses at = addresses(w, n, n.a, active);
    AsyncArrival a{&n, 0, {}};
    for_lanes(at.known, [&](int l) {
      MbarrierState* m = mbarrier_at(w, n, at[l], l);
      if (m == nullptr) return;
      if (n.mode == 0) ++m->object.pending;
      a.lanes |= 1U << l;
      a.at[static_cast<std::size_t>(l)] = static_cast<U>(at[l] - shared_base);
    });
    if (a.lanes != 0) w.arrivals.push_back(a);
    return Step::next;
  };
}

/// Reads the address operand k into a base, an offset and flags.
Ref pointer(Decoder& d, std::size_t k, std::int64_t& offset, std::uint8_t& flags, Space space) {
  Instruction part;
  const Ref r = d.address(d.operand(k), part, space);
  offset = part.offset;
  flags = part.flags;
  return r;
}

void cp(Decoder& d, Instruction& i) {
  if (!d.flag("async")) d.fail("cp.async is expected");
  d.needs(80, "cp.async");
  if (d.flag("commit_group")) {
    d.operands(0, 0);
    i.run = [](Warp& w, const Instruction&, Mask active) {
      for_lanes(active, [&](int l) { w.groups[static_cast<std::size_t>(l)].commit(); });
      return Step::next;
    };
    return;
  }
  if (d.flag("wait_group")) {
    d.operands(1, 1);
    i.offset = d.integer(d.operand(0));
    i.run = [](Warp& w, const Instruction& n, Mask active) {
      wait(w, active, static_cast<U>(n.offset), false);
      return Step::next;
    };
    return;
  }
  if (d.flag("wait_all")) {
    d.operands(0, 0);
    i.run = [](Warp& w, const Instruction&, Mask active) {
      for_lanes(active, [&](int l) { w.groups[static_cast<std::size_t>(l)].commit(); });
      wait(w, active, 0, true);
      return Step::next;
    };
    return;
  }
  if (d.flag("mbarrier")) return arrive(d, i);
  const int cache = d.one_of({"ca", "cg"});
  if (cache < 0) d.fail("this form of cp.async is not known here");
  d.one_of({"shared", "shared::cta"});
  if (!d.flag("global")) d.fail(".shared.global is expected");
  std::erase_if(d.left, [](const std::string& part) { return part.rfind("L2::", 0) == 0; });
  d.operands(3, 4);
  std::int64_t offset = 0;
  i.a = pointer(d, 0, i.offset, i.flags, Space::shared);
  i.b = pointer(d, 1, offset, i.mode, Space::global);
  i.target = static_cast<int>(offset);
  const std::int64_t bytes = d.integer(d.operand(2));
  if (bytes != 16 && (cache == 1 || (bytes != 4 && bytes != 8)))
    d.fail("a copy of 16 bytes, with .ca also 4 or 8, is expected");
  i.c.at = static_cast<int>(bytes);
  std::vector<Ref> more;
  if (d.has(3)) {
    if (d.operand(3).what == Operand::What::reg && d.register_bits(d.operand(3)) == 1)
      d.fail("ignore-src is not known here");
    more.push_back(d.in(3, {Kind::u, 32}));
  }
  i.more = d.list(std::move(more));
  i.run = copy;
}

}  // namespace

void wait_for_copies(Warp& w, Mask lanes) { wait(w, lanes, 0, true); }

void add_async(Families& families) { families["cp"] = cp; }

}  // namespace assay::gpu

#pragma once
#include <array>
#include <bit>

#include "gpu/machine/lanewise.hpp"

// What instructions that touch memory share.
namespace assay::gpu {

/// The addresses of an access: base register + offset, in the frame for variables of a function.
struct Addresses {
  std::array<std::uint64_t, 32> of;
  Mask known;  // lanes whose address has a value; the others have been reported
  std::uint64_t operator[](int lane) const { return of[static_cast<std::size_t>(lane)]; }
};
inline Addresses addresses(Warp& w, const Instruction& n, Ref base, Mask active) {
  Addresses a;
  const Mask unknown = active & ~w.defined(base);
  if (unknown != 0) w.report("uninitialized", n, std::countr_zero(unknown), "the address was never given a value");
  a.known = active & ~unknown;
  const auto offset =
      static_cast<std::uint64_t>(n.offset + ((n.flags & Instruction::in_frame) != 0 ? w.frame->local_base : 0));
  if ((n.flags & Instruction::address_32) != 0) {
    const std::uint32_t* x = w.in<std::uint32_t>(base);
    for_lanes(a.known, [&](int l) { a.of[static_cast<std::size_t>(l)] = x[l] + static_cast<std::uint32_t>(offset); });
  } else {
    const std::uint64_t* x = w.in<std::uint64_t>(base);
    for_lanes(a.known, [&](int l) { a.of[static_cast<std::size_t>(l)] = x[l] + offset; });
  }
  return a;
}

inline bool all_are(const Byte* state, int bytes, Byte what) {
  for (int k = 0; k < bytes; ++k)
    if (state[k] != what) return false;
  return true;
}
inline bool any_is(const Byte* state, int bytes, Byte what) {
  for (int k = 0; k < bytes; ++k)
    if (state[k] == what) return true;
  return false;
}

/// All copies of these lanes are done.
void wait_for_copies(Warp& w, Mask lanes);  // instructions/async.cpp

/// Whether these bytes may be looked at: none of them is still being written by an asynchronous copy.
inline bool settled(Warp& w, const Instruction& n, int lane, const Byte* state, int bytes, bool write) {
  if (any_is(state, bytes, Byte::object)) {
    w.report("mbarrier", n, lane, "an mbarrier lives there: only mbarrier instructions may touch it");
    return false;
  }
  if (!any_is(state, bytes, Byte::pending)) return true;
  w.report("async_pending", n, lane,
           std::string(write ? "it overwrites" : "it reads") +
               " bytes that an asynchronous copy is still writing: a wait for it, and a barrier, have to come first");
  return false;
}

/// The mbarrier at a shared address; null, after a report, if none lives there.
MbarrierState* mbarrier_at(Warp& w, const Instruction& n, std::uint64_t address,
                           int lane);  // instructions/mbarrier.cpp

/// The state space of a mnemonic: .shared, .global, ...; generic if none is named.
inline Space take_space(Decoder& d) {
  switch (d.one_of({"param", "param::entry", "param::func", "shared", "shared::cta", "global", "const", "local"})) {
    case 0:
    case 1:
    case 2:
      return Space::param;
    case 3:
    case 4:
      return Space::shared;
    case 5:
      return Space::global;
    case 6:
      return Space::constant;
    case 7:
      return Space::local;
    default:
      return Space::generic;
  }
}

}  // namespace assay::gpu

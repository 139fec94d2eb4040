#pragma once
#include <bit>
#include <cstdint>

#include "reference/ptx/floating.hpp"
#include "reference/ptx/lanes.hpp"

// Instructions in which lanes read each other (PTX ISA 9.0, section 9.7.9). `members` is the mask operand less the
// lanes that have ended: those that take part. At least one does.
namespace assay::ptx {

enum class Shuffle : std::uint8_t { up, down, bfly, idx };

/// Where a lane reads, and whether that is within its segment (the predicate of shfl); if not, it reads itself.
struct Source {
  int lane;
  bool in_range;
};
constexpr Source shuffle_source(Shuffle mode, int lane, std::uint32_t b, std::uint32_t c) {
  // c[4:0] is the clamp, c[12:8] the mask of the segment; the bits of the lane under it stay as they are.
  const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31), by = static_cast<int>(b & 31);
  const int low = lane & segment, limit = low | (clamp & ~segment);
  const int j = mode == Shuffle::up     ? lane - by
                : mode == Shuffle::down ? lane + by
                : mode == Shuffle::bfly ? lane ^ by
                                        : low | (by & ~segment);
  // The limit of .up is the lowest lane, of the others the highest.
  const bool in_range = mode == Shuffle::up ? j >= limit : j <= limit;
  return {in_range ? j : lane, in_range};
}
/// shfl.sync d|p, a, b, c for every lane of members; the others keep d and p. `undefined` are the lanes whose source
/// does not take part: ISA says nothing of what they get.
template <class T>
void shuffle(Shuffle mode, Lanes<T>& d, Mask& p, const Lanes<T>& a, const Reg32& b, const Reg32& c, Mask members,
             Mask& undefined) {
  const Lanes<T> from = a;  // d may be a
  undefined = 0;
  for (int lane = 0; lane < warp_size; ++lane) {
    if (!has(members, lane)) continue;
    const Source s = shuffle_source(mode, lane, b[lane], c[lane]);
    d[lane] = from[s.lane];
    p = (p & ~(1u << lane)) | (s.in_range ? 1u << lane : 0);
    if (!has(members, s.lane)) undefined |= 1u << lane;
  }
}

/// vote: p of the members; lanes outside count for nothing.
constexpr bool vote_all(Mask p, Mask members) { return (p & members) == members; }
constexpr bool vote_any(Mask p, Mask members) { return (p & members) != 0; }
constexpr bool vote_uni(Mask p, Mask members) { return vote_all(p, members) || !vote_any(p, members); }
constexpr Mask ballot(Mask p, Mask members) { return p & members; }

/// match.any: the members that have the same value as this lane.
template <class T>
Mask match_any(const T* a, Mask members, int lane) {
  Mask same = 0;
  for (int j = 0; j < warp_size; ++j)
    if (has(members, j) && a[j] == a[lane]) same |= 1u << j;
  return same;
}
/// match.all: the members if all have one value (and then the predicate is true), else 0.
template <class T>
Mask match_all(const T* a, Mask members) {
  return match_any(a, members, std::countr_zero(members)) == members ? members : 0;
}

/// elect: one of them, the same for all: the lowest.
constexpr int elected(Mask members) { return std::countr_zero(members); }

/// redux: the members' values put together by an operation whose order does not matter: add (modulo 2^32), min, max,
/// and, or, xor.
template <class T, class Op>
T reduce(const std::uint32_t* a, Mask members, Op op) {
  T x = static_cast<T>(a[std::countr_zero(members)]);
  for (Mask rest = members & (members - 1); rest != 0; rest &= rest - 1)
    x = op(x, static_cast<T>(a[std::countr_zero(rest)]));
  return x;
}
/// redux.min.f32, redux.max.f32: -0 is below +0; NaN counts only if all are NaN, or under .NaN; .abs takes magnitudes.
inline std::uint32_t reduce_f32(const std::uint32_t* a, Mask members, bool is_max, bool abs, bool nan) {
  const auto value = [&](Mask rest) {
    const float x = f32(a[std::countr_zero(rest)]);
    return abs ? std::fabs(x) : x;
  };
  float x = value(members);
  for (Mask rest = members & (members - 1); rest != 0; rest &= rest - 1)
    x = is_max ? max(x, value(rest), nan) : min(x, value(rest), nan);
  return bits(x);
}

}  // namespace assay::ptx

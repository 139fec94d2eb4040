#pragma once
#include <bit>
#include <cmath>

#include "reference/core/contract.hpp"
#include "reference/core/readings/bound.hpp"

/// What the Bound operators and primitives read: the contract of this thread's reading as numbers, and the small rules
/// that all of them share (spec/numerics/verdict.md, "The algebra").
namespace assay::detail {

struct BoundModel {
  BoundModel(const Contract& c, double limit);
  const Contract* contract;
  const Format* acc;
  double u;                                              // unit roundoff of the accumulator
  double variance;                                       // u^2 / 3: of one rounding of a value of size 1
  double exp_error, log_error, rsqrt_error, tanh_error;  // relative
  double min_normal, half_step, max;                     // of the accumulator
  double z;
};

/// This thread's; contract fp64 if its reading has none.
const BoundModel& bound_model();

/// Unit roundoff of double: of the reference's own arithmetic, whose error joins b and w.
inline constexpr double kOwn = 0x1p-53;

inline double square(double x) { return x * x; }
inline bool errorless(const Bound& x) { return x.w == 0; }
/// A number that no honest implementation can have: all of them agree on NaN and on infinities.
inline bool special(double v) { return !std::isfinite(v); }
inline bool power_of_two(double x) {
  return std::isfinite(x) && x != 0 && (std::bit_cast<std::uint64_t>(x) << 12) == 0;
}
/// The accumulator holds v.
inline bool representable(const BoundModel& m, double v) { return round_to(*m.acc, v) == v; }
/// The z-sigma deviation that is accepted at v.
inline double allowed(const Bound& x, double z) {
  const double d = x.b + z * std::sqrt(x.s2 + x.c * x.c);
  return d < x.w ? d : x.w;
}
inline float both(double deviation, double other) {
  return static_cast<float>(std::sqrt(square(deviation) + square(other)));
}
/// Adds the error c of a shared symbol; where two symbols meet, the smaller becomes independent.
inline void add_symbol(Bound& r, double c, std::uint32_t symbol) {
  if (c == 0 || symbol == 0) return;
  if (r.symbol == symbol || r.symbol == 0) {
    r.c += c;
    r.symbol = symbol;
  } else if (std::fabs(c) > std::fabs(r.c)) {
    r.s2 += r.c * r.c;
    r.folded = both(r.folded, r.c);
    r.c = c;
    r.symbol = symbol;
  } else {
    r.s2 += c * c;
    r.folded = both(r.folded, c);
  }
}
/// What of its operands' folded errors a result has: they scale as the operands' other errors do.
inline float folded(const Bound& x, double by_x, const Bound& y, double by_y) {
  if (x.folded == 0 && y.folded == 0) return 0;
  return both(by_x * x.folded, by_y * y.folded);
}
/// A result whose error has no bound: an intermediate that may overflow the accumulator.
inline Bound unbounded(double v) {
  Bound r(v);
  r.b = r.w = __builtin_huge_val();
  return r;
}
/// Last step of every operation: NaN and infinities are exact, what may overflow has no bound, 0 * inf is no number.
inline Bound finish(const BoundModel& m, Bound r) {
  if (special(r.v)) return Bound(r.v);
  if (r.s2 != r.s2) r.s2 = __builtin_huge_val();
  if (r.w != r.w || r.b != r.b || r.c != r.c) return unbounded(r.v);
  if (r.c == 0) r.symbol = 0;
  if (std::fabs(r.v) + allowed(r, m.z) > m.max) return unbounded(r.v);
  return r;
}
/// Adds `times` roundings of the accumulator to a result that already has its operands' errors. `scales`: the operation
/// can leave the normal range (products and quotients; a sum of two numbers of the format is exact there).
inline void add_rounding(const BoundModel& m, Bound& r, double times, bool scales) {
  const double v = std::fabs(r.v), a = allowed(r, m.z);
  if (scales) {
    if (v - a < m.min_normal) r.b += std::fmin(v + a, times * m.half_step);
    r.w += times * m.half_step;
  }
  r.s2 += times * m.variance * square(v + a);
  // (1 + u)^times - 1, times 1 or 2; the last factor covers the rounding of w itself.
  r.w = (r.w + (times == 1 ? m.u : 2 * m.u + m.u * m.u) * (v + r.w)) * (1 + 0x1p-40);
}

}  // namespace assay::detail

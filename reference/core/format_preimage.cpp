// Which reals round to a value: every rounding mode seen from its result.
#include <cmath>

#include "reference/core/format.hpp"

namespace assay {

namespace {

constexpr double kInf = std::bit_cast<double>(std::uint64_t{0x7FF0000000000000});
constexpr Interval kEmpty{kInf, -kInf, false, false};

struct End {
  double at;
  bool closed;
};

/// The end, on the side of its neighbour n, of what rounds to o.
End end_towards(double o, double n, bool even, Round mode, int k) {
  const bool outward = std::fabs(n) > std::fabs(o);
  const double gap = n - o;
  switch (mode) {
    case Round::nearest_even:
      return {o + gap / 2, even};
    case Round::nearest_away:
      return {o + gap / 2, !outward};
    case Round::toward_zero:
      return outward ? End{n, false} : End{o, true};
    case Round::up:
      return n < o ? End{n, false} : End{o, true};
    case Round::down:
      return n > o ? End{n, false} : End{o, true};
    case Round::stochastic:
      break;
  }
  // From outside every fraction below 1 may be dropped; from inside the fraction must reach 2^-k to be seen.
  if (outward) return {n, false};
  const double seen = n - gap * pow2(-k);
  return seen == n || seen - n != -gap * pow2(-k) ? End{n, false} : End{seen, true};
}

struct Policy {
  bool finite_saturates, infinity_saturates;
};

Policy policy_of(const Format& f, Overflow overflow) {
  if (overflow == Overflow::by_format) overflow = f.overflow;
  if (overflow == Overflow::saturate || !f.has_nan()) return {true, true};
  return {overflow == Overflow::nan_on_inf, false};
}

/// The largest finite value and what follows it on the grid continued.
End end_above_max(const Format& f, Round mode, int k) {
  const double max = f.max_finite();
  return end_towards(max, max + ulp(f, max), (f.max_code() & 1) == 0, mode, k);
}

int bits_or_default(const Format& f, int random_bits) { return random_bits == 0 ? f.random_bits : random_bits; }

}  // namespace

Interval overflowing(const Format& f, Round mode, int random_bits) {
  encode(f, 1, mode, Overflow::by_format, 0, random_bits);  // refuses what rounding refuses
  // Toward zero nothing finite overflows.
  if (mode == Round::toward_zero || mode == Round::down) return {kInf, kInf, true, true};
  const int k = bits_or_default(f, random_bits);
  if (mode == Round::stochastic) {
    // Seen from the value after the largest one: the least real that some random number carries over.
    const double max = f.max_finite(), next = max + ulp(f, max);
    const End e = end_towards(next, max, true, mode, k);
    return {e.at, kInf, e.closed, true};
  }
  const End e = end_above_max(f, mode, k);
  return {e.at, kInf, !e.closed, true};
}

Interval preimage(const Format& f, double o, Round mode, Overflow overflow, int random_bits) {
  encode(f, 1, mode, overflow, 0, random_bits);  // refuses what rounding refuses
  if (std::isnan(o)) return kEmpty;
  const std::uint64_t code = encode(f, o) >> f.ignored_bits;
  if (f.bits == 64) return {o, o, true, true};
  const int k = bits_or_default(f, random_bits);
  const Policy policy = policy_of(f, overflow);
  if (std::isinf(o)) {
    if (policy.finite_saturates) return kEmpty;
    // Mirrored for -Inf: up and down change places.
    const bool negative = o < 0;
    const Round mirrored = !negative ? mode : mode == Round::up ? Round::down : mode == Round::down ? Round::up : mode;
    const Interval i = overflowing(f, mirrored, k);
    return negative ? Interval{-i.hi, -i.lo, i.hi_closed, i.lo_closed} : i;
  }
  const bool even = (code & 1) == 0, scale = f.specials == Specials::scale;
  // A neighbour nearer to zero lies in the binade below when o is a power of two.
  const double outward = ulp(f, o);
  const double inward = o == 0 ? outward : ulp(f, std::nextafter(std::fabs(o), 0.0));
  End hi, lo;
  if (o == f.max_finite() && policy.finite_saturates)
    hi = {kInf, policy.infinity_saturates};
  else if (o == f.max_finite() && (mode == Round::toward_zero || mode == Round::down))
    hi = {kInf, false};
  else
    hi = end_towards(o, o + (o >= 0 ? outward : inward), even, mode, k);
  if (scale && o == f.min_normal())
    lo = {0, true};
  else if (o == f.lowest() && (f.sign_bits == 0 || policy.finite_saturates) && !scale)
    lo = {-kInf, policy.infinity_saturates};
  else if (o == f.lowest() && (mode == Round::toward_zero || mode == Round::up) && !scale)
    lo = {-kInf, false};
  else
    lo = end_towards(o, o - (o > 0 ? inward : outward), even, mode, k);
  return {lo.at, hi.at, lo.closed, hi.closed};
}

}  // namespace assay

#pragma once
// A second, slow implementation of the number formats, in exact integers, written from the master table and not from
// the code under test: a value is m 2^e, the two neighbours of a real are found by bisection over all codes, and the
// mode chooses between them.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "reference/core/format.hpp"

namespace oracle {

using assay::Overflow;
using assay::Round;
using U64 = std::uint64_t;
__extension__ typedef __int128 I128;

/// m 2^e >= 0, exact.
struct Exact {
  I128 m;
  int e;
};

inline int bit_length(I128 m) {
  const auto high = static_cast<U64>(m >> 64), low = static_cast<U64>(m);
  return high ? 64 + std::bit_width(high) : std::bit_width(low);
}

inline int compare(Exact a, Exact b) {
  if (a.m == 0 || b.m == 0) return (a.m > 0) - (b.m > 0);
  const int la = bit_length(a.m) + a.e, lb = bit_length(b.m) + b.e;
  if (la != lb) return la < lb ? -1 : 1;
  if (a.e > b.e) a.m <<= a.e - b.e;  // equal lengths: no more than the length of the longer
  if (b.e > a.e) b.m <<= b.e - a.e;
  return a.m < b.m ? -1 : a.m > b.m;
}

/// a - b for a >= b of the same order of magnitude, or b = 0.
inline Exact minus(Exact a, Exact b) {
  if (b.m == 0) return a;
  const int e = a.e < b.e ? a.e : b.e;
  return {(a.m << (a.e - e)) - (b.m << (b.e - e)), e};
}

inline Exact plus(Exact a, Exact b) {
  if (b.m == 0) return a;
  if (a.m == 0) return b;
  const int e = a.e < b.e ? a.e : b.e;
  return {(a.m << (a.e - e)) + (b.m << (b.e - e)), e};
}

inline Exact half(Exact a) { return {a.m, a.e - 1}; }

inline Exact of_double(double x) {  // |x|, finite
  int e = 0;
  const double fraction = std::frexp(std::fabs(x), &e);
  return {static_cast<I128>(std::ldexp(fraction, 53)), e - 53};
}

inline double to_double(Exact a) {  // exact for at most 53 bits in range
  while (a.m != 0 && a.m % 2 == 0) a = {a.m / 2, a.e + 1};
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(a.m)), a.e);
}

/// One row of the master table, typed from the page. `low`: bits of a code that do not count (tf32).
struct Row {
  const char* name;
  int bits, s, e, m, bias, low;
  U64 max_code;           // largest finite magnitude code
  U64 inf;                // code of +Inf, 0 if none
  std::vector<U64> nans;  // NaN codes if few (fp8, e8m0), else empty
  bool ieee_nans;         // all codes above inf
  U64 nan_result;         // where NaN goes
  bool two_complement;
  long inf_codes, nan_codes, finite_codes, distinct;  // -1: not enumerated
  double u, max, min_normal, min_subnormal;
  int k;  // random bits
};

inline double p2(int e) { return std::ldexp(1.0, e); }

inline const std::vector<Row>& rows() {
  // clang-format off
  static const std::vector<Row> table = {
    {"fp32", 32, 1, 8, 23, 127, 0, 0x7F7FFFFF, 0x7F800000, {}, true, 0x7FC00000, false, -1, -1, -1, -1,
     p2(-24), (2 - p2(-23)) * p2(127), p2(-126), p2(-149), 16},
    {"tf32", 32, 1, 8, 10, 127, 13, 0x3FBFF, 0x3FC00, {}, true, 0x3FE00, false, 2, 2046, 522240, 522239,
     p2(-11), (2 - p2(-10)) * p2(127), p2(-126), p2(-136), 16},
    {"fp16", 16, 1, 5, 10, 15, 0, 0x7BFF, 0x7C00, {}, true, 0x7E00, false, 2, 2046, 63488, 63487,
     p2(-11), 65504, p2(-14), p2(-24), 13},
    {"bf16", 16, 1, 8, 7, 127, 0, 0x7F7F, 0x7F80, {}, true, 0x7FC0, false, 2, 254, 65280, 65279,
     p2(-8), (2 - p2(-7)) * p2(127), p2(-126), p2(-133), 16},
    {"e5m2", 8, 1, 5, 2, 15, 0, 0x7B, 0x7C, {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}, false, 0x7F, false, 2, 6, 248, 247,
     p2(-3), 57344, p2(-14), p2(-16), 16},
    {"e4m3", 8, 1, 4, 3, 7, 0, 0x7E, 0, {0x7F, 0xFF}, false, 0x7F, false, 0, 2, 254, 253,
     p2(-4), 448, p2(-6), p2(-9), 16},
    {"e5m2fnuz", 8, 1, 5, 2, 16, 0, 0x7F, 0, {0x80}, false, 0x80, false, 0, 1, 255, 255,
     p2(-3), 57344, p2(-15), p2(-17), 16},
    {"e4m3fnuz", 8, 1, 4, 3, 8, 0, 0x7F, 0, {0x80}, false, 0x80, false, 0, 1, 255, 255,
     p2(-4), 240, p2(-7), p2(-10), 16},
    {"ue4m3", 7, 0, 4, 3, 7, 0, 0x7E, 0, {0x7F}, false, 0x7F, false, 0, 1, 127, 127, p2(-4), 448, p2(-6), p2(-9), 16},
    {"e3m2", 6, 1, 3, 2, 3, 0, 0x1F, 0, {}, false, 0x1F, false, 0, 0, 64, 63, p2(-3), 28, p2(-2), p2(-4), 16},
    {"e2m3", 6, 1, 2, 3, 1, 0, 0x1F, 0, {}, false, 0x1F, false, 0, 0, 64, 63, p2(-4), 7.5, 1, p2(-3), 16},
    {"e2m1", 4, 1, 2, 1, 1, 0, 0x7, 0, {}, false, 0x7, false, 0, 0, 16, 15, p2(-2), 6, 1, p2(-1), 16},
    {"e8m0", 8, 0, 8, 0, 127, 0, 0xFE, 0, {0xFF}, false, 0xFF, false, 0, 1, 255, 255,
     p2(-1), p2(127), p2(-127), p2(-127), 16},
    // Fixed point: value = code * step; e is unused and bias is the exponent of the step.
    {"mxint8", 8, 1, 0, 7, -6, 0, 0x7F, 0, {}, false, 0x7F, true, 0, 0, 256, 256, p2(-7), 1.984375, p2(-6), p2(-6), 16},
    {"int8", 8, 1, 0, 7, 0, 0, 0x7F, 0, {}, false, 0, true, 0, 0, 256, 256, .5, 127, 1, 1, 16},
    {"uint8", 8, 0, 0, 8, 0, 0, 0xFF, 0, {}, false, 0, true, 0, 0, 256, 256, .5, 255, 1, 1, 16},
    {"bool", 1, 0, 0, 1, 0, 0, 1, 0, {}, false, 0, true, 0, 0, 2, 2, .5, 1, 1, 1, 16},
    {"int32", 32, 1, 0, 31, 0, 0, 0x7FFFFFFF, 0, {}, false, 0, true, -1, -1, -1, -1, .5, 2147483647, 1, 1, 16},
  };
  // clang-format on
  return table;
}

inline const Row& row(std::string_view name) {
  for (const Row& r : rows())
    if (name == r.name) return r;
  std::abort();
}

inline bool is_e8m0(const Row& r) { return r.e == 8 && r.s == 0; }
inline bool has_nan(const Row& r) { return r.ieee_nans || !r.nans.empty(); }
inline bool has_negative_zero(const Row& r) {
  return r.s == 1 && !r.two_complement && !(r.nans.size() == 1 && r.nans[0] == 0x80);
}
inline int width(const Row& r) { return r.bits - r.low; }
inline U64 sign_code(const Row& r) { return r.s ? U64{1} << (width(r) - 1) : 0; }

/// Decode rule of the page for a magnitude code, also beyond the largest one (the grid continued).
inline Exact value(const Row& r, U64 c) {
  if (is_e8m0(r)) return {1, static_cast<int>(c) - r.bias};
  if (r.two_complement) return {static_cast<I128>(c), r.bias};
  const U64 field = c >> r.m, mantissa = c % (U64{1} << r.m);
  if (field == 0) return {static_cast<I128>(mantissa), 1 - r.bias - r.m};
  return {static_cast<I128>(mantissa + (U64{1} << r.m)), static_cast<int>(field) - r.bias - r.m};
}

/// All of a code (without low bits): NaN, infinite, or a signed value.
inline double decode(const Row& r, U64 c) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (U64 n : r.nans)
    if (c == n) return nan;
  const bool negative = c & sign_code(r);
  if (r.two_complement) {
    const U64 magnitude = negative ? (U64{1} << width(r)) - c : c;
    return (negative ? -1 : 1) * to_double(value(r, magnitude));
  }
  const U64 magnitude = c - (negative ? sign_code(r) : 0);
  double v = 0;
  if (r.inf && magnitude == r.inf)
    v = inf;
  else if (r.ieee_nans && magnitude > r.inf)
    return nan;
  else
    v = to_double(value(r, magnitude));
  return negative ? -v : v;
}

inline U64 signed_code(const Row& r, U64 magnitude, bool negative) {
  if (!negative || r.s == 0) return magnitude;
  if (r.two_complement) return magnitude == 0 ? 0 : (U64{1} << width(r)) - magnitude;
  if (magnitude == 0 && !has_negative_zero(r)) return 0;
  return magnitude + sign_code(r);
}

inline Overflow resolve(const Row& r, Overflow policy) {
  if (policy != Overflow::by_format) return policy;
  const std::string n = r.name;
  return n == "fp32" || n == "tf32" || n == "fp16" || n == "bf16" ? Overflow::infinity_or_nan : Overflow::saturate;
}

/// The policies of `fmt.fp8`, case by case.
inline U64 beyond(const Row& r, bool negative, Overflow policy, bool from_infinity) {
  const U64 most = r.max_code + (r.two_complement && negative && r.s ? 1 : 0);
  const U64 saturated = negative && r.s == 0 ? 0 : signed_code(r, most, negative);
  const U64 nan = r.nan_result + (negative && (r.ieee_nans || r.nans.size() > 1) ? sign_code(r) : 0);
  if (!has_nan(r)) return saturated;
  switch (resolve(r, policy)) {
    case Overflow::infinity_or_nan:
      return r.inf ? signed_code(r, r.inf, negative) : nan;
    case Overflow::nan_on_inf:
      return from_infinity ? nan : saturated;
    default:
      return saturated;
  }
}

/// What every mode and policy needs to know about x: where it lies between two neighbouring magnitudes.
struct Place {
  double x;
  U64 lo, hi;       // magnitude codes around |x|; equal if exact; hi may be one beyond the largest
  int against_mid;  // |x| against the midpoint of lo and hi
  Exact discarded, gap;
};

inline Place place(const Row& r, double x) {
  Place p{x, 0, 0, 0, {0, 0}, {0, 0}};
  if (std::isnan(x) || std::isinf(x)) return p;
  const Exact a = of_double(x);
  const U64 most = r.max_code + (r.two_complement && x < 0 ? 1 : 0);
  U64 lo = 0, hi = most + 1;  // bisection: value(lo) <= a < value(hi)
  if (compare(a, value(r, hi)) >= 0) {
    p.lo = hi;
    p.hi = hi + 1;  // beyond even the first value after the largest
    p.against_mid = 1;
    return p;
  }
  if (compare(a, value(r, 0)) < 0) return p;  // e8m0 below its smallest value
  while (hi - lo > 1) {
    const U64 mid = lo + (hi - lo) / 2;
    (compare(a, value(r, mid)) >= 0 ? lo : hi) = mid;
  }
  p.lo = lo;
  p.hi = compare(a, value(r, lo)) == 0 ? lo : hi;
  if (p.lo == p.hi) return p;
  const Exact low = value(r, lo), high = value(r, hi);
  p.against_mid = compare(a, half(plus(low, high)));
  p.discarded = minus(a, low);
  p.gap = minus(high, low);
  return p;
}

/// Is floor(discarded / gap * 2^k) + random >= 2^k?
inline bool carries(const Place& p, std::uint32_t random, int k) {
  // gap is a power of two: bring it to gap.e with m = 1.
  const int gap_exponent = p.gap.e + bit_length(p.gap.m) - 1;
  const int shift = p.discarded.e + k - gap_exponent;
  const I128 top = shift >= 0 ? p.discarded.m << shift : shift < -126 ? 0 : p.discarded.m >> -shift;
  return top + random >= (static_cast<I128>(1) << k);
}

/// Code, without low bits.
inline U64 encode(const Row& r, const Place& p, Round mode, Overflow policy, std::uint32_t random = 0, int k = 0) {
  if (std::isnan(p.x)) return r.nan_result;
  const bool negative = std::signbit(p.x) && !is_e8m0(r);
  if (std::isinf(p.x)) return beyond(r, negative, policy, true);
  if (negative && r.s == 0) return 0;
  U64 c = p.lo;
  if (p.lo != p.hi) {
    const U64 even = p.lo % 2 == 0 ? p.lo : p.hi;
    switch (mode) {
      case Round::nearest_even:
        c = p.against_mid < 0 ? p.lo : p.against_mid > 0 ? p.hi : even;
        break;
      case Round::nearest_away:
        c = p.against_mid < 0 ? p.lo : p.hi;
        break;
      case Round::toward_zero:
        c = p.lo;
        break;
      case Round::up:
        c = negative ? p.lo : p.hi;
        break;
      case Round::down:
        c = negative ? p.hi : p.lo;
        break;
      case Round::stochastic:
        c = p.lo > r.max_code ? p.hi : carries(p, random, k ? k : r.k) ? p.hi : p.lo;
        break;
    }
  }
  const U64 most = r.max_code + (r.two_complement && negative ? 1 : 0);
  if (c <= most) return signed_code(r, c, negative);
  const bool inward =
      mode == Round::toward_zero || (mode == Round::up && negative) || (mode == Round::down && !negative);
  return inward ? signed_code(r, most, negative) : beyond(r, negative, policy, false);
}

}  // namespace oracle

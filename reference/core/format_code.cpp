// Decode, encode and the one rounding routine.
#include <cmath>
#include <cstdio>
#include <string>

#include "reference/core/error.hpp"
#include "reference/core/format.hpp"

namespace assay {

namespace {

using U64 = std::uint64_t;

constexpr U64 kSign = U64{1} << 63, kHidden = U64{1} << 52;
constexpr double kNaN = std::bit_cast<double>(U64{0x7FF8000000000000});
constexpr double kInf = std::bit_cast<double>(U64{0x7FF0000000000000});

std::string digits(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

/// A non-zero finite double as m 2^(e-52) with the hidden bit of m set, also for subnormals.
struct Magnitude {
  U64 m;
  int e;
};

Magnitude magnitude(U64 bits) {
  const U64 mantissa = bits & (kHidden - 1);
  const int field = static_cast<int>(bits >> 52 & 0x7FF);
  if (field != 0) return {mantissa | kHidden, field - 1023};
  const int shift = std::countl_zero(mantissa) - 11;
  return {mantissa << shift, -1022 - shift};
}

/// m / 2^shift as integer part, and what was discarded compared with half: its top bits and whether it is zero.
struct Split {
  U64 kept, rest;
  int shift;

  Split(U64 m, int shift_right) : kept(shift_right > 63 ? 0 : m >> shift_right), rest(m), shift(shift_right) {
    if (shift <= 63) rest = m & ((U64{1} << shift) - 1);
  }
  /// Discarded fraction against 1/2: -1, 0, +1.
  int against_half() const {
    if (shift == 0 || shift > 53) return -1;  // m < 2^53, so a shift by more discards less than 1/2
    const U64 half = U64{1} << (shift - 1);
    return rest < half ? -1 : rest > half ? 1 : 0;
  }
  /// floor(fraction 2^k)
  U64 top(int k) const {
    if (shift <= k) return rest << (k - shift);
    return shift - k > 63 ? 0 : rest >> (shift - k);
  }
};

bool away_from_zero(const Split& s, bool negative, Round mode, std::uint32_t random, int k) {
  switch (mode) {
    case Round::nearest_even:
      return s.against_half() > 0 || (s.against_half() == 0 && (s.kept & 1));
    case Round::nearest_away:
      return s.against_half() >= 0;
    case Round::toward_zero:
      return false;
    case Round::up:
      return s.rest != 0 && !negative;
    case Round::down:
      return s.rest != 0 && negative;
    case Round::stochastic:
      return s.top(k) + random >= U64{1} << k;
  }
  return false;
}

bool clamps_at_max(bool negative, Round mode) {
  return mode == Round::toward_zero || (mode == Round::up && negative) || (mode == Round::down && !negative);
}

U64 sign_bit(const Format& f) { return f.sign_bits ? U64{1} << (f.bits - 1 - f.ignored_bits) : 0; }

/// The code, without ignored bits, of a signed magnitude code.
U64 with_sign(const Format& f, U64 code, bool negative) {
  if (!negative || f.sign_bits == 0) return code;
  if (f.fixed_point()) return (~code + 1) & (f.bits == 64 ? ~U64{0} : (U64{1} << f.bits) - 1);
  if (code == 0 && !f.has_negative_zero()) return 0;
  return code | sign_bit(f);
}

U64 largest(const Format& f, bool negative) {
  return with_sign(f, f.max_code() + (negative && f.fixed_point() ? 1 : 0), negative);
}

U64 nan_with_sign(const Format& f, bool negative) {
  const bool both_signs = f.specials == Specials::ieee || f.specials == Specials::fn;
  return (f.nan_code >> f.ignored_bits) | (both_signs && negative ? sign_bit(f) : 0);
}

/// What a value beyond the largest finite one becomes, or (from_infinity) +-Inf.
U64 overflowed(const Format& f, bool negative, Overflow policy, bool from_infinity) {
  if (policy == Overflow::by_format) policy = f.overflow;
  const bool special = policy == Overflow::infinity_or_nan || (policy == Overflow::nan_on_inf && from_infinity);
  if (!special || !f.has_nan()) return f.sign_bits == 0 && negative ? 0 : largest(f, negative);
  if (policy == Overflow::infinity_or_nan && f.has_infinity()) return with_sign(f, f.max_code() + 1, negative);
  return nan_with_sign(f, negative);
}

/// Code of a finite value, without ignored bits.
U64 round_finite(const Format& f, U64 bits, Round mode, Overflow policy, std::uint32_t random, int k) {
  const bool negative = bits & kSign;
  if ((bits & ~kSign) == 0) return with_sign(f, 0, negative);
  if (negative && f.sign_bits == 0) return 0;
  const Magnitude x = magnitude(bits);
  if (f.fixed_point() && x.e > f.emax() + 1) return largest(f, negative);
  // The grid at x has the step 2^q; below the normal range, and in fixed point, it is constant.
  const int q = (f.fixed_point() || x.e < f.emin() ? f.emin() : x.e) - f.mantissa_bits;
  const int shift = q - (x.e - 52);
  const Split s = shift >= 0 ? Split(x.m, shift) : Split(x.m << -shift, 0);
  const U64 kept = s.kept + (away_from_zero(s, negative, mode, random, k) ? 1 : 0);
  // Codes continue the grid: a carry out of the mantissa is the next exponent, so one comparison finds overflow.
  U64 code = kept;
  if (f.specials == Specials::scale)
    code = x.e < f.emin() ? 0 : static_cast<U64>(x.e - f.emin()) + kept - 1;
  else if (!f.fixed_point() && x.e >= f.emin())
    code += static_cast<U64>(x.e - f.emin()) << f.mantissa_bits;
  if (code <= f.max_code()) return with_sign(f, code, negative);
  if (f.fixed_point()) return largest(f, negative);
  return clamps_at_max(negative, mode) ? largest(f, negative) : overflowed(f, negative, policy, false);
}

}  // namespace

double decode(const Format& f, U64 code) {
  if (f.bits < 64 && code >> f.bits)
    throw Error("code of " + std::string(f.name), std::to_string(f.bits) + " bits", std::to_string(code));
  code >>= f.ignored_bits;
  if (f.bits == 64 && !f.fixed_point())
    return std::isnan(std::bit_cast<double>(code)) ? kNaN : std::bit_cast<double>(code);
  const U64 sign = code & sign_bit(f);
  const double direction = sign ? -1 : 1;
  if (f.fixed_point()) {
    const U64 m = sign ? with_sign(f, code, true) : code;
    if (static_cast<U64>(static_cast<double>(m)) != m)
      throw Error("code of " + std::string(f.name), "a magnitude that a double holds", std::to_string(m));
    return direction * static_cast<double>(m) * f.min_subnormal();
  }
  if (f.specials == Specials::fnuz && code == f.nan_code) return kNaN;
  code -= sign;
  if (f.specials == Specials::scale) return code > f.max_code() ? kNaN : pow2(static_cast<int>(code) - f.bias);
  if (code > f.max_code()) return f.has_infinity() && code == f.max_code() + 1 ? direction * kInf : kNaN;
  const int field = static_cast<int>(code >> f.mantissa_bits);
  const U64 mantissa = code & ((U64{1} << f.mantissa_bits) - 1);
  if (field == 0) return direction * static_cast<double>(mantissa) * f.min_subnormal();
  return direction * static_cast<double>(mantissa + (U64{1} << f.mantissa_bits)) *
         pow2(field - f.bias - f.mantissa_bits);
}

U64 encode(const Format& f, double x, Round mode, Overflow overflow, std::uint32_t random, int random_bits) {
  const int k = random_bits == 0 ? f.random_bits : random_bits;
  if (f.specials == Specials::scale) {
    if (mode != Round::toward_zero && mode != Round::up)
      throw Error("rounding mode of e8m0", "Round::toward_zero or Round::up");
    x = std::fabs(x);
  }
  if (mode == Round::stochastic && (k < 1 || k > 32 || static_cast<U64>(random) >> k != 0))
    throw Error("stochastic rounding to " + std::string(f.name), "1 to 32 random bits and a random number below 2^k",
                std::to_string(k) + " bits, random " + std::to_string(random));
  const U64 bits = std::bit_cast<U64>(x);
  if (std::isnan(x)) return f.nan_code;
  const U64 code =
      std::isinf(x) ? overflowed(f, bits & kSign, overflow, true) : round_finite(f, bits, mode, overflow, random, k);
  return code << f.ignored_bits;
}

U64 encode(const Format& f, double exact) {
  const U64 code = encode(f, exact, Round::toward_zero, Overflow::infinity_or_nan);
  const double back = decode(f, code);
  const bool same = std::isnan(exact) ? std::isnan(back) : back == exact;
  if (!same) throw Error("value of " + std::string(f.name), "one that the format holds exactly", digits(exact));
  return code;
}

double detail::round_general(const Format& f, double x, Round mode, Overflow overflow, std::uint32_t random,
                             int random_bits) {
  const U64 code = encode(f, x, mode, overflow, random, random_bits);
  if (f.mantissa_bits > 53 && code == f.max_code()) return f.max_finite();  // int64: no double holds 2^63 - 1
  return decode(f, code);
}

double ulp(const Format& f, double x) {
  const U64 bits = std::bit_cast<U64>(x) & ~kSign;
  const int e = bits == 0 ? f.emin() : std::isnan(x) || std::isinf(x) ? f.emax() : magnitude(bits).e;
  if (f.fixed_point() || e < f.emin()) return f.min_subnormal();
  return pow2((e < f.emax() ? e : f.emax()) - f.mantissa_bits);
}

}  // namespace assay

#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

/// How a real becomes one of its two neighbours in a format. `nearest_even` is RN, `nearest_away` RNA (ties away from
/// zero), then RZ, RU, RD, and SR: away from zero if the top k discarded bits plus a k-bit random number carry.
enum class Round : std::uint8_t { nearest_even, nearest_away, toward_zero, up, down, stochastic };

/// What becomes of a rounded value beyond the largest finite one, and of +-Inf (page `fmt.fp8`, options i to iii).
/// Formats without Inf and NaN (fp6, fp4, fixed point) saturate under every policy.
enum class Overflow : std::uint8_t {
  by_format,        ///< the default of the format
  saturate,         ///< both become +-max (option i; the vendors' SAT)
  infinity_or_nan,  ///< both become +-Inf, or NaN in a format without Inf (NOSAT; option iii for fnuz)
  nan_on_inf        ///< finite overflow becomes +-max, Inf becomes NaN (option ii, the text of the 2022 paper)
};

/// Which codes are not numbers.
enum class Specials : std::uint8_t {
  none,  ///< every code is finite
  ieee,  ///< exponent all ones: Inf with mantissa 0, NaN otherwise
  fn,    ///< no Inf; all bits but the sign set: NaN
  fnuz,  ///< no Inf, no -0: the code of -0 is the one NaN
  scale  ///< e8m0: no Inf, no zero, no sign; all ones is NaN; code c is 2^(c-bias)
};

/// 2^e for every e of a double, subnormals included; smaller gives 0, larger +Inf.
constexpr double pow2(int e) {
  if (e < -1074) return 0;
  if (e > 1023) e = 1024;
  return std::bit_cast<double>(e < -1022 ? std::uint64_t{1} << (e + 1074) : static_cast<std::uint64_t>(e + 1023) << 52);
}

/// A number format as plain data (catalogue `quantization.md`, master table of part A). The decode rule of all rows but
/// e8m0: exponent field 0 is (-1)^s 2^(1-bias-M) m, field e > 0 is (-1)^s 2^(e-bias) (1 + m/2^M), minus the special
/// codes. Fixed point (and integers) is the same with no exponent field, in two's complement: a grid of step
/// 2^(1-bias-M) and nothing else.
struct Format {
  std::string_view name;
  int bits;           ///< width of a code
  int sign_bits;      ///< 0 or 1
  int exponent_bits;  ///< 0: fixed point
  int mantissa_bits;  ///< M, stored bits
  int bias;
  Specials specials;
  Overflow overflow;  ///< policy behind Overflow::by_format
  std::uint64_t
      nan_code;     ///< where NaN goes: the canonical quiet NaN; +max for fp6, fp4, mxint8; as PTX cvt for integers
  int random_bits;  ///< k of stochastic rounding unless the caller says otherwise (PTX: fp16 13, all others 16)
  int ignored_bits = 0;  ///< low bits of a code that decoding ignores and encoding clears (tf32: 13)

  constexpr bool fixed_point() const { return exponent_bits == 0; }
  constexpr bool has_infinity() const { return specials == Specials::ieee; }
  constexpr bool has_nan() const { return specials != Specials::none; }
  /// -0 is a code of its own.
  constexpr bool has_negative_zero() const { return sign_bits == 1 && !fixed_point() && specials != Specials::fnuz; }
  /// Significand bits p, hidden bit included (fixed point: bits of the magnitude).
  constexpr int p() const { return fixed_point() ? mantissa_bits : mantissa_bits + 1; }
  /// Exponent of the smallest normal value; below it the grid has the constant step min_subnormal().
  constexpr int emin() const { return specials == Specials::scale ? -bias : 1 - bias; }
  /// Exponent of the largest finite value.
  constexpr int emax() const {
    if (fixed_point()) return emin() - 1;
    return emin() + static_cast<int>(max_code() >> mantissa_bits) - (specials == Specials::scale ? 0 : 1);
  }
  /// Code of the largest finite value, without ignored bits.
  constexpr std::uint64_t max_code() const {
    const std::uint64_t all = (std::uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
    switch (specials) {
      case Specials::ieee:
        return all - (std::uint64_t{1} << mantissa_bits);
      case Specials::fn:
      case Specials::scale:
        return all - 1;
      case Specials::none:
      case Specials::fnuz:
        break;
    }
    return all;
  }
  /// Smallest normal value; the step of fixed point.
  constexpr double min_normal() const { return fixed_point() ? min_subnormal() : pow2(emin()); }
  /// Smallest positive value; the step of fixed point; of e8m0, which has no subnormals, min_normal().
  constexpr double min_subnormal() const { return pow2(emin() - mantissa_bits); }
  /// Largest finite value (int64: 2^63 - 1024, the largest that a double holds).
  constexpr double max_finite() const {
    if (mantissa_bits > 53) return (pow2(53) - 1) * pow2(emax() - 52);
    if (fixed_point()) return (pow2(mantissa_bits) - 1) * min_subnormal();
    const std::uint64_t mantissa = max_code() & ((std::uint64_t{1} << mantissa_bits) - 1);
    return (1 + static_cast<double>(mantissa) * pow2(-mantissa_bits)) * pow2(emax());
  }
  /// Most negative finite value: -max_finite(), one step more in two's complement, 0 without a sign (e8m0: 2^-127).
  constexpr double lowest() const {
    if (sign_bits == 0) return specials == Specials::scale ? min_normal() : 0;
    return fixed_point() ? -pow2(emin()) : -max_finite();
  }
  /// Unit roundoff of RN: 2^-p, relative (twice that in directed modes). Fixed point: half a step, absolute.
  constexpr double u() const { return fixed_point() ? min_subnormal() / 2 : pow2(-p()); }
};

namespace formats {
// clang-format off
//                                 name      bits s  e   m   bias  specials         overflow                   NaN       k   ignored
inline constexpr Format fp64     {"fp64",      64,  1,  11,  52,  1023,  Specials::ieee,   Overflow::infinity_or_nan,  0x7FF8000000000000, 16};
inline constexpr Format fp32     {"fp32",      32,  1,  8,   23,  127,   Specials::ieee,   Overflow::infinity_or_nan,  0x7FC00000, 16};
inline constexpr Format tf32     {"tf32",      32,  1,  8,   10,  127,   Specials::ieee,   Overflow::infinity_or_nan,  0x7FC00000, 16, 13};
inline constexpr Format fp16     {"fp16",      16,  1,  5,   10,  15,    Specials::ieee,   Overflow::infinity_or_nan,  0x7E00, 13};
inline constexpr Format bf16     {"bf16",      16,  1,  8,   7,   127,   Specials::ieee,   Overflow::infinity_or_nan,  0x7FC0, 16};
inline constexpr Format e5m2     {"e5m2",      8,   1,  5,   2,   15,    Specials::ieee,   Overflow::saturate,         0x7F, 16};
inline constexpr Format e4m3     {"e4m3",      8,   1,  4,   3,   7,     Specials::fn,     Overflow::saturate,         0x7F, 16};
inline constexpr Format e5m2fnuz {"e5m2fnuz",  8,   1,  5,   2,   16,    Specials::fnuz,   Overflow::saturate,         0x80, 16};
inline constexpr Format e4m3fnuz {"e4m3fnuz",  8,   1,  4,   3,   8,     Specials::fnuz,   Overflow::saturate,         0x80, 16};
inline constexpr Format ue4m3    {"ue4m3",     7,   0,  4,   3,   7,     Specials::fn,     Overflow::saturate,         0x7F, 16};
inline constexpr Format e3m2     {"e3m2",      6,   1,  3,   2,   3,     Specials::none,   Overflow::saturate,         0x1F, 16};
inline constexpr Format e2m3     {"e2m3",      6,   1,  2,   3,   1,     Specials::none,   Overflow::saturate,         0x1F, 16};
inline constexpr Format e2m1     {"e2m1",      4,   1,  2,   1,   1,     Specials::none,   Overflow::saturate,         0x7, 16};
inline constexpr Format e8m0     {"e8m0",      8,   0,  8,   0,   127,   Specials::scale,  Overflow::saturate,         0xFF, 16};
inline constexpr Format mxint8   {"mxint8",    8,   1,  0,   7,   0,     Specials::none,   Overflow::saturate,         0x7F, 16};
inline constexpr Format int8     {"int8",      8,   1,  0,   7,   -6,    Specials::none,   Overflow::saturate,         0, 16};
inline constexpr Format uint8    {"uint8",     8,   0,  0,   8,   -7,    Specials::none,   Overflow::saturate,         0, 16};
inline constexpr Format int32    {"int32",     32,  1,  0,   31,  -30,   Specials::none,   Overflow::saturate,         0, 16};
inline constexpr Format int64    {"int64",     64,  1,  0,   63,  -62,   Specials::none,   Overflow::saturate,         std::uint64_t{1} << 63, 16};
inline constexpr Format boolean  {"bool",      1,   0,  0,   1,   0,     Specials::none,   Overflow::saturate,         0, 16};
// clang-format on
}  // namespace formats

/// All formats, in the order above.
std::span<const Format* const> all_formats();

/// The format of that name. @throws Error listing the names.
const Format& format(std::string_view name);

/// The value of a code: exact; NaN codes give the positive quiet NaN. Bits above `bits` must be zero.
/// @throws Error for a code too wide, or an int64 that no double holds.
double decode(const Format& f, std::uint64_t code);

/// The code of a value that the format holds exactly (NaN: `nan_code`; -0 where there is none: 0).
/// @throws Error naming format and value if it does not.
std::uint64_t encode(const Format& f, double exact);

/// Rounds x as a real number and encodes the result: round on the grid continued beyond the largest finite value, then
/// the overflow policy. The one rounding routine: integer arithmetic on the bits of x, the same on every machine and in
/// every floating-point environment.
///  - directed modes never cross the largest finite value toward zero: RZ(1e39) is max in fp32, RU(1e39) is Inf;
///  - NaN gives `nan_code`; an overflow to NaN keeps the sign bit where the format has NaNs of both signs;
///  - the sign of zero is kept where the format has -0; a format without sign takes negative reals to 0 and -Inf as
///    the policy says (saturate: 0);
///  - e8m0 takes `toward_zero` and `up` only and rounds |x|; what lies below 2^-127, zero too, becomes 2^-127;
///  - `stochastic` with k = random_bits (0: the format's): away from zero iff floor(f 2^k) + random >= 2^k, f the
///    discarded fraction of an ulp, so with probability floor(f 2^k) / 2^k over all random in [0, 2^k).
/// @throws Error: mode not defined for e8m0, k outside 1..32, random >= 2^k.
std::uint64_t encode(const Format& f, double x, Round mode, Overflow overflow = Overflow::by_format,
                     std::uint32_t random = 0, int random_bits = 0);

namespace detail {
double round_general(const Format& f, double x, Round mode, Overflow overflow, std::uint32_t random, int random_bits);
}

/// The value of encode(f, x, ...): the number of the format that x rounds to (int64 saturates at max_finite(), since no
/// double holds 2^63 - 1).
inline double round_to(const Format& f, double x, Round mode = Round::nearest_even,
                       Overflow overflow = Overflow::by_format, std::uint32_t random = 0, int random_bits = 0) {
  // Fast path: RN of a value in the normal range, below the top binade, is one integer addition.
  if (mode == Round::nearest_even && !f.fixed_point() && f.sign_bits == 1) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int e = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
    const int drop = 52 - f.mantissa_bits;
    if (e >= f.emin() && e < f.emax() && drop > 0) {
      const std::uint64_t half_minus = (std::uint64_t{1} << (drop - 1)) - 1, odd = bits >> drop & 1;
      return std::bit_cast<double>((bits + half_minus + odd) >> drop << drop);
    }
  }
  return detail::round_general(f, x, mode, overflow, random, random_bits);
}

/// Distance of neighbouring values at |x| (the upper side at a power of two); beyond max_finite() and for Inf and NaN
/// that of the top binade.
double ulp(const Format& f, double x);

/// A set of reals (with +-Inf); empty when lo > hi.
struct Interval {
  double lo, hi;
  bool lo_closed, hi_closed;
  constexpr bool empty() const { return lo > hi || (lo == hi && !(lo_closed && hi_closed)); }
  constexpr bool contains(double x) const {
    return (x > lo || (lo_closed && x == lo)) && (x < hi || (hi_closed && x == hi));
  }
};

/// All reals that round to o, a value of the format. +0 and -0 are one value here; stochastic: all reals that some
/// random number takes to o; e8m0: of |x|. Ends are exact, but for stochastic with more than 52 - M random bits, where
/// the interval is open at the neighbour. For fp64 and int64, whose midpoints no double holds, the point o itself.
/// o = NaN: empty; see overflowing() for the reals that overflow to NaN.
/// @throws Error if o is not in the format, or as encode.
Interval preimage(const Format& f, double o, Round mode = Round::nearest_even, Overflow overflow = Overflow::by_format,
                  int random_bits = 0);

/// The non-negative reals (with +Inf) that overflow, whatever the policy makes of them: (464, Inf] for e4m3 in RN, only
/// Inf in RZ. Mirror it for the negative ones (fixed point and unsigned formats: positive side only).
Interval overflowing(const Format& f, Round mode = Round::nearest_even, int random_bits = 0);

}  // namespace assay

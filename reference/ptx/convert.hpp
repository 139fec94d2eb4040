#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "reference/ptx/half.hpp"
#include "reference/ptx/integer.hpp"

// cvt (PTX ISA 9.0, section 9.7.9.21) on the values of one lane.
namespace assay::ptx {

/// The integer that x becomes, as a float: .rni .rzi .rpi .rmi. Zeros keep the sign of x.
inline double to_integral(double x, Round mode) {
  switch (mode) {
    case Round::toward_zero:
      return std::trunc(x);
    case Round::up:
      return std::ceil(x);
    case Round::down:
      return std::floor(x);
    default: {
      const double down = std::floor(x), rest = x - down;
      if (!(rest == rest) || rest < 0.5) return down;  // of an infinity the rest is NaN
      const bool odd = std::fmod(down, 2) != 0;
      return std::copysign(rest > 0.5 || odd ? down + 1 : down, x);
    }
  }
}

/// Of an integer type, saturating. NaN is 0, but the value with the first bit alone where the source is f64 or the
/// destination has 64 bits.
template <class I>
I float_to_integer(double x, Round mode, bool from_f64) {
  using Limits = std::numeric_limits<I>;
  if (x != x) return from_f64 || sizeof(I) == 8 ? static_cast<I>(std::uint64_t{1} << (8 * sizeof(I) - 1)) : I{0};
  const double y = to_integral(x, mode);
  if (y <= static_cast<double>(Limits::min())) return Limits::min();
  if (y >= pow2(Limits::digits)) return Limits::max();
  return static_cast<I>(y);
}

/// What the double nearest to an integer lacks; exact.
template <class I>
double rest_of(I x, double nearest) {
  return static_cast<double>(static_cast<Int128>(x) - static_cast<Int128>(nearest));
}
/// Integers of up to 64 bits to f32, f64 and the halves, rounded once.
template <class I>
float integer_to_f32(I x, Round mode) {
  const auto nearest = static_cast<double>(x);
  return to_f32(to_odd(nearest, rest_of(x, nearest)), mode);
}
template <class I>
double integer_to_f64(I x, Round mode) {
  const auto nearest = static_cast<double>(x);
  const double rest = rest_of(x, nearest);
  return directed(nearest, rest < 0 ? -1 : rest > 0 ? 1 : 0, mode);
}
template <class I>
std::uint16_t integer_to_half(const Format& f, I x, Round mode) {
  const auto nearest = static_cast<double>(x);
  return to_half(f, to_odd(nearest, rest_of(x, nearest)), mode);
}

/// cvt between integers: the low bits, or with .sat the nearest value of the type.
template <class To, class From>
To integer_to_integer(From a, bool sat) {
  const auto x = static_cast<Int128>(a);
  const Int128 low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  return static_cast<To>(sat && x < low ? low : sat && x > high ? high : x);
}

/// The value of a code; those of fp4 and fp6 are their low bits, tf32 is read without its low 13 bits.
inline double from_code(const Format& f, std::uint64_t code) {
  return decode(f, f.bits == 64 ? code : code & ((std::uint64_t{1} << f.bits) - 1));
}
/// The code of x. NaN is 0x7fff in 16 bits, 0x7fffffff in 32; in fp8 its NaN; in fp6 and fp4, which have none, +max.
inline std::uint64_t to_code(const Format& f, double x, Round mode = Round::nearest_even,
                             Overflow overflow = Overflow::by_format) {
  if (x != x && f.bits == 16) return nan_f16;
  if (x != x && f.bits == 32) return nan_f32;
  return encode(f, x, mode, overflow);
}

/// What stands behind cvt. `integral`: .rni and the like, by `round`, of which .rna is nearest_away.
struct Cast {
  Round round = Round::nearest_even;
  bool integral = false, ftz = false, sat = false, satfinite = false, relu = false;
};

/// cvt between float formats, code to code. .ftz is of f32, on either side; .satfinite gives +-max for all that is
/// beyond it, infinities too, and leaves NaN a NaN where there is one.
inline std::uint64_t convert(const Format& to, const Format& from, std::uint64_t code, const Cast& c) {
  const auto flushes = [&](const Format& f, double x) {
    return c.ftz && f.bits == 32 && std::fabs(x) < f.min_normal() ? std::copysign(0.0, x) : x;
  };
  double x = flushes(from, from_code(from, code));
  if (c.integral) x = to_integral(x, c.round);
  if (c.relu) x = relu(x);
  if (c.sat) x = saturated01(x);
  const std::uint64_t d = to_code(to, x, c.round, c.satfinite ? Overflow::saturate : Overflow::infinity_or_nan);
  return c.ftz && to.bits == 32 && x == x ? to_code(to, flushes(to, from_code(to, d))) : d;
}

/// The bits that a number takes in a packed register: fp6 has a byte of its own.
constexpr int packed_bits(const Format& f) { return f.bits == 6 ? 8 : f.bits; }

/// cvt.TOx2.FROM d, a, b: a goes to the upper part.
inline std::uint32_t convert_to_pair(const Format& to, const Format& from, std::uint64_t a, std::uint64_t b,
                                     const Cast& c) {
  return static_cast<std::uint32_t>(convert(to, from, a, c) << packed_bits(to) | convert(to, from, b, c));
}
/// cvt.TOx4.FROM d, {a, b, e, f}: from the top down.
inline std::uint32_t convert_to_four(const Format& to, const Format& from, const std::uint64_t (&abef)[4],
                                     const Cast& c) {
  return convert_to_pair(to, from, abef[0], abef[1], c) << (2 * packed_bits(to)) |
         convert_to_pair(to, from, abef[2], abef[3], c);
}
/// cvt.TOx2.FROMx2 d, a: upper to upper, lower to lower.
inline std::uint32_t convert_pair(const Format& to, const Format& from, std::uint32_t a, const Cast& c) {
  return convert_to_pair(to, from, a >> packed_bits(from), a & ((1u << packed_bits(from)) - 1), c);
}

}  // namespace assay::ptx

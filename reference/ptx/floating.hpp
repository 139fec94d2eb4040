#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/core/format.hpp"
#include "reference/ptx/exact.hpp"

// Floating-point instructions of PTX on the values of one lane (PTX ISA 9.0, sections 9.7.3 to 9.7.5): the exact
// result, rounded once. T is float or double. NaN results are the canonical one of their format: bits() and to_half()
// make it.
namespace assay::ptx {

inline constexpr std::uint32_t nan_f32 = 0x7fffffffu;
inline constexpr std::uint64_t nan_f64 = 0x7ff8000000000000u;
inline constexpr std::uint16_t nan_f16 = 0x7fff;  // of bf16 too

inline float f32(std::uint32_t code) { return std::bit_cast<float>(code); }
inline double f64(std::uint64_t code) { return std::bit_cast<double>(code); }
inline std::uint32_t bits(float x) { return x != x ? nan_f32 : std::bit_cast<std::uint32_t>(x); }
inline std::uint64_t bits(double x) { return x != x ? nan_f64 : std::bit_cast<std::uint64_t>(x); }

/// .rn .rz .rp .rm are nearest_even toward_zero up down. .ftz: subnormal operands and results become 0 of their sign.
/// .sat: results to [0, 1], NaN to +0. .relu: negative results to +0.
struct Modifiers {
  Round round = Round::nearest_even;
  bool ftz = false, sat = false, relu = false;
};

template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
}
template <class T>
T saturated01(T x) {
  return x > 0 ? (x < 1 ? x : T{1}) : T{0};
}
template <class T>
T relu(T x) {
  return x <= 0 ? T{0} : x;
}
template <class T>
T operand(T x, const Modifiers& m) {
  return m.ftz ? flushed(x) : x;
}
template <class T>
T finished(T x, const Modifiers& m) {
  if (m.ftz) x = flushed(x);
  if (m.relu) x = relu(x);
  return m.sat ? saturated01(x) : x;
}

/// The result in another mode, from the nearest one and the sign of (exact - nearest): nearest itself, or its neighbour
/// on the other side of the exact value. An infinite nearest one of a finite exact value is beyond it.
template <class T>
T directed(T nearest, int rest, Round mode) {
  if (std::isinf(nearest)) rest = nearest > 0 ? -1 : 1;
  if (rest == 0 || mode == Round::nearest_even) return nearest;
  const T infinity = std::numeric_limits<T>::infinity();
  const T below = rest < 0 ? std::nextafter(nearest, -infinity) : nearest;
  const T above = rest < 0 ? nearest : std::nextafter(nearest, infinity);
  if (mode == Round::down) return below;
  if (mode == Round::up) return above;
  return below < 0 ? above : below;  // towards zero; both are of one sign, zeros included
}

template <class T>
T fma(T a, T b, T c, const Modifiers& m) {
  a = operand(a, m), b = operand(b, m), c = operand(c, m);
  T d = std::fma(a, b, c);
  if (m.round != Round::nearest_even && std::isfinite(a) && std::isfinite(b) && std::isfinite(c)) {
    ExactDouble rest;
    rest.add_product(static_cast<double>(a), static_cast<double>(b));
    rest.add(static_cast<double>(c));
    if (rest.sign() == 0) {
      // An exact 0 of operands of unequal sign is +0, in .rm -0.
      if (std::signbit(a * b) != std::signbit(c)) d = m.round == Round::down ? -T{0} : T{0};
    } else {
      if (std::isfinite(d)) rest.add(-static_cast<double>(d));
      d = directed(d, rest.sign(), m.round);
    }
  }
  return finished(d, m);
}
template <class T>
T add(T a, T b, const Modifiers& m) {
  return fma(a, T{1}, b, m);
}
template <class T>
T sub(T a, T b, const Modifiers& m) {
  return add(a, static_cast<T>(-b), m);
}
template <class T>
T mul(T a, T b, const Modifiers& m) {
  a = operand(a, m), b = operand(b, m);
  T d = a * b;
  if (m.round != Round::nearest_even && d == d && std::isfinite(a) && std::isfinite(b)) {
    ExactDouble rest;
    rest.add_product(static_cast<double>(a), static_cast<double>(b));
    if (std::isfinite(d)) rest.add(-static_cast<double>(d));
    d = directed(d, rest.sign(), m.round);
  }
  return finished(d, m);
}
/// exact - q has the sign of (a - q b) b.
template <class T>
T div(T a, T b, const Modifiers& m) {
  a = operand(a, m), b = operand(b, m);
  T q = a / b;
  if (m.round != Round::nearest_even && std::isfinite(a) && std::isfinite(b) && b != 0) {
    ExactDouble rest;
    rest.add(static_cast<double>(a));
    if (std::isfinite(q)) rest.add_product(-static_cast<double>(q), static_cast<double>(b));
    q = directed(q, std::signbit(b) ? -rest.sign() : rest.sign(), m.round);
  }
  return finished(q, m);
}
template <class T>
T rcp(T a, const Modifiers& m) {
  return div(T{1}, a, m);
}
/// exact - s has the sign of a - s s.
template <class T>
T sqrt(T a, const Modifiers& m) {
  a = operand(a, m);
  T s = std::sqrt(a);
  if (m.round != Round::nearest_even && a > 0 && std::isfinite(a)) {
    ExactDouble rest;
    rest.add(static_cast<double>(a));
    rest.add_product(-static_cast<double>(s), static_cast<double>(s));
    s = directed(s, rest.sign(), m.round);
  }
  return finished(s, m);
}

/// fma.rn.f32 without modifiers, quickly: the double nearest to the exact value rounds to the right float unless it is
/// the middle of two, or the grid is coarser there.
inline float fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), s = product + static_cast<double>(c);
  const bool middle = (std::bit_cast<std::uint64_t>(s) & 0x1fffffff) == 0x10000000;
  const bool small = std::fabs(s) < 2 * static_cast<double>(std::numeric_limits<float>::min());
  return static_cast<float>(middle || small ? add_odd(product, static_cast<double>(c)) : s);
}

/// x, exact or to odd, in f32.
inline float to_f32(double x, Round mode) {
  if (mode == Round::nearest_even) return static_cast<float>(x);
  return static_cast<float>(round_to(formats::fp32, x, mode, Overflow::infinity_or_nan));
}

/// The operand that is no NaN; -0 is below +0. `nan` (.NaN): NaN if one is.
template <class T>
T min(T a, T b, bool nan) {
  if (a != a || b != b) return nan || (a != a && b != b) ? std::numeric_limits<T>::quiet_NaN() : a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T>
T max(T a, T b, bool nan) {
  if (a != a || b != b) return nan || (a != a && b != b) ? std::numeric_limits<T>::quiet_NaN() : a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? b : a;
}
/// .xorsign.abs: of the magnitudes, with the product of the signs.
template <class T>
T min_xorsign(T a, T b, bool nan) {
  const T sign = std::signbit(a) != std::signbit(b) ? T{-1} : T{1};
  return std::copysign(min(static_cast<T>(std::fabs(a)), static_cast<T>(std::fabs(b)), nan), sign);
}
template <class T>
T max_xorsign(T a, T b, bool nan) {
  const T sign = std::signbit(a) != std::signbit(b) ? T{-1} : T{1};
  return std::copysign(max(static_cast<T>(std::fabs(a)), static_cast<T>(std::fabs(b)), nan), sign);
}

/// copysign d, a, b: the sign of a, the rest of b.
template <class T>
T copysign(T a, T b) {
  return std::copysign(b, a);
}

enum class Property : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };
/// testp. A zero is normal.
template <class T>
bool testp(Property what, T a) {
  switch (what) {
    case Property::finite:
      return std::isfinite(a);
    case Property::infinite:
      return std::isinf(a);
    case Property::number:
      return a == a;
    case Property::notanumber:
      return a != a;
    case Property::normal:
      return a == 0 || std::isnormal(a);
    default:
      return a != 0 && std::isfinite(a) && !std::isnormal(a);
  }
}

}  // namespace assay::ptx

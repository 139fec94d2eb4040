#pragma once
#include <cstdint>

#include "reference/core/math.hpp"
#include "reference/ptx/half.hpp"

// The approximate instructions (PTX ISA 9.0, sections 9.7.3 and 9.7.4). The ISA says how far from the exact value a
// result may be, not what it is, so there are two readings: the nearest result, and any result within the documented
// error, picked by a seed. A kernel has to be right under both. Zeros, infinities and NaN are as the ISA's tables have
// them in either.
namespace assay::ptx {

enum class Function : std::uint8_t { ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh };

/// The exact value to 1 ulp of double (math.hpp).
inline double exact(Function f, double x) {
  switch (f) {
    case Function::ex2:
      return math::exp2(x);
    case Function::lg2:
      return math::log2(x);
    case Function::rcp:
      return 1 / x;
    case Function::rsqrt:
      return 1 / math::sqrt(x);
    case Function::sqrt:
      return math::sqrt(x);
    case Function::sin:
      return math::sin(x);
    case Function::cos:
      return math::cos(x);
    default:
      return math::tanh(x);
  }
}

/// How far a result of an f32 form may be from the exact value y of f(x).
inline double documented_error(Function f, double x, double y) {
  constexpr double two_pi = 6.283185307179586;
  const double size = std::fabs(y), ulp_of_y = ulp(formats::fp32, y);
  switch (f) {
    case Function::ex2:
      return 2 * ulp_of_y;
    case Function::lg2:  // absolute near 1, where the logarithm is small
      return x > 0.5 && x < 2 ? 0x1p-22 : size * 0x1p-22;
    case Function::rcp:
      return ulp_of_y;
    case Function::rsqrt:
      return size * 0x1.125fbee25066p-23;  // 2^-22.9
    case Function::sqrt:
      return size * 0x1p-23;
    case Function::sin:
    case Function::cos:
      if (std::fabs(x) <= two_pi) return 0x1.6a09e667f3bcdp-21;      // 2^-20.5
      if (std::fabs(x) <= 50 * two_pi) return 0x1.3b2c47bff832p-15;  // 2^-14.7
      return 2;                                                      // none: anywhere in [-1, 1]
    default:
      return size * 0x1p-11;
  }
}

/// Which reading. The pick depends on the seed and the operands alone: a call made twice gives the same.
struct Approximation {
  bool adversarial = false;
  std::uint64_t seed = 0;
};

/// A number in [-1, 1] by the seed, what is computed and the operands; an end in one of four.
inline double pick(const Approximation& how, int what, std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = how.seed;
  for (std::uint64_t word : {static_cast<std::uint64_t>(what), a, b}) {  // splitmix64
    z += word + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  if ((z & 3) == 0) return (z & 4) != 0 ? 1 : -1;
  return static_cast<double>(static_cast<std::int64_t>(z) >> 11) * 0x1p-52;
}

/// The f32 nearest to y, or under an adversary one within `error` of it.
inline float within(double y, double error, const Approximation& how, int what, std::uint64_t a, std::uint64_t b) {
  const float nearest = static_cast<float>(y);
  if (!how.adversarial || !std::isfinite(nearest) || y == 0) return nearest;
  const auto x = static_cast<float>(y + pick(how, what, a, b) * error);
  return std::isfinite(x) && std::fabs(static_cast<double>(x) - y) <= error ? x : nearest;
}

inline float approximate(Function f, float a, const Modifiers& m, const Approximation& how = {}) {
  a = operand(a, m);
  const double x = static_cast<double>(a), y = exact(f, x);
  const bool special = a == 0 || !std::isfinite(a);  // of these the ISA's tables say the result
  float d =
      special ? static_cast<float>(y) : within(y, documented_error(f, x, y), how, static_cast<int>(f), bits(a), 0);
  if (f == Function::sin || f == Function::cos) d = max(-1.0F, min(1.0F, d, true), true);
  return finished(d, m);
}

/// div.approx.f32: 2 ulp for |b| in [2^-126, 2^126]. Larger ones, of which the reciprocal is subnormal, give 0, and NaN
/// of an infinite a.
inline float div_approx(float a, float b, const Modifiers& m, const Approximation& how = {}) {
  a = operand(a, m), b = operand(b, m);
  const double q = static_cast<double>(a) / static_cast<double>(b);
  if (std::fabs(b) > 0x1p126F && std::isfinite(b)) return finished(a * std::copysign(0.0F, b), m);
  const bool special = a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b);
  return finished(special ? static_cast<float>(q) : within(q, 2 * ulp(formats::fp32, q), how, 16, bits(a), bits(b)), m);
}
/// div.full.f32: 2 ulp everywhere.
inline float div_full(float a, float b, const Modifiers& m, const Approximation& how = {}) {
  a = operand(a, m), b = operand(b, m);
  const double q = static_cast<double>(a) / static_cast<double>(b);
  const bool special = a == 0 || b == 0 || !std::isfinite(a) || !std::isfinite(b);
  return finished(special ? static_cast<float>(q) : within(q, 2 * ulp(formats::fp32, q), how, 17, bits(a), bits(b)), m);
}

/// ex2 and tanh of f16 and bf16 codes: 2^-9.9 and 2^-7 relative, 2^-10.987 and 2^-8 absolute.
inline std::uint16_t half_approximate(Function f, const Format& h, std::uint32_t a, const Modifiers& m,
                                      const Approximation& how = {}) {
  const double x = half_operand(h, a, m), y = exact(f, x);
  const std::uint16_t nearest = half_result(h, y, m);
  if (!how.adversarial || x == 0 || !std::isfinite(x) || !std::isfinite(half_value(h, nearest))) return nearest;
  const bool wide = h.exponent_bits == 5;  // f16
  const double error = f == Function::ex2 ? std::fabs(y) * (wide ? 0x1.125fbee25066p-10 : 0x1p-7)
                       : wide             ? 0x1.025135375699p-11
                                          : 0x1p-8;
  const std::uint16_t d = half_result(h, y + pick(how, static_cast<int>(f), a, h.exponent_bits) * error, m);
  return std::fabs(half_value(h, d) - y) <= error ? d : nearest;
}

inline float ex2(float a, const Modifiers& m) { return approximate(Function::ex2, a, m); }
inline float lg2(float a, const Modifiers& m) { return approximate(Function::lg2, a, m); }
inline float rsqrt(float a, const Modifiers& m) { return approximate(Function::rsqrt, a, m); }
inline float sin(float a, const Modifiers& m) { return approximate(Function::sin, a, m); }
inline float cos(float a, const Modifiers& m) { return approximate(Function::cos, a, m); }
inline float tanh(float a, const Modifiers& m) { return approximate(Function::tanh, a, m); }

}  // namespace assay::ptx

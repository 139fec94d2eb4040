#pragma once
#include "reference/ptx/floating.hpp"

// Arithmetic of f16 and bf16 (PTX ISA 9.0, section 9.7.4) on codes: Format is formats::fp16 or formats::bf16. The
// packed forms f16x2 and bf16x2 do the same to either half.
namespace assay::ptx {

/// The value of a code of f16 and of bf16; both are floats exactly. The bits of f16, moved to the place of a float's,
/// are its value times 2^-112.
inline float f16_value(std::uint32_t code) {
  const std::uint32_t sign = (code & 0x8000) << 16, rest = (code & 0x7fff) << 13;
  const float x = (code & 0x7c00) == 0x7c00 ? f32(rest | 0x7f800000) : f32(rest) * 0x1p112F;
  return f32(sign | std::bit_cast<std::uint32_t>(x));
}
inline float bf16_value(std::uint32_t code) { return f32(code << 16); }

/// The code of x, which is exact or to odd.
inline std::uint16_t to_half(const Format& f, double x, Round round = Round::nearest_even) {
  if (x != x) return nan_f16;
  return static_cast<std::uint16_t>(encode(f, x, round, Overflow::infinity_or_nan));
}

inline double half_value(const Format& f, std::uint32_t code) {
  return static_cast<double>(f.exponent_bits == 8 ? bf16_value(code & 0xffff) : f16_value(code & 0xffff));
}
/// An operand, flushed by .ftz.
inline double half_operand(const Format& f, std::uint32_t code, const Modifiers& m) {
  const double x = half_value(f, code);
  return m.ftz && std::fabs(x) < f.min_normal() ? std::copysign(0.0, x) : x;
}
/// A result: rounded, flushed, then .sat and .relu, which take no further rounding.
inline std::uint16_t half_result(const Format& f, double x, const Modifiers& m) {
  const std::uint16_t code = to_half(f, x);
  if (code == nan_f16) return m.sat ? std::uint16_t{0} : code;
  Modifiers limits = m;
  limits.ftz = false;
  return to_half(f, finished(half_operand(f, code, m), limits));
}

inline std::uint16_t half_add(const Format& f, std::uint32_t a, std::uint32_t b, const Modifiers& m) {
  return half_result(f, add_odd(half_operand(f, a, m), half_operand(f, b, m)), m);
}
inline std::uint16_t half_sub(const Format& f, std::uint32_t a, std::uint32_t b, const Modifiers& m) {
  return half_result(f, add_odd(half_operand(f, a, m), -half_operand(f, b, m)), m);
}
inline std::uint16_t half_mul(const Format& f, std::uint32_t a, std::uint32_t b, const Modifiers& m) {
  return half_result(f, half_operand(f, a, m) * half_operand(f, b, m), m);
}
inline std::uint16_t half_fma(const Format& f, std::uint32_t a, std::uint32_t b, std::uint32_t c, const Modifiers& m) {
  return half_result(f, fma_odd(half_operand(f, a, m), half_operand(f, b, m), half_operand(f, c, m)), m);
}
inline std::uint16_t half_neg(const Format& f, std::uint32_t a, const Modifiers& m) {
  return half_result(f, -half_operand(f, a, m), m);
}
inline std::uint16_t half_abs(const Format& f, std::uint32_t a, const Modifiers& m) {
  return half_result(f, std::fabs(half_operand(f, a, m)), m);
}
inline std::uint16_t half_min(const Format& f, std::uint32_t a, std::uint32_t b, bool nan, const Modifiers& m) {
  return half_result(f, min(half_operand(f, a, m), half_operand(f, b, m), nan), m);
}
inline std::uint16_t half_max(const Format& f, std::uint32_t a, std::uint32_t b, bool nan, const Modifiers& m) {
  return half_result(f, max(half_operand(f, a, m), half_operand(f, b, m), nan), m);
}

}  // namespace assay::ptx

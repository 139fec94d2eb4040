#pragma once
#include <cmath>
#include <cstdint>

#include "reference/ptx/half.hpp"

// One element of D = A B + C as a tensor core adds it up. PTX leaves order and precision open, so there are three
// readings, and a kernel has to be right under all of them: the exact sum, rounded once (this project's definition); a
// chain of fma in f32; a model of each architecture's hardware. a and b are n values of a row and a column; products of
// two formats of at most 24 bits are exact in double.
namespace assay::ptx {

/// c + sum_k a_k b_k exactly, to odd: rounds once to f32 and narrower. Infinities and NaN as in IEEE 754.
inline double dot_odd(const double* a, const double* b, int n, double c) {
  // As long as no addition in double loses anything, and that is nearly always so, the sum is exact.
  double s = c, lost = 0;
  for (int k = 0; k < n; ++k) {
    const double x = a[k] * b[k], t = s + x, part = t - s;
    lost += std::fabs((s - (t - part)) + (x - part));
    s = t;
  }
  if (lost == 0 || !std::isfinite(s)) return s;  // finite products of 24 bits do not overflow
  ExactFloat exact;
  exact.add(c);
  for (int k = 0; k < n; ++k) exact.add_product(a[k], b[k]);
  return exact.to_odd();
}
inline float dot_exact(const double* a, const double* b, int n, float c) {
  return static_cast<float>(dot_odd(a, b, n, static_cast<double>(c)));
}
inline std::uint16_t dot_exact_f16(const double* a, const double* b, int n, std::uint32_t c) {
  return to_half(formats::fp16, dot_odd(a, b, n, static_cast<double>(f16_value(c))));
}

/// ((c + a_0 b_0) + a_1 b_1) + ..., each step an fma in f32.
inline float dot_chain(const double* a, const double* b, int n, float c) {
  for (int k = 0; k < n; ++k) c = fma(static_cast<float>(a[k]), static_cast<float>(b[k]), c);
  return c;
}
/// The same in f64: what mma does there, in order of k.
inline double dot_f64(const double* a, const double* b, int n, double c) {
  for (int k = 0; k < n; ++k) c = std::fma(a[k], b[k], c);
  return c;
}
/// Integers: modulo 2^32, or with .satfinite the nearest s32 of the whole sum.
inline std::int32_t dot_integer(const std::int32_t* a, const std::int32_t* b, int n, std::int32_t c, bool satfinite) {
  std::int64_t s = c;
  for (int k = 0; k < n; ++k) s += std::int64_t{a[k]} * b[k];
  if (satfinite) s = s < INT32_MIN ? INT32_MIN : s > INT32_MAX ? INT32_MAX : s;
  return static_cast<std::int32_t>(s);
}

enum class Architecture : std::uint8_t { volta, turing, ampere, ada, hopper, blackwell, rtx_blackwell };

/// Hardware by MMA-Sim (arXiv 2511.10909): K is cut into steps of `step` elements. A step is one fused sum: all terms
/// are cut towards zero at 2^(e-F), e the largest exponent among them, and added as integers; the result is cut to f32
/// of `output` fraction bits (or rounded to nearest even in f16) and is the c of the next step.
struct Fused {
  int fraction;  // F
  int step;
  int output = 23;
};
/// For elements of `bits` bits; wgmma differs from mma on Hopper in fp8, where the hardware of mma.sync is not known.
constexpr Fused fused(Architecture arch, int bits, bool wgmma = false) {
  const int bytes = arch == Architecture::volta ? 8 : arch <= Architecture::ada ? 16 : 32;
  const int fraction = arch == Architecture::volta ? 23 : arch <= Architecture::ada ? 24 : 25;
  const bool short_sums = bits == 8 && (arch == Architecture::ada || (arch == Architecture::hopper && wgmma));
  return {short_sums ? 13 : fraction, 8 * bytes / bits, short_sums ? 13 : 23};
}

/// The exponent of x in a format whose subnormal numbers have the exponent emin.
inline int exponent_of(double x, int emin) {
  const int e = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
  return e < emin ? emin : e;
}
/// x without what lies below `fraction` bits of f32; 2^128 and more are infinite.
inline float cut_to_f32(double x, int fraction) {
  if (!std::isfinite(x)) return static_cast<float>(x);
  const int last = exponent_of(x, -126) - fraction;
  return static_cast<float>(std::trunc(x * pow2(-last)) * pow2(last));
}

/// One step: the exact value of what is kept of c + sum_k p_k, where p_k has the exponent e_k: for products the sum of
/// those of the factors, not that of the normalised product; for zeros -126. emin_c: of the format of c.
inline double fused_sum(const double* p, const int* e_of_p, int n, double c, int emin_c, int fraction) {
  double plain = c;
  int e = c == 0 ? -126 : exponent_of(c, emin_c);
  for (int k = 0; k < n; ++k) {
    plain += p[k];
    const int of_p = p[k] == 0 ? -126 : e_of_p[k];
    e = of_p > e ? of_p : e;
  }
  if (!std::isfinite(plain)) return plain;
  // s = trunc(c / 2^(e-F)) + sum_k trunc(p_k / 2^(e-F))
  const double unit = pow2(fraction - e);
  double s = std::trunc(c * unit);
  for (int k = 0; k < n; ++k) s += std::trunc(p[k] * unit);
  return s / unit;
}
/// The same of products of at most 32 elements, whose formats have the least exponents emin_a and emin_b.
inline double fused_dot(const double* a, const double* b, int n, double c, int emin_a, int emin_b, int emin_c,
                        int fraction) {
  double p[32];
  int e[32];
  for (int k = 0; k < n; ++k) {
    p[k] = a[k] * b[k];
    e[k] = exponent_of(a[k], emin_a) + exponent_of(b[k], emin_b);
  }
  return fused_sum(p, e, n, c, emin_c, fraction);
}
inline float dot_hardware(const double* a, const double* b, int n, float c, int emin_a, int emin_b, const Fused& h) {
  for (int k = 0; k < n; k += h.step) {
    const int m = n - k < h.step ? n - k : h.step;
    c = cut_to_f32(fused_dot(a + k, b + k, m, static_cast<double>(c), emin_a, emin_b, -126, h.fraction), h.output);
  }
  return c;
}
inline std::uint16_t dot_hardware_f16(const double* a, const double* b, int n, std::uint32_t c, int emin_a, int emin_b,
                                      const Fused& h) {
  for (int k = 0; k < n; k += h.step) {
    const int m = n - k < h.step ? n - k : h.step;
    const double s = fused_dot(a + k, b + k, m, static_cast<double>(f16_value(c)), emin_a, emin_b, -14, h.fraction);
    c = to_half(formats::fp16, s);
  }
  return static_cast<std::uint16_t>(c);
}

}  // namespace assay::ptx

#include <array>
#include <cmath>

#include "reference/core/readings/wide.hpp"

// exp, exp2 and log by argument reduction and their own series, independent of the functions of `double` that they
// check.
namespace assay {
namespace {

// ln 2 rounded to two words, and to three of which the first has 39 bits: its product with an exponent is exact.
const Wide ln2(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);
constexpr double ln2_1 = 0x1.62e42fefa4p-1, ln2_2 = -0x1.8432a1b0e2634p-43, ln2_3 = 0x1.f97b57a079a19p-103;

Wide scale(const Wide& x, int e) {
  const double hi = std::ldexp(x.hi, e);
  if (!std::isfinite(hi)) return hi;
  return Wide(hi) + Wide(std::ldexp(x.lo, e));
}

/// c[0] + c[1] x + ... by Horner.
template <std::size_t n>
Wide polynomial(const std::array<Wide, n>& c, const Wide& x) {
  Wide p = c[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) p = p * x + c[i];
  return p;
}

/// e^r for |r| <= 0.35: Taylor; the first term left out is 0.35^25 / 25! < 2^-121.
Wide exp_reduced(const Wide& r) {
  static const std::array<Wide, 25> inverse_factorial = [] {
    std::array<Wide, 25> c;
    c[0] = 1.0;
    for (std::size_t i = 1; i < c.size(); ++i) c[i] = c[i - 1] / static_cast<double>(i);
    return c;
  }();
  return polynomial(inverse_factorial, r);
}

/// e^r - 1 for |r| <= 0.35, relative to itself.
Wide expm1_reduced(const Wide& r) {
  static const std::array<Wide, 24> coefficients = [] {
    std::array<Wide, 24> c;
    c[0] = 1.0;
    for (std::size_t i = 1; i < c.size(); ++i) c[i] = c[i - 1] / static_cast<double>(i + 1);
    return c;
  }();
  return r * polynomial(coefficients, r);
}

/// 2 artanh(s) = log((1 + s) / (1 - s)) for |s| <= 0.172; the first term left out is 2 s^49 / 49 < 2^-128 s.
Wide two_artanh(const Wide& s) {
  static const std::array<Wide, 24> coefficients = [] {
    std::array<Wide, 24> c;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = Wide(2.0) / static_cast<double>(2 * i + 1);
    return c;
  }();
  return s * polynomial(coefficients, s * s);
}

}  // namespace

Wide exp(const Wide& x) {
  if (x.hi != x.hi) return x.hi;
  if (x.hi > 710) return __builtin_huge_val();
  if (x.hi < -746) return 0.0;
  const double k = std::floor(x.hi * 0x1.71547652b82fep+0 + 0.5);  // nearest integer to x / ln 2
  const Wide product(k * ln2_2, std::fma(k, ln2_2, -(k * ln2_2)));
  const Wide r = ((x - Wide(k * ln2_1)) - product) - Wide(k * ln2_3);
  return scale(exp_reduced(r), static_cast<int>(k));
}

Wide exp2(const Wide& x) {
  if (x.hi != x.hi) return x.hi;
  if (x.hi > 1025) return __builtin_huge_val();
  if (x.hi < -1076) return 0.0;
  const double k = std::floor(x.hi + 0.5);
  return scale(exp_reduced((x - Wide(k)) * ln2), static_cast<int>(k));
}

Wide tanh(const Wide& x) {
  if (x.hi != x.hi || x.hi == 0) return x.hi;
  if (x.hi < 0) return -tanh(-x);
  if (x.hi > 40) return 1.0;  // 1 - tanh x < 2^-114
  // (e^(2x) - 1) / (e^(2x) + 1)
  if (x.hi > 0.17) return (exp(x + x) - 1.0) / (exp(x + x) + 1.0);
  const Wide e = expm1_reduced(x + x);
  return e / (e + 2.0);
}

Wide log(const Wide& x) {
  if (x.hi == 0) return -__builtin_huge_val();
  if (x.hi < 0) return __builtin_nan("");
  if (!std::isfinite(x.hi)) return x.hi;
  int e = 0;
  const double m = std::frexp(x.hi, &e);  // [1/2, 1)
  if (m < 0x1.6a09e667f3bcdp-1) --e;      // to [sqrt 1/2, sqrt 2): then e ln 2 never cancels against the rest
  const Wide y = scale(x, -e);
  return Wide(e) * ln2 + two_artanh((y - 1.0) / (y + 1.0));
}

}  // namespace assay

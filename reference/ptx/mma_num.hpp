#pragma once
#include <cmath>
#include <cstdint>

#include "reference/ptx/half.hpp"

// What a tensor core adds up. PTX says neither the order nor the precision, so there are three readings, and a kernel
// has to be right under all: the exact sum rounded once (this project's definition), a chain of fma in f32, and a model
// of hardware.
namespace assay::ptx {

/// c + sum_k a_k b_k, rounded once to f32. Products of a and b are exact in double (24 bits each at most, exponents
/// within those of bf16 and f32).
inline float dot_exact(const double* a, const double* b, int n, float c) {
  // The terms as an expansion: doubles that do not overlap and whose sum is exact (Shewchuk 1997).
  double part[64];
  int parts = 0;
  const auto add = [&](double x) {
    int kept = 0;
    for (int i = 0; i < parts; ++i) {
      const double s = x + part[i], t = s - x, e = (x - (s - t)) + (part[i] - t);
      if (e != 0) part[kept++] = e;
      x = s;
    }
    part[kept++] = x;
    parts = kept;
  };
  double plain = static_cast<double>(c);
  add(plain);
  for (int k = 0; k < n; ++k) {
    plain += a[k] * b[k];
    if (std::isfinite(plain)) add(a[k] * b[k]);
  }
  if (!std::isfinite(plain))
    return static_cast<float>(plain);  // products are finite or make it so: Inf and NaN are exact
  // Largest last: adding from below to odd keeps what is lost as a sticky bit.
  double sum = 0;
  for (int i = 0; i < parts; ++i) sum = add_odd(sum, part[i]);
  return sum == 0 ? static_cast<float>(plain) : static_cast<float>(sum);
}

/// The same by one addition after another in double, where every one of them is exact; false where one is not.
inline bool dot_if_exact(const double* a, const double* b, int n, float c, float& d) {
  double s = static_cast<double>(c), lost = 0;
  for (int k = 0; k < n; ++k) {
    const double x = a[k] * b[k], t = s + x, part = t - s;
    lost += std::fabs((s - (t - part)) + (x - part));
    s = t;
  }
  d = static_cast<float>(s);
  return lost == 0;
}

/// ((c + a_0 b_0) + a_1 b_1) + ..., each an fma in f32.
inline float dot_chain(const double* a, const double* b, int n, float c) {
  for (int k = 0; k < n; ++k) c = fma(static_cast<float>(a[k]), static_cast<float>(b[k]), c);
  return c;
}

}  // namespace assay::ptx

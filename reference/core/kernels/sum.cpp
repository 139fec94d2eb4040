#include "reference/core/kernels/parts.h"

// The compensated sum of groups of four in sixteen lanes; reference/core/kernels.hpp defines it.

namespace ASSAY_ISA {
namespace {

constexpr int LANES = 16, VECTORS = LANES / W, GROUP = 4 * LANES, CHUNK = 512;

struct Sum {
  Vec sum[VECTORS], error[VECTORS];
  Sum() {
    for (int v = 0; v < VECTORS; ++v) sum[v] = error[v] = broadcast(0.0);
  }
  // s + x = new s + e exactly (Knuth); e joins the lane's errors. Where there is FMA hardware, some of the additions go
  // to it as 1 * a + b: the same bits from units that would idle.
  void add(int v, Vec x) {
    const Vec s = sum[v], t = s + x, part = t - s;
    error[v] += plus(s - minus(t, part), minus(x, part));
    sum[v] = t;
  }
#if defined(ASSAY_KERNELS_BASE)
  static Vec plus(Vec a, Vec b) { return a + b; }
  static Vec minus(Vec a, Vec b) { return a - b; }
#else
  static Vec plus(Vec a, Vec b) { return fma(a, broadcast(1.0), b); }
  static Vec minus(Vec a, Vec b) { return fma(b, broadcast(-1.0), a); }
#endif
  double total() const {
    double s[LANES], e[LANES];
    for (int v = 0; v < VECTORS; ++v) {
      store(s + v * W, sum[v]);
      store(e + v * W, error[v]);
    }
    for (int half = LANES / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) {
        const double a = s[l], b = s[l + half], t = a + b, part = t - a;
        e[l] = (e[l] + e[l + half]) + ((a - (t - part)) + (b - part));
        s[l] = t;
      }
    // Infinities and NaNs of the terms are in the sum; the errors of such a lane are NaN and say nothing.
    return e[0] - e[0] == 0.0 ? s[0] + e[0] : s[0];
  }
};

struct Itself {
  const double* x;
  Vec vector(int64_t i) const { return load(x + i); }
  double one(int64_t i) const { return x[i]; }
};
struct Square {
  const double* x;
  Vec vector(int64_t i) const { return load(x + i) * load(x + i); }
  double one(int64_t i) const { return x[i] * x[i]; }
};
struct Product {
  const double *x, *y;
  Vec vector(int64_t i) const { return load(x + i) * load(y + i); }
  double one(int64_t i) const { return x[i] * y[i]; }
};
// Adds n terms, the first of which begins a group. A last group is filled up with +0.
template <class Terms>
ASSAY_INLINE void add_group(Sum& s, const Terms& terms, int64_t i) {
  for (int v = 0; v < VECTORS; ++v) {
    const int64_t at = i + v * W;
    s.add(v, (terms.vector(at) + terms.vector(at + LANES)) +
                 (terms.vector(at + 2 * LANES) + terms.vector(at + 3 * LANES)));
  }
}
template <class Terms>
ASSAY_INLINE void add_terms(Sum& sum, const Terms& terms, int64_t n) {
  Sum s = sum;
  int64_t i = 0;
  for (; i + GROUP <= n; i += GROUP) add_group(s, terms, i);
  if (i < n) {
    double rest[GROUP] = {};
    for (int l = 0; i + l < n; ++l) rest[l] = terms.one(i + l);
    add_group(s, Itself{rest}, 0);
  }
  sum = s;
}

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace

double sum(const double* x, int64_t n, int64_t stride) {
  Sum s;
  if (stride == 1) {
    add_terms(s, Itself{x}, n);
    return s.total();
  }
  double dense[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t some = least(CHUNK, n - i);
    for (int64_t j = 0; j < some; ++j) dense[j] = x[(i + j) * stride];
    add_terms(s, Itself{dense}, some);
  }
  return s.total();
}

double sum_squares(const double* x, int64_t n, int64_t stride) {
  if (stride != 1) return sum_products(x, stride, x, stride, n);
  Sum s;
  add_terms(s, Square{x}, n);
  return s.total();
}

double sum_products(const double* x, int64_t x_stride, const double* y, int64_t y_stride, int64_t n) {
  Sum s;
  if (x_stride == 1 && y_stride == 1) {
    add_terms(s, Product{x, y}, n);
    return s.total();
  }
  double dense[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t some = least(CHUNK, n - i);
    for (int64_t j = 0; j < some; ++j) dense[j] = x[(i + j) * x_stride] * y[(i + j) * y_stride];
    add_terms(s, Itself{dense}, some);
  }
  return s.total();
}

double subtract_exp_sum(const double* x, double m, double* y, int64_t n) {
  Sum s;
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t some = least(CHUNK, n - i);
    subtract_exp(x + i, m, y + i, some);
    add_terms(s, Itself{y + i}, some);
  }
  return s.total();
}

}  // namespace ASSAY_ISA

#include "reference/core/kernels/parts.h"

// Element by element, at the speed of memory. Every operand of a vector is loaded before the vector is stored, so an
// output may be an input.

namespace ASSAY_ISA {
namespace {

// An operand: an array, or one value for all elements.
struct Array {
  const double* x;
  Vec vector(int64_t i) const { return load(x + i); }
  double one(int64_t i) const { return x[i]; }
};
struct Value {
  Vec v;
  explicit Value(double x) : v(broadcast(x)) {}
  Vec vector(int64_t) const { return v; }
  double one(int64_t) const { return v[0]; }
};

template <class F, class... Operands>
ASSAY_INLINE void map(double* y, int64_t n, const F& f, const Operands&... operands) {
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, f(operands.vector(i)...));
  for (; i < n; ++i) y[i] = f(operands.one(i)...);
}

}  // namespace

void center(const double* x, double m, double* y, int64_t n) {
  map(
      y, n, [](auto a, auto b) { return a - b; }, Array{x}, Value(m));
}
void scale(const double* x, double r, double* y, int64_t n) {
  map(
      y, n, [](auto a, auto b) { return a * b; }, Array{x}, Value(r));
}
void divide(const double* x, double d, double* y, int64_t n) {
  map(
      y, n, [](auto a, auto b) { return a / b; }, Array{x}, Value(d));
}
void add(const double* x, const double* y, double* z, int64_t n) {
  map(
      z, n, [](auto a, auto b) { return a + b; }, Array{x}, Array{y});
}
void subtract(const double* x, const double* y, double* z, int64_t n) {
  map(
      z, n, [](auto a, auto b) { return a - b; }, Array{x}, Array{y});
}
void multiply(const double* x, const double* y, double* z, int64_t n) {
  map(
      z, n, [](auto a, auto b) { return a * b; }, Array{x}, Array{y});
}
void scale_multiply(const double* x, double r, const double* w, double* y, int64_t n) {
  map(
      y, n, [](auto a, auto b, auto c) { return a * b * c; }, Array{x}, Value(r), Array{w});
}
void scale_multiply_add(const double* x, double r, const double* w, const double* b, double* y, int64_t n) {
  map(
      y, n, [](auto a, auto c, auto d, auto e) { return a * c * d + e; }, Array{x}, Value(r), Array{w}, Array{b});
}

double max(const double* x, int64_t n, int64_t stride) {
  double best = -__builtin_inf();
  bool nan = false;
  int64_t i = 0;
  if (stride == 1 && n >= 4 * W) {
    Vec most[4];
    decltype(most[0] != most[0]) unordered[4] = {};
    for (int v = 0; v < 4; ++v) most[v] = broadcast(best);
    for (; i + 4 * W <= n; i += 4 * W)
      for (int v = 0; v < 4; ++v) {
        const Vec next = load(x + i + v * W);
        most[v] = next > most[v] ? next : most[v];
        unordered[v] |= next != next;
      }
    for (int v = 0; v < 4; ++v)
      for (int l = 0; l < W; ++l) {
        best = most[v][l] > best ? most[v][l] : best;
        nan |= unordered[v][l] != 0;
      }
  }
  for (; i < n; ++i) {
    best = x[i * stride] > best ? x[i * stride] : best;
    nan |= x[i * stride] != x[i * stride];
  }
  if (nan) return __builtin_nan("");
  if (best == 0.0) {  // either zero: +0 if there is one, in any order
    best = -0.0;
    for (i = 0; i < n; ++i)
      if (x[i * stride] == 0.0 && !__builtin_signbit(x[i * stride])) best = 0.0;
  }
  return best;
}

}  // namespace ASSAY_ISA

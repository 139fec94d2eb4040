#pragma once
#include "reference/core/readings/bound.hpp"

namespace assay {

/// A value and its derivative along one direction, each with its own rounding bound. max takes the derivative of its
/// winner.
struct Dual {
  Bound v, d;
  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: a number is a constant
  Dual(const Bound& value, const Bound& derivative) : v(value), d(derivative) {}
};

inline Dual operator+(const Dual& x, const Dual& y) { return {x.v + y.v, x.d + y.d}; }
inline Dual operator-(const Dual& x, const Dual& y) { return {x.v - y.v, x.d - y.d}; }
inline Dual operator-(const Dual& x) { return {-x.v, -x.d}; }
inline Dual operator*(const Dual& x, const Dual& y) { return {x.v * y.v, x.d * y.v + x.v * y.d}; }
inline Dual operator/(const Dual& x, const Dual& y) {
  const Bound q = x.v / y.v;
  return {q, (x.d - q * y.d) / y.v};
}
inline Dual exp(const Dual& x) {
  const Bound e = exp(x.v);
  return {e, e.v == 0 ? Bound(0) : e * x.d};
}
Dual exp2(const Dual& x);
inline Dual tanh(const Dual& x) {
  const Bound t = tanh(x.v);
  return {t, (Bound(1) - t * t) * x.d};
}
inline Dual log(const Dual& x) { return {log(x.v), x.d / x.v}; }
inline Dual sqrt(const Dual& x) {
  const Bound r = sqrt(x.v);
  return {r, x.d / (Bound(2) * r)};
}
inline Dual max(const Dual& x, const Dual& y) { return {max(x.v, y.v), x.v.v >= y.v.v ? x.d : y.d}; }

bool operator<(const Dual&, const Dual&) = delete;
bool operator>(const Dual&, const Dual&) = delete;
bool operator<=(const Dual&, const Dual&) = delete;
bool operator>=(const Dual&, const Dual&) = delete;
bool operator==(const Dual&, const Dual&) = delete;

inline double value(const Dual& x) { return x.v.v; }

}  // namespace assay

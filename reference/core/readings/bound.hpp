#pragma once
#include <cstdint>

namespace assay {

/// A value and how far an honest implementation under the reading's contract may be from it (DESIGN in
/// spec/numerics/verdict.md).
struct Bound {
  double v = 0;   // the value
  double s2 = 0;  // variance of the independent roundings
  double b = 0;   // linear worst case: directed rounding, underflow, second-order terms
  double w = 0;   // full worst case, absolute
  double c = 0;   // coefficient, in standard deviations and with its sign, of one error that many values share
  std::uint32_t symbol = 0;  // which shared error; 0 = none (then c = 0)
  // Standard deviation, contained in s2, of errors whose symbol had to give way to another: of one element they are
  // independent, of many they may still be shared.
  float folded = 0;

  Bound() = default;
  Bound(double value) : v(value) {}  // NOLINT: a number is an exact bound
  double variance() const { return s2 + c * c; }
  /// min(w, b + z sqrt(variance)) with the reading's z: the largest distance that is accepted.
  double allowed() const;
};

Bound operator+(const Bound& x, const Bound& y);
Bound operator-(const Bound& x, const Bound& y);
Bound operator*(const Bound& x, const Bound& y);
Bound operator/(const Bound& x, const Bound& y);
Bound operator-(const Bound& x);
Bound exp(const Bound& x);
Bound exp2(const Bound& x);
Bound log(const Bound& x);
Bound tanh(const Bound& x);
Bound sqrt(const Bound& x);
/// The larger of the two as a value: its winner may change within the errors, so b and w cover both candidates.
Bound max(const Bound& x, const Bound& y);

/// A comparison would hide a jump from the bound: decisions go through select, max, anchor, top_k.
bool operator<(const Bound&, const Bound&) = delete;
bool operator>(const Bound&, const Bound&) = delete;
bool operator<=(const Bound&, const Bound&) = delete;
bool operator>=(const Bound&, const Bound&) = delete;
bool operator==(const Bound&, const Bound&) = delete;

inline double value(const Bound& x) { return x.v; }

}  // namespace assay

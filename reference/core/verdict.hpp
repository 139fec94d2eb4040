#pragma once
#include "reference/core/format.hpp"
#include "reference/core/readings/bound.hpp"
#include "reference/core/tensor.hpp"

// The acceptance rule (page numerics.verdict): is what an implementation returned possible under its contract?
namespace assay {

/// One element. distance: of the definition's value to the reals that round to what was observed; allowed: min(w, b + z
/// sigma); z: how many sigmas of it were needed beyond b (0 inside, infinite where sigma = 0).
struct Verdict {
  double distance = 0, allowed = 0, z = 0;
  bool accepted = false;
};

/// y: the definition under the contract; observed: a value of `out`. NaN only answers NaN, an infinity only the same
/// infinity or a y whose allowance reaches the overflow threshold; a y without bound (an intermediate may overflow)
/// accepts anything.
/// @throws Error if `out` does not hold `observed`.
Verdict judge(const Bound& y, double observed, const Format& out, Round round, double z);

/// sqrt(2 ln(2N/alpha)): bounded zero-mean roundings are sub-Gaussian, P(|error| > z sigma) <= 2 exp(-z^2/2), so among
/// N elements none exceeds z sigma with probability 1 - alpha. N is a constant of a tier, so a replayed case has the
/// same verdict.
double z_of(double elements, double alpha = 1e-6);

inline constexpr double kQuickElements = 1e6, kDefaultElements = 4e7, kThoroughElements = 1e9;

/// A whole row or tensor at once: biases too small for one element.
struct Aggregate {
  double gain = 0, gain_allowed = 0;      // sum of w (o - y) along y, w = y / (variance + rounding of the output)
  double spread = 0, spread_allowed = 0;  // mean of (o - y)^2 / (variance + rounding of the output)
  Index elements = 0;                     // that took part: not exact, not at an end of the format
  bool accepted = true;
};

/// y and observed: n elements each. The elements' errors are independent but for shared symbols and equal values.
Aggregate judge_aggregate(const Bound* y, const double* observed, Index n, const Format& out, Round round, double z);

}  // namespace assay

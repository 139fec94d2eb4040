// Element by element.
#include "reference/core/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/math.hpp"
#include "reference/core/readings/bound_model.hpp"

namespace assay {

namespace {

constexpr double kInfinity = __builtin_huge_val();

/// Distance of y to the reals that round to o. An open end counts as closed: one real has no measure.
double distance_to(double y, double o, const Format& out, Round round) {
  if (std::isnan(o) || std::isnan(y)) return std::isnan(o) && std::isnan(y) ? 0 : kInfinity;
  const Interval i = preimage(out, o, round);
  if (i.lo > i.hi) return kInfinity;
  if (y >= i.lo && y <= i.hi) {
    // With no error allowed an open end matters: a tie goes to the even neighbour.
    return i.contains(y) ? 0 : 0x1p-1074;
  }
  return y < i.lo ? i.lo - y : y - i.hi;
}

}  // namespace

Verdict judge(const Bound& y, double observed, const Format& out, Round round, double z) {
  Verdict v;
  v.distance = distance_to(y.v, observed, out, round);
  v.allowed = detail::allowed(y, z);
  v.accepted = v.distance <= v.allowed;
  const double beyond = v.distance - y.b, sigma = std::sqrt(y.variance());
  v.z = !(beyond > 0) ? 0 : sigma > 0 ? beyond / sigma : kInfinity;
  return v;
}

double z_of(double elements, double alpha) { return std::sqrt(2 * math::log(2 * elements / alpha)); }

}  // namespace assay

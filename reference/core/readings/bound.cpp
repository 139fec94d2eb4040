// Bound's operators: each adds what its operands' errors become, exactly for w, to first order plus a second-order term
// in b for s2 and c, and the rounding of the result in the contract's accumulator, unless that is provably exact.
#include "reference/core/readings/bound.hpp"

#include <algorithm>

#include "reference/core/math.hpp"
#include "reference/core/readings/bound_model.hpp"

namespace assay {

using namespace detail;

double Bound::allowed() const { return detail::allowed(*this, bound_model().z); }

Bound operator-(const Bound& x) {
  Bound r = x;
  r.v = -x.v;
  r.c = -x.c;
  return r;
}

Bound operator+(const Bound& x, const Bound& y) {
  const BoundModel& m = bound_model();
  Bound r(x.v + y.v);
  if (special(r.v)) return r;
  const bool exact = errorless(x) && errorless(y);
  // Adding nothing is no operation.
  for (const Bound* zero : {&x, &y}) {
    if (!errorless(*zero) || zero->v != 0) continue;
    Bound other = zero == &x ? y : x;
    other.v = r.v;
    return other;
  }
  const double t = r.v - x.v, own = std::fabs((x.v - (r.v - t)) + (y.v - t));  // two-sum
  if (exact && own == 0 && representable(m, r.v)) return r;
  // Equal operands carry equal errors.
  r.s2 = x.v == y.v ? square(std::sqrt(x.s2) + std::sqrt(y.s2)) : x.s2 + y.s2;
  r.folded = folded(x, 1, y, 1);
  add_symbol(r, x.c, x.symbol);
  add_symbol(r, y.c, y.symbol);
  r.b = x.b + y.b + own;
  r.w = x.w + y.w + own;
  add_rounding(m, r, 1, false);
  return finish(m, r);
}

Bound operator-(const Bound& x, const Bound& y) { return x + -y; }

Bound operator*(const Bound& x, const Bound& y) {
  const BoundModel& m = bound_model();
  Bound r(x.v * y.v);
  if (special(r.v)) return r;
  if ((errorless(x) && x.v == 0) || (errorless(y) && y.v == 0))
    return std::isfinite(x.w) && std::isfinite(y.w) ? r : unbounded(r.v);
  const double own = std::fabs(std::fma(x.v, y.v, -r.v));
  const double ax = std::fabs(x.v), ay = std::fabs(y.v);
  r.s2 = x.v == y.v ? square(ay * std::sqrt(x.s2) + ax * std::sqrt(y.s2)) : square(ay) * x.s2 + square(ax) * y.s2;
  r.folded = folded(x, y.v, y, x.v);
  add_symbol(r, y.v * x.c, x.symbol);
  add_symbol(r, x.v * y.c, y.symbol);
  r.b = ay * x.b + ax * y.b + detail::allowed(x, m.z) * detail::allowed(y, m.z) + own;
  r.w = ay * x.w + ax * y.w + x.w * y.w + own;
  const bool scaling = (errorless(x) && power_of_two(x.v)) || (errorless(y) && power_of_two(y.v));
  if (scaling && own == 0 && std::fabs(r.v) - r.w >= m.min_normal) return finish(m, r);
  if (r.w == 0 && representable(m, r.v)) return r;
  add_rounding(m, r, 1, true);
  return finish(m, r);
}

Bound operator/(const Bound& x, const Bound& y) {
  const BoundModel& m = bound_model();
  Bound r(x.v / y.v);
  if (special(r.v)) return r;
  if (errorless(x) && x.v == 0) return r;
  const double ay = std::fabs(y.v), v = std::fabs(r.v);
  const double own = std::isfinite(y.v) ? std::fabs(std::fma(-r.v, y.v, x.v) / y.v) : 0;
  if (detail::allowed(y, m.z) >= ay) return unbounded(r.v);
  const double dx = detail::allowed(x, m.z) / ay, rho = detail::allowed(y, m.z) / ay;
  r.s2 = (x.s2 + square(v) * y.s2) / square(ay);
  r.folded = folded(x, 1 / y.v, y, r.v / y.v);
  add_symbol(r, x.c / y.v, x.symbol);
  add_symbol(r, -r.v * (y.c / y.v), y.symbol);
  // (x + dx)/(y + dy) - x/y = (dx - v dy)/y * (1 - dy/y + ...)
  r.b = (x.b + v * y.b) / ay + (dx + v * rho) * rho / (1 - rho) + own;
  r.w = y.w >= ay ? __builtin_huge_val() : (x.w + v * y.w) / (ay - y.w) + own;
  if (errorless(y) && power_of_two(y.v) && own == 0) {
    if (v - r.w >= m.min_normal) return finish(m, r);
    if (errorless(x) && representable(m, r.v)) return r;
  }
  add_rounding(m, r, 2, true);  // as a reciprocal and a product
  return finish(m, r);
}

namespace {

/// At least e^x - 1 - x, for x >= 0.
double beyond_linear(double x) { return x < 1 ? x * x / 2 / (1 - x / 3) : math::expm1(x); }
/// At least -ln(1 - x) - x, for 0 <= x < 1.
double log_beyond_linear(double x) { return x * x / 2 / (1 - x); }

/// f(x) = e^(x k), k = 1 or ln 2.
Bound exponential(const Bound& x, double v, double k) {
  const BoundModel& m = bound_model();
  Bound r(v);
  if (special(v) || special(x.v)) return r;
  if (errorless(x) && x.v == 0) return r;
  const double a = k * detail::allowed(x, m.z), w = k * x.w;
  const double own = 0x1p-52 * v + 0x1p-1074;  // 1 ulp
  r.s2 = square(v) * (square(k) * x.s2 + square(m.exp_error));
  add_symbol(r, v * k * x.c, x.symbol);
  r.b = v * k * x.b + v * beyond_linear(a) + own;
  r.w = v * ((w + beyond_linear(w)) * (1 + m.exp_error) + m.exp_error) + own;
  if (v < 0x1p-1000) {  // relative errors say nothing about a value that double has lost
    r.b += math::exp(k * x.v + a) * (1 + m.exp_error);
    r.w += math::exp(k * x.v + w) * (1 + m.exp_error);
  }
  // Below the normal range results may be flushed to zero.
  if (v - detail::allowed(r, m.z) < m.min_normal) r.b += std::min(v + detail::allowed(r, m.z), m.min_normal);
  if (v - r.w < m.min_normal) r.w += m.min_normal;
  return finish(m, r);
}

}  // namespace

Bound exp(const Bound& x) { return exponential(x, math::exp(x.v), 1); }

Bound exp2(const Bound& x) { return exponential(x, math::exp2(x.v), 0.69314718055994531); }

Bound log(const Bound& x) {
  const BoundModel& m = bound_model();
  Bound r(math::log(x.v));
  if (special(r.v)) return r;
  if (errorless(x) && x.v == 1) return r;
  const double rho = detail::allowed(x, m.z) / x.v, rho_w = x.w / x.v, v = std::fabs(r.v);
  if (rho >= 1) return unbounded(r.v);
  const double own = 0x1p-52 * v;
  r.s2 = x.s2 / square(x.v) + square(m.log_error * v);
  add_symbol(r, x.c / x.v, x.symbol);
  r.b = x.b / x.v + log_beyond_linear(rho) + own;
  r.w = rho_w >= 1 ? __builtin_huge_val() : rho_w + log_beyond_linear(rho_w);
  r.w += m.log_error * (v + r.w) + own;
  return finish(m, r);
}

Bound tanh(const Bound& x) {
  const BoundModel& m = bound_model();
  Bound r(math::tanh(x.v));
  if (special(x.v) || (errorless(x) && x.v == 0)) return r;
  // 1 - tanh(y)^2 at the |y| = at least |x| - reach that is nearest to 0: no slope within reach of x is steeper
  const auto slope = [&x](double reach) {
    const double e = math::exp(-2 * std::max(0.0, std::fabs(x.v) - reach));
    return std::min(1.0, 4 * e / square(1 + e) * (1 + 8 * kOwn));
  };
  const double a = detail::allowed(x, m.z), v = std::fabs(r.v), here = slope(0);
  const double own = 0x1p-52 * v + 0x1p-1074, eps = m.tanh_error;  // 1 ulp
  r.s2 = square(here) * x.s2;
  r.folded = here * x.folded;
  add_symbol(r, here * x.c, x.symbol);
  // |f''| = 2 |f| f' is at most 0.77, and at most 2 f'. An approximation errs smoothly, so arguments near each other
  // err the same way: eps belongs to b.
  r.b = here * x.b + std::min(0.385, slope(a)) * a * a + eps * (v + slope(a) * a) + own;
  const double far = slope(x.w) * x.w;
  r.w = (far + eps * (v + far)) * (1 + 0x1p-40) + own;
  if (v - r.w < m.min_normal) {  // may be flushed to zero
    r.b += std::min(v + detail::allowed(r, m.z), m.min_normal);
    r.w += m.min_normal;
  }
  return finish(m, r);
}

Bound sqrt(const Bound& x) {
  const BoundModel& m = bound_model();
  Bound r(math::sqrt(x.v));
  if (special(r.v)) return r;
  if (x.v == 0) {
    if (errorless(x)) return r;
    r.b = math::sqrt(detail::allowed(x, m.z));
    r.w = math::sqrt(x.w);
    add_rounding(m, r, 1, false);
    return finish(m, r);
  }
  const double own = std::fabs(std::fma(-r.v, r.v, x.v)) / (2 * r.v) * (1 + 0x1p-20);
  if (errorless(x) && own == 0 && representable(m, r.v)) return r;
  const double rho = std::min(1.0, detail::allowed(x, m.z) / x.v);
  r.s2 = x.s2 / (4 * x.v);
  add_symbol(r, x.c / (2 * r.v), x.symbol);
  // |sqrt(1 + t) - 1 - t/2| <= t^2/2 for |t| <= 1; |sqrt(x + d) - sqrt(x)| <= |d| / sqrt(x)
  r.b = x.b / (2 * r.v) + r.v * rho * rho / 2 + own;
  r.w = std::max(r.v - math::sqrt(std::max(0.0, x.v - x.w)), math::sqrt(x.v + x.w) - r.v) + 2 * kOwn * r.v + own;
  add_rounding(m, r, 1, false);
  return finish(m, r);
}

Bound max(const Bound& x, const Bound& y) {
  if (x.v != x.v) return x;
  if (y.v != y.v) return y;
  const Bound& win = x.v >= y.v ? x : y;
  const Bound& lose = x.v >= y.v ? y : x;
  Bound r = win;
  if (special(win.v) || special(lose.v)) return r;
  const double z = bound_model().z;
  r.b += std::max(0.0, lose.v + detail::allowed(lose, z) - win.v);
  r.w = std::max(r.w, lose.v + lose.w - win.v);
  return r;
}

}  // namespace assay

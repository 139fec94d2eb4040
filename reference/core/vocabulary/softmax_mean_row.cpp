#include "reference/core/vocabulary/softmax_mean_row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"

namespace assay::detail {

namespace {

constexpr double kInfinity = __builtin_huge_val();

void clear(MeanRow& r) {
  for (Numbers* x : {&r.s, &r.e, &r.p, &r.q, &r.eta, &r.approximate, &r.linear, &r.deviation, &r.met, &r.worst,
                     &r.second, &r.store, &r.inherited_c, &r.drift})
    x->clear();
  r.at.clear();
  r.symbol.clear();
  r.order.clear();
  r.group_end.clear();
  r.rises.clear();
  r.falls.clear();
  r.repeats = r.special = r.unbounded = false;
  r.exact_logits = r.ones = true;
  r.lone = {};
  r.sum = r.key_sum = {};
  r.p_sink = r.sink_eta = r.sink_worst = r.sink_linear = 0;
}

/// Entries by logit.
void group(MeanRow& r) {
  r.order.resize(static_cast<std::size_t>(r.n));
  std::iota(r.order.begin(), r.order.end(), Index{0});
  const auto logit = [&](Index k) { return r.s[static_cast<std::size_t>(k)]; };
  std::stable_sort(r.order.begin(), r.order.end(), [&](Index a, Index b) { return logit(a) < logit(b); });
  for (Index k = 1; k <= r.n; ++k)
    if (k == r.n || logit(r.order[static_cast<std::size_t>(k)]) != logit(r.order[static_cast<std::size_t>(k - 1)]))
      r.group_end.push_back(k);
  r.repeats = static_cast<Index>(r.group_end.size()) < r.n;
}

/// Relative error of exp(s - shift) by its argument and by exp. variance: of the rounding of a number of size 1.
struct Weight {
  double eta, approximate, worst;
};
Weight weight(const BoundModel& m, double s, double d, double w, double slack, double size, double widest, bool exact) {
  const bool fma = m.contract->exponent == Exponent::fma;
  // d is rounded, and multiplied by a rounded constant where the base is 2; products s c and m c are rounded in fma
  // form
  const double a = std::fabs(d) + slack;
  Weight x{m.variance * (2 * square(a) + (fma ? square(s) : 0)), exact ? 0 : m.exp_error, 0};
  x.eta += square(x.approximate);
  x.worst = w + 4 * m.u * (a + w + widest) + (fma ? 2 * m.u * (std::fabs(s) + size + 2 * widest) : 0);
  return x;
}

/// Where tiles end, and what the factor of a rescale or a merge there is worth.
void find_boundaries(const BoundModel& m, const Passage& way, MeanRow& r) {
  const auto n = static_cast<std::size_t>(r.n);
  r.drift.assign(n, 0);
  r.rises.assign(n, 0);
  r.falls.assign(n, 0);
  r.met.assign(n, r.top);
  r.merge = 0;
  if (!way.several || n < 2) return;
  const double ln = math::log(static_cast<double>(n) + 1), reach = r.size + ln;
  r.merge = way.splits > 1 ? square(m.exp_error) + 4 * m.variance * square(reach) + square(m.log_error * ln) : 0;
  const auto tile = [&](std::size_t k) { return r.at[k] / way.tile; };
  double used = -kInfinity, top = -kInfinity;
  for (std::size_t k = 0; k < n; ++k) {
    if (k == 0 || tile(k) != tile(k - 1)) {
      for (std::size_t i = k; i < n && tile(i) == tile(k); ++i) top = std::max(top, r.s[i]);
      if (k > 0 && top - used > way.slack) {
        r.rises[k - 1] = 1;
        if (way.in_order) {
          const double arg = m.contract->exponent == Exponent::fma ? reach : top - used;
          r.drift[k - 1] = square(m.exp_error) + 4 * m.variance * square(arg);
        }
      }
      if (top - used > way.slack) used = top;
    }
    r.met[k] = way.in_order ? used : r.top;
    if (!way.in_order && (k + 1 == n || tile(k + 1) != tile(k)))
      r.drift[k] = square(m.exp_error) + 4 * m.variance * square(reach);
  }
  if (way.in_order) return;
  top = -kInfinity;
  for (std::size_t k = n; k-- > 0;) {
    const bool first = k + 1 == n || tile(k) != tile(k + 1);
    if (!first) continue;
    double here = -kInfinity;
    for (std::size_t i = k + 1; i-- > 0 && tile(i) == tile(k);) here = std::max(here, r.s[i]);
    if (k + 1 < n && here > top) r.falls[k] = 1;
    top = std::max(top, here);
  }
}

}  // namespace

Passage passage(const Contract& c, Index keys) {
  Passage w;
  w.tile = c.tile;
  w.splits = keys >= c.split_min ? c.splits : 1;
  w.steps = (keys + w.tile - 1) / w.tile + w.splits;
  w.several = keys > w.tile || w.splits > 1;
  return w;
}

void read_row(const BoundModel& m, const Passage& way, const Matrix<Bound>& s, const Mask& keep, Index i,
              const Bound& sink, MeanRow& r) {
  clear(r);
  double widest = 0;
  r.m = -kInfinity;
  r.size = std::isfinite(sink.v) ? std::fabs(sink.v) : 0;
  for (Index j = 0; j < s.cols(); ++j) {
    if (!prim::takes(s, keep, i, j)) continue;
    const Bound& x = s(i, j);
    r.special |= special(x.v);
    r.unbounded |= !(x.w < kInfinity || x.b < kInfinity);
    r.at.push_back(j);
    r.s.push_back(x.v);
    r.m = std::max(r.m, x.v);
    r.size = std::max(r.size, std::fabs(x.v));
    widest = std::max(widest, x.w);
    r.exact_logits &= errorless(x);
  }
  r.n = static_cast<Index>(r.s.size());
  if (r.special || r.n == 0) return;
  r.top = std::max(r.m, sink.v);
  widest = std::max(widest, sink.w);
  const auto n = static_cast<std::size_t>(r.n);
  const Contract& c = *m.contract;
  const Format& stored = *c.p;
  const bool with_sink = sink.v != -kInfinity, difference = c.exponent == Exponent::difference;
  const bool normalised = c.p_scale == PScale::normalised;
  const bool narrow = stored.p() < m.acc->p() || stored.emin() > m.acc->emin();
  // The largest weight is 1 by construction, unless the sink may be the larger one.
  const bool top_is_one = difference && way.slack == 0 && !(sink.v + 8 * widest > r.m);
  double key_sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    r.e.push_back(math::exp(r.s[k] - r.top));
    r.q.push_back(math::exp(r.s[k] - r.m));
    key_sum += r.q[k];
  }
  const double e_sink = !with_sink ? 0 : sink.v == r.top ? 1 : math::exp(sink.v - r.top);
  r.l = kernels::sum(r.e.data(), r.n) + e_sink;
  r.inverse = 1 / r.l;
  r.p_sink = e_sink * r.inverse;
  const double ln = math::log(static_cast<double>(n) + 1), steps = way.several ? static_cast<double>(way.steps) : 0;
  const double merging = (steps > 0 ? steps * (m.exp_error + 2 * m.u) + 4 * m.u * (way.slack + widest) : 0) +
                         (steps > 0 && !difference ? 2 * m.u * steps * (r.size + widest) : 0) +
                         (way.splits > 1 ? 8 * m.u * (r.size + ln + widest) + 2 * m.log_error * ln : 0);
  const double u_p = narrow ? stored.u() : 0;
  const bool alone = n == 1 && !with_sink && difference && way.slack == 0;
  if (alone) r.lone = s(i, r.at[0]);
  for (std::size_t k = 0; k < n; ++k) {
    const Bound& x = s(i, r.at[k]);
    const double d = r.s[k] - r.top;
    r.p.push_back(r.e[k] * r.inverse);
    r.q[k] /= key_sum;
    const bool one = d == 0 && top_is_one;
    r.ones &= r.e[k] == 0 || one;
    Weight w = weight(m, r.s[k], d, x.w, way.slack, r.size, widest, one);
    double deviation = allowed(x, m.z) + w.worst - x.w + 2 * m.exp_error;
    // By construction whatever the kernel's logits are, or as equal ones that carry no error.
    const bool certain = alone || (one && widest == 0);
    if (certain) w = {0, 0, 0}, deviation = 0;
    r.eta.push_back(certain ? 0 : x.s2 + w.eta);
    r.approximate.push_back(w.approximate);
    r.linear.push_back(certain ? 0 : x.b + kOwn * (std::fabs(d) + 4));
    r.inherited_c.push_back(certain ? 0 : x.c);
    r.symbol.push_back(x.symbol);
    const double rescaling = difference && steps > 0 ? 4 * m.u * std::fabs(d) : 0;
    r.worst.push_back(certain && !way.several ? 0 : math::expm1(w.worst + m.exp_error + rescaling + merging));
    r.deviation.push_back(math::expm1(deviation));
    // A weight of 1 is stored exactly; in fma form it is off by the error of m c, which rounding to p hides.
    double rounding = square(u_p) / 3;
    if (r.e[k] == 0) rounding = 0;
    if (d == 0 && !normalised && way.slack == 0 && !(sink.v + 8 * widest > r.m))
      rounding = difference ? 0 : std::min(rounding, square(m.u * r.size) / 3);
    if (normalised) rounding += 2 * m.variance;  // of the division by l
    r.store.push_back(rounding);
  }
  if (with_sink) {
    const double d = sink.v == r.top ? 0 : sink.v - r.top;
    if (r.p_sink > 0) {
      const Weight w = weight(m, sink.v, d, sink.w, way.slack, r.size, widest, false);
      r.sink_eta = sink.variance() + w.eta;
      r.sink_linear = sink.b;
      r.sink_worst = math::expm1(w.worst + m.exp_error + merging + (difference ? 4 * m.u * std::fabs(d) : 0));
    }
    r.ones = r.ones && e_sink == 0;
  }
  // What weights may deviate in all multiplies what each does.
  double all = r.p_sink * (r.sink_worst < 1 ? 1.5 * std::sqrt(r.sink_eta) * m.z : kInfinity);
  if (r.p_sink == 0) all = 0;
  for (std::size_t k = 0; k < n; ++k) all += r.p[k] * r.deviation[k];
  const double others = all < 1 ? all / (1 - all) : kInfinity;
  for (std::size_t k = 0; k < n; ++k) {
    const double t = r.deviation[k], beyond = t < 0.5 ? t * t / 2 * (1 + t) : t;  // e^x - 1 - x, t = e^x - 1
    r.second.push_back(t == 0 ? 0 : beyond + t * others);
  }
  r.known = alone || (r.ones && r.exact_logits);
  const Terms of_sum{0, r.known, r.known, 0, r.known};
  Numbers terms = r.e;
  r.key_sum = accumulate(m, terms.data(), r.n, of_sum);
  r.key_sum.s2 /= square(r.l * (1 - r.p_sink));
  r.key_sum.b /= r.l * (1 - r.p_sink);
  r.sum = r.key_sum;
  if (with_sink) {
    terms.push_back(r.p_sink * r.l);
    r.sum = accumulate(m, terms.data(), r.n + 1, of_sum);
    r.sum.s2 /= square(r.l);
    r.sum.b /= r.l;
  }
  r.grown = (1 + r.sum.growth) * (1 + 2 * steps * m.u) - 1;
  group(r);
  find_boundaries(m, way, r);
}

double grouped(const MeanRow& r, const Passage& way, const Numbers& x, const Numbers& var) {
  double total = 0;
  if (!r.repeats || !algebra_switches().grouping) {
    for (std::size_t k = 0; k < x.size(); ++k) total += var[k] * x[k] * x[k];
    return total;
  }
  Index first = 0;
  for (const Index end : r.group_end) {
    double sum = 0, high = 0, low = 0, squares = 0, tiles = 0, part = 0, largest = 0;
    Index tile = -1;
    for (; first < end; ++first) {
      const auto k = static_cast<std::size_t>(r.order[static_cast<std::size_t>(first)]);
      if (r.at[k] / way.tile != tile) {
        tiles += part * part;
        part = 0;
        tile = r.at[k] / way.tile;
      }
      sum += x[k];
      part += x[k];
      squares += x[k] * x[k];
      high = std::max(high, sum);
      low = std::min(low, sum);
      largest = std::max(largest, var[k]);
    }
    double variance = sum * sum;
    // Tiles with another running maximum do not share it, ...
    if (way.several) variance = std::max({variance, square(high - low), tiles + part * part});
    // ... nor do dot products that are equal by accident.
    if (!r.exact_logits) variance = std::max(variance, squares);
    total += largest * variance;
  }
  return total;
}

double rescaled(const BoundModel& m, const MeanRow& r, const Passage& way, const Numbers& x) {
  if (!way.several || r.n < 2) return 0;
  double total = 0;
  for (double v : x) total += v;
  double sum = 0, high = 0, low = 0, squares = 0, forward = 0, backward = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum += x[k];
    high = std::max(high, sum);
    low = std::min(low, sum);
    squares += r.drift[k] * sum * sum;
    if (r.rises[k]) forward += sum;
    if (r.falls[k]) backward += total - sum;
  }
  double variance = squares;
  if (way.splits > 1) variance = std::max(variance, 2 * r.merge * square(high - low));
  // An exp that always errs the same way does so in every rescale.
  return std::max(variance, square(m.exp_error) * std::max(square(forward), square(backward)));
}

}  // namespace assay::detail

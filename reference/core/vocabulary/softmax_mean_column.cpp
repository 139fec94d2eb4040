#include "reference/core/vocabulary/softmax_mean_column.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/math.hpp"

namespace assay::detail {

namespace {

constexpr double kInfinity = __builtin_huge_val();

/// How many roundings the division takes: none where the divisor is a power of two by construction.
double divisions(const MeanRow& r, const Passage& way) {
  if (!r.sum.exact) return 3;
  if (!way.several || r.n == 1) return power_of_two(r.l) ? 0 : 2;
  return 3;
}

}  // namespace

void multiply(const BoundModel& m, const MeanRow& r, const Numbers& weight, const Column& v, bool known, Products& y) {
  const Contract& c = *m.contract;
  const bool narrow = c.p->p() < m.acc->p();
  const int bits = (known && r.ones ? 1 : narrow ? c.p->p() : m.acc->p()) + c.in->p();
  const bool exact = !v.errors && bits <= m.acc->p();
  const double tiny_p = c.p->min_normal(), tiny_v = c.in->min_normal();
  y.t.clear();
  double sum = 0, floor = 0, errors = 0, rounded = 0;
  y.absolute = y.partial = y.lost = 0;
  for (std::size_t k = 0; k < weight.size(); ++k) {
    const double e = weight[k], t = e * v.x[k];
    y.t.push_back(t);
    sum += t;
    y.partial += std::fabs(sum);
    y.absolute += std::fabs(t);
    if (t != 0 && (e < tiny_p || std::fabs(v.x[k]) < tiny_v))
      floor += std::max(e, tiny_p) * std::max(std::fabs(v.x[k]), tiny_v) - std::fabs(t);
    if (t != 0 && std::fabs(t) < m.min_normal) y.lost += std::min(std::fabs(t), m.half_step);
    if (v.errors) errors += e * v.w[k];
    rounded += t * t;
  }
  y.sum = accumulate(m, y.t.data(), static_cast<Index>(y.t.size()), {errors, known && !v.errors, exact, floor, known});
  if (!exact && !y.sum.exact) y.sum.s2 += m.variance * rounded;
}

void add_values(const MeanRow& r, const Numbers& weight, double scale, const Column& v, SymbolSums& symbols, Bound& y) {
  thread_local GroupedVariance grouped;
  grouped.start(static_cast<Index>(weight.size()));
  for (std::size_t k = 0; k < weight.size(); ++k) {
    const double p = weight[k] * scale;
    if (v.s2[k] != 0) grouped.add(v.x[k], p * std::sqrt(v.s2[k]));
    y.b += p * (v.b[k] + r.worst[k] * v.allowed[k]);
    symbols.add(p * v.c[k], v.symbol[k]);
  }
  y.s2 += grouped.variance();
}

double ends_of_tiles(const BoundModel& m, const Passage& way, const MeanRow& r, const Numbers& weight, double scale,
                     const Column& v, double mean) {
  const Contract& c = *m.contract;
  double sum = 0, total = 0, high = 0, low = 0, ends = 0;
  for (std::size_t k = 0; k < v.x.size(); ++k) {
    sum += weight[k] * scale * v.x[k];
    total += weight[k] * scale;
    high = std::max(high, sum);
    low = std::min(low, sum);
    if (r.drift[k] > 0) ends += square(sum) + square(total * mean);
  }
  const auto parts = way.splits > 1 ? static_cast<double>(way.splits) : 0;
  const double partial = c.partial->p() < m.acc->p() ? square(c.partial->u()) / 3 * parts * square(high - low) : 0;
  return 2 * m.variance * std::max(ends, parts * (square(high - low) + square(mean))) + partial;
}

double worst_of(const BoundModel& m, const Passage& way, const MeanRow& r, const Column& v, const Products& y,
                double mean) {
  const Contract& c = *m.contract;
  const bool narrow = c.p->p() < m.acc->p() || c.p->emin() > m.acc->emin();
  const double steps = way.several ? static_cast<double>(way.steps) : 0;
  const bool normalised = c.p_scale == PScale::normalised;
  const double partial = way.splits > 1 && c.partial->p() < m.acc->p() ? c.partial->u() : 0;
  const double roundings = (y.sum.exact && divisions(r, way) == 0 ? 0 : 5 + (normalised ? 2 : 0)) + 2 * steps;
  const double grown = (1 + y.sum.growth) * (1 + roundings * m.u * (1 + roundings * m.u)) * (1 + partial) - 1;
  const double size = std::fabs(mean);
  double off = 0, lost = r.p_sink, high = 0, below = 0;
  if (r.p_sink > 0) {
    off = r.p_sink * (r.sink_worst + (1 + r.sink_worst) * r.grown) * size;
    lost = r.p_sink * ((1 + r.sink_worst) * (1 + r.grown) - 1);
  }
  for (std::size_t k = 0; k < v.x.size(); ++k) {
    const double x = std::fabs(v.x[k]), p = r.p[k];
    if (p == 0) continue;
    const double u_p = narrow && r.store[k] > 0 ? c.p->u() : 0;
    const double both = c.l == RowSum::rounded ? (1 + r.worst[k]) * (1 + u_p) - 1 : r.worst[k];
    const double alone = c.l == RowSum::rounded ? grown : (1 + u_p) * (1 + grown) - 1;
    off += p * (both * std::fabs(v.x[k] - mean) + (1 + both) * (alone * x + r.grown * size));
    if (v.errors) off += p * (1 + both) * (1 + alone) * v.w[k];
    lost += p * ((1 + both) * (1 + r.grown) - 1);
    high = std::max(high, (x + (v.errors ? v.w[k] : 0)) * (1 + u_p));
    const double stored = normalised ? p : r.e[k];
    if (stored * (1 - std::min(1.0, both)) < c.p->min_normal())
      below += std::min(p, c.p->min_normal() * (normalised ? 1 : r.inverse)) * x;
    if (r.e[k] < 2 * m.min_normal) below += std::min(p, 2 * m.min_normal * r.inverse) * x;
  }
  const double underflow =
      below + (y.lost > 0 || partial > 0 ? (static_cast<double>(r.n) + 2 * steps + 4) *
                                               (m.half_step + c.partial->min_subnormal() / 2) * std::max(1.0, r.inverse)
                                         : 0);
  // Weights that add up to no more than l: the mean cannot leave the values.
  const double cap = r.grown < 1 ? high * (1 + grown) / (1 - r.grown) + size + underflow : kInfinity;
  const double w = lost < 1 ? (off + underflow) / (1 - lost) : kInfinity;
  return (w < cap ? w : cap) * (1 + 0x1p-30);
}

bool overflows(const BoundModel& m, const Passage& way, const Column& v) {
  if (!way.several && way.slack == 0) return false;
  double absolute = 1;
  for (double x : v.x) absolute += std::max(1.0, std::fabs(x));
  return absolute * math::exp(way.slack) > m.max;
}

double own_error(const Passage& way, const MeanRow& r, const Products& y, double mean) {
  const double steps = way.in_order ? 3 * static_cast<double>(way.steps) : 0;
  return kOwn * ((y.partial + (4 + steps) * y.absolute) * r.inverse + 4 * std::fabs(mean)) * (1 + 0x1p-20);
}

Bound mean_of(const BoundModel& m, const Passage& way, const MeanRow& r, const Column& v, double mean) {
  Bound out(mean);
  if (special(mean)) return out;
  if (r.unbounded) return unbounded(mean);
  const Contract& c = *m.contract;
  thread_local Products y;
  thread_local Numbers moved, stored;
  thread_local SymbolSums symbols;
  const bool normalised = c.p_scale == PScale::normalised;
  const bool known = r.known && !normalised;
  multiply(m, r, r.e, v, known, y);
  if (special(y.sum.b) || overflows(m, way, v)) return unbounded(mean);
  symbols.clear();
  moved.clear();
  stored.clear();
  const double size = std::fabs(mean), scale = r.inverse;
  double drift = 0, constant = 0, approximate = 0, shared = 0, low = 0;
  for (std::size_t k = 0; k < v.x.size(); ++k) {
    const double away = v.x[k] - mean, a = r.p[k] * away;
    moved.push_back(a);
    stored.push_back(c.l == RowSum::rounded ? a : r.p[k] * v.x[k]);
    drift += std::fabs(a) * (r.linear[k] + r.second[k]);
    constant += a * (r.s[k] - r.top);
    shared += a * r.approximate[k];
    approximate += square(a * r.approximate[k]);
    symbols.add(a * r.inherited_c[k], r.symbol[k]);
    const double e = normalised ? r.p[k] : r.e[k];
    if (e < c.p->min_normal())
      low += std::min(e, c.p->min_subnormal() / 2) * std::fabs(v.x[k]) * (normalised ? 1 : r.inverse);
    if (r.e[k] < m.min_normal) low += r.p[k] * std::fabs(v.x[k]);
  }
  // Weights: inherited, argument, exp; an exp that always errs the same way moves the largest against the others.
  const double weights = grouped(r, way, moved, r.eta);
  double common = std::max(weights, weights - (r.repeats ? 0 : approximate) + square(shared));
  common += square(r.p_sink * mean) * r.sink_eta;
  // One rounded constant for all arguments, scale log2 e.
  common += r.n > 1 ? 2 * m.variance * square(constant) : 0;
  // The row's sum, and the division.
  common += square(mean) * r.sum.s2 + divisions(r, way) * m.variance * square(mean);
  common += rescaled(m, r, way, moved);
  out.s2 = common + grouped(r, way, stored, r.store) + y.sum.s2 * square(scale);
  out.b = drift + low + (y.sum.b + y.lost) * scale + size * (r.sum.b + r.p_sink * r.sink_linear) +
          own_error(way, r, y, mean);
  if (way.several && r.n > 1) {
    out.s2 += ends_of_tiles(m, way, r, r.p, 1, v, mean);
    if (way.splits > 1 && c.partial->p() < m.acc->p())
      out.b += static_cast<double>(way.splits) * c.partial->min_subnormal() / 2;
  }
  if (v.errors) add_values(r, r.p, 1, v, symbols, out);
  symbols.move_to(out);
  // All elements of a row have these errors in common.
  out.folded = static_cast<float>(std::sqrt(common + grouped(r, way, stored, r.store)));
  const bool exact = y.sum.exact && r.sum.exact && divisions(r, way) == 0 && !v.errors && (!way.several || r.n == 1) &&
                     r.p_sink == 0 && !(way.splits > 1 && c.partial->p() < m.acc->p());
  if (exact && out.s2 == 0) return Bound(mean);
  out.w = worst_of(m, way, r, v, y, mean) + own_error(way, r, y, mean);
  return finish(m, out);
}

Bound lse_of(const BoundModel& m, const Passage& way, const MeanRow& r, double lse) {
  Bound out(lse);
  if (special(lse)) return out;
  if (r.unbounded) return unbounded(lse);
  const Contract& c = *m.contract;
  const bool rounded = c.l == RowSum::rounded && c.p_scale == PScale::unnormalised;
  const double u_p = rounded && c.p->p() < m.acc->p() ? c.p->u() : 0;
  const double size = std::fabs(r.m), log = std::fabs(lse - r.m);
  double approximate = 0, linear = 0, relative = 0, below = 0;
  SymbolSums symbols;
  for (std::size_t k = 0; k < r.q.size(); ++k) {
    approximate += r.q[k] * r.approximate[k];
    linear += r.q[k] * (r.linear[k] + r.second[k]);
    relative += r.q[k] * ((1 + r.worst[k]) * (1 + u_p) * (1 + r.grown) - 1);
    symbols.add(r.q[k] * r.inherited_c[k], r.symbol[k]);
    if (rounded && r.e[k] < c.p->min_normal()) below += c.p->min_subnormal() / 2 * r.inverse / (1 - r.p_sink);
  }
  out.s2 = grouped(r, way, r.q, r.eta) + (rounded ? grouped(r, way, r.q, r.store) : 0) + r.key_sum.s2 +
           square(m.log_error * log) + 3 * m.variance * (square(size) + square(log)) + rescaled(m, r, way, r.q);
  const double own = kOwn * (4 * std::fabs(lse) + 4 * size + 8);
  out.s2 += r.lone.s2;
  symbols.add(r.lone.c, r.lone.symbol);
  out.b = approximate + linear + below + r.key_sum.b + own + r.lone.b;
  if (c.exponent == Exponent::fma) out.b += m.u * size;
  symbols.move_to(out);
  const double ln = relative + below;
  const double w = ln < 1 ? std::max(ln, -math::log1p(-ln)) : kInfinity;
  out.w = (w + m.log_error * (log + w) + 4 * m.u * (size + log + w)) * (1 + 0x1p-20) + own + r.lone.w;
  if (c.exponent == Exponent::fma) out.w += 2 * m.u * size;
  return finish(m, out);
}

}  // namespace assay::detail

// The softmax-weighted mean of Bounds: one closed form per output (spec/numerics/verdict.md, "The softmax-weighted
// mean"). Numerator and denominator share the errors of the weights, so the mean moves by p_k (v_k - o) for a relative
// error of e_k.
#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/core/math.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/vocabulary/bound_groups.hpp"
#include "reference/core/vocabulary/softmax_mean_row.hpp"

namespace assay::prim {

using namespace detail;

namespace {

constexpr double kInfinity = __builtin_huge_val();

/// One column of values at the entries of a row.
struct Column {
  Numbers x;
  bool errors = false;
  Numbers s2, b, w, allowed, c;
  std::vector<std::uint32_t> symbol;
};

/// What rounding p left no choice about: the stored weights, and how far the ambiguous ones may be off.
struct Stored {
  Numbers weight, ambiguous;
  double l = 1, variance = 0, linear = 0;  // the divisor, with its relative errors; 1 where p is normalised
};

/// Terms of the product with v.
struct Products {
  Numbers t;
  Accumulated sum;
  double absolute = 0, partial = 0, lost = 0;
};
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

/// Errors of the values themselves, weighted.
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

/// How many roundings the division takes: none where the divisor is a power of two by construction.
double divisions(const MeanRow& r, const Passage& way) {
  if (!r.sum.exact) return 3;
  if (!way.several || r.n == 1) return power_of_two(r.l) ? 0 : 2;
  return 3;
}

/// The worst case, to all orders: every weight off by its tau, rounded for the product and for the sum independently,
/// sums as bad as any order makes them.
double worst(const BoundModel& m, const Passage& way, const MeanRow& r, const Column& v, const Products& y,
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

double own_error(const MeanRow& r, const Products& y, double mean) {
  return kOwn * ((y.partial + 4 * y.absolute) * r.inverse + 4 * std::fabs(mean)) * (1 + 0x1p-20);
}

/// The closed form.
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
  if (special(y.sum.b)) return unbounded(mean);
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
  out.b =
      drift + low + (y.sum.b + y.lost) * scale + size * (r.sum.b + r.p_sink * r.sink_linear) + own_error(r, y, mean);
  // Roundings of numerator and sum where tiles and parts end.
  if (way.several && r.n > 1) {
    double sum = 0, weight = 0, high = 0, lowest = 0, ends = 0;
    for (std::size_t k = 0; k < v.x.size(); ++k) {
      sum += r.p[k] * v.x[k];
      weight += r.p[k];
      high = std::max(high, sum);
      lowest = std::min(lowest, sum);
      if (r.drift[k] > 0) ends += square(sum) + square(weight * mean);
    }
    const double parts = way.splits > 1 ? static_cast<double>(way.splits) * (square(high - lowest) + square(mean)) : 0;
    out.s2 += 2 * m.variance * std::max(ends, parts);
    if (way.splits > 1 && c.partial->p() < m.acc->p()) {
      out.s2 += square(c.partial->u()) / 3 * static_cast<double>(way.splits) * square(high - lowest);
      out.b += static_cast<double>(way.splits) * c.partial->min_subnormal() / 2;
    }
  }
  if (v.errors) add_values(r, r.p, 1, v, symbols, out);
  symbols.move_to(out);
  // All elements of a row have these errors in common.
  out.folded = static_cast<float>(std::sqrt(common + grouped(r, way, stored, r.store)));
  const bool exact = y.sum.exact && r.sum.exact && divisions(r, way) == 0 && !v.errors && (!way.several || r.n == 1) &&
                     r.p_sink == 0 && !(way.splits > 1 && c.partial->p() < m.acc->p());
  if (exact && out.s2 == 0) return Bound(mean);
  out.w = worst(m, way, r, v, y, mean) + own_error(r, y, mean);
  return finish(m, out);
}

/// The log-sum-exp of the keys: errors of weights do not cancel there.
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
  out.b = approximate + linear + below + r.key_sum.b + own;
  if (c.exponent == Exponent::fma) out.b += m.u * size;
  symbols.move_to(out);
  const double ln = relative + below;
  const double w = ln < 1 ? std::max(ln, -math::log1p(-ln)) : kInfinity;
  out.w = (w + m.log_error * (log + w) + 4 * m.u * (size + log + w)) * (1 + 0x1p-20) + own;
  if (c.exponent == Exponent::fma) out.w += 2 * m.u * size;
  return finish(m, out);
}

/// The stored weights where the errors leave no choice but between neighbours: one tile, so that weights are taken
/// against the row's own maximum. Nothing where a weight may be one of three.
std::optional<Stored> emulate(const BoundModel& m, const MeanRow& r, const Bound& sink) {
  const Contract& c = *m.contract;
  if (r.unbounded || sink.v + 8 * sink.w > r.m) return std::nullopt;
  const bool normalised = c.p_scale == PScale::normalised;
  Stored y;
  const double of_sum = m.z * std::sqrt(r.sum.s2) + r.sum.b;
  double all = of_sum + r.p_sink * m.z * std::sqrt(r.sink_eta);
  for (std::size_t k = 0; k < r.e.size(); ++k) all += r.p[k] * (m.z * std::sqrt(r.eta[k]) + r.linear[k]);
  double sum = r.p_sink * r.l;
  for (std::size_t k = 0; k < r.e.size(); ++k) {
    double deviation = m.z * std::sqrt(r.eta[k]) + r.linear[k] + r.second[k];
    if (c.exponent == Exponent::fma) deviation += 2 * m.u * r.size;
    if (normalised) deviation += all + 3 * m.u;
    const double e = normalised ? r.p[k] : r.e[k], away = e * math::expm1(deviation);
    const double low = round_to(*c.p, e - away), high = round_to(*c.p, e + away), stored = round_to(*c.p, e);
    if (high - low > 1.5 * ulp(*c.p, high)) return std::nullopt;
    y.weight.push_back(stored);
    y.ambiguous.push_back(high - low);
    if (e < m.min_normal) y.ambiguous.back() += e;
    sum += stored;
  }
  if (normalised) return y;
  y.l = c.l == RowSum::rounded ? sum : r.l;
  y.variance = r.sum.s2 + square(r.p_sink) * r.sink_eta;
  y.linear = r.sum.b + square(all) + r.p_sink * r.sink_linear;
  if (c.l == RowSum::unrounded) {
    double approximate = 0;
    for (std::size_t k = 0; k < r.e.size(); ++k) {
      y.linear += r.p[k] * (r.linear[k] + r.second[k]);
      approximate += r.p[k] * r.approximate[k];
    }
    y.linear += approximate;  // exp may always err the same way
    y.variance += grouped(r, Passage{}, r.p, r.eta);
  }
  if (c.exponent == Exponent::fma) y.linear += 2 * m.u * r.size;
  return y;
}

Bound emulated_mean(const BoundModel& m, const Passage& way, const MeanRow& r, const Stored& stored, const Column& v,
                    double mean, double exact_mean) {
  Bound out(mean);
  if (special(mean)) return out;
  const Contract& c = *m.contract;
  thread_local Products y;
  thread_local SymbolSums symbols;
  symbols.clear();
  bool clear = true;
  for (double a : stored.ambiguous) clear = clear && a == 0;
  multiply(m, r, stored.weight, v, clear, y);
  if (special(y.sum.b)) return unbounded(mean);
  const double scale = 1 / stored.l, size = std::fabs(mean);
  const bool normalised = c.p_scale == PScale::normalised;
  const double roundings = normalised || (r.sum.exact && power_of_two(stored.l)) ? 0 : 2;
  out.s2 = y.sum.s2 * square(scale) + square(mean) * (stored.variance + roundings * m.variance);
  out.b = (y.sum.b + y.lost) * scale + size * stored.linear + own_error(r, y, mean);
  for (std::size_t k = 0; k < v.x.size(); ++k)
    out.b += stored.ambiguous[k] * scale * std::fabs(c.l == RowSum::rounded ? v.x[k] - mean : v.x[k]);
  if (v.errors) add_values(r, stored.weight, scale, v, symbols, out);
  symbols.move_to(out);
  out.folded = static_cast<float>(size * std::sqrt(stored.variance));
  if (clear && y.sum.exact && roundings == 0 && stored.variance == 0 && stored.linear == 0 && !v.errors)
    return Bound(mean);
  multiply(m, r, r.e, v, false, y);
  out.w = worst(m, way, r, v, y, exact_mean) + std::fabs(mean - exact_mean) + 2 * own_error(r, y, mean);
  return finish(m, out);
}

Matrix<double> values_of(const Matrix<Bound>& x) {
  Matrix<double> y = Matrix<double>::uninitialised(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = x(i, j).v;
  return y;
}

/// Column c of v at the row's entries.
void gather(const BoundModel& m, const MeanRow& r, const Matrix<Bound>& v, Index c, bool errors, Column& y) {
  y.x.clear();
  y.errors = errors;
  for (const Index j : r.at) y.x.push_back(v(j, c).v);
  if (!errors) return;
  for (Numbers* part : {&y.s2, &y.b, &y.w, &y.allowed, &y.c}) part->clear();
  y.symbol.clear();
  for (const Index j : r.at) {
    const Bound& x = v(j, c);
    y.s2.push_back(x.s2);
    y.b.push_back(x.b);
    y.w.push_back(x.w);
    y.allowed.push_back(allowed(x, m.z));
    y.c.push_back(x.c);
    y.symbol.push_back(x.symbol);
  }
}

}  // namespace

void softmax_mean(const Matrix<Bound>& s, const Matrix<Bound>& v, const Mask& keep, const Vector<Bound>& sink,
                  SoftmaxMean<Bound>& y) {
  const Contract& contract = *bound_model().contract;
  const Passage way = passage(contract, s.cols());
  const bool narrow = contract.p->p() < contract.acc->p();
  const bool emulates = narrow && !way.several;
  bool errors = false;
  for (Index j = 0; j < v.rows(); ++j)
    for (Index c = 0; c < v.cols(); ++c) errors |= !errorless(v(j, c));
  SoftmaxMean<double> exact{Vector<double>(s.rows()), Matrix<double>(s.rows(), v.cols())}, rounded = exact;
  const Matrix<double> sv = values_of(s), vv = values_of(v);
  const Vector<double> gv = sink.data() == nullptr ? Vector<double>() : Vector<double>(sink.size());
  for (Index i = 0; i < gv.size(); ++i) gv.data()[i] = sink[i].v;
  softmax_mean(sv, vv, keep, gv, nullptr, exact);
  if (emulates) {
    rounded = {Vector<double>(s.rows()), Matrix<double>(s.rows(), v.cols())};
    softmax_mean(sv, vv, keep, gv, &contract, rounded);
  }
  const Reading at_caller = reading();
  parallel_for(s.rows(), 4, [&](Index first, Index last) {
    const ReadingScope scope(at_caller);
    const BoundModel& m = bound_model();
    thread_local MeanRow r;
    thread_local Column column;
    for (Index i = first; i < last; ++i) {
      const Bound g = sink.data() == nullptr ? Bound(-kInfinity) : sink[i];
      read_row(m, way, s, keep, i, g, r);
      y.lse[i] = r.n == 0 || r.special ? Bound(exact.lse[i]) : lse_of(m, way, r, exact.lse[i]);
      const bool none = r.n == 0 || r.special || g.v == kInfinity || g.v != g.v;
      const std::optional<Stored> stored =
          emulates && r.n > 0 && !r.special ? emulate(m, r, g) : std::optional<Stored>();
      for (Index c = 0; c < v.cols(); ++c) {
        if (none) {
          y.o(i, c) = Bound(exact.o(i, c));
          continue;
        }
        gather(m, r, v, c, errors, column);
        y.o(i, c) = stored ? emulated_mean(m, way, r, *stored, column, rounded.o(i, c), exact.o(i, c))
                           : mean_of(m, way, r, column, exact.o(i, c));
      }
    }
  });
}

}  // namespace assay::prim

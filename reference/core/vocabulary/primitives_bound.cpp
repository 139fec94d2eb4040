// Sums of Bounds: inherited errors grouped by equal values, the accumulator's own error by order class, the reference's
// own.
#include <algorithm>
#include <vector>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/vocabulary/bound_accumulate.hpp"
#include "reference/core/vocabulary/bound_groups.hpp"
#include "reference/core/vocabulary/primitives.hpp"

namespace assay::prim {

using namespace detail;

namespace {

/// Work space of this thread.
struct Space {
  std::vector<double> values, terms;
  GroupedVariance first, second, products;
  SymbolSums symbols;
};

Space& space(Index n) {
  thread_local Space s;
  if (s.values.size() < static_cast<std::size_t>(n)) {
    s.values.resize(static_cast<std::size_t>(n));
    s.terms.resize(static_cast<std::size_t>(n));
  }
  return s;
}

/// |kernels::sum - sum| <= this.
double own_error_of_sum(double sum, double absolute, Index n) {
  const double g = (static_cast<double>(n) / 64 + 18) * kOwn;
  return kOwn * std::fabs(sum) + ((n > 16 ? 2 * kOwn : 0) + g * g) * absolute;
}

/// Adds to a variance the deviation of one term, grouped or not.
struct Inherited {
  GroupedVariance& grouped;
  double independent = 0;
  bool grouping;
  void add(double value, double deviation) {
    if (grouping)
      grouped.add(value, deviation);
    else
      independent += deviation * deviation;
  }
  double variance() const { return grouping ? grouped.variance() : independent; }
};

Inherited inherited(GroupedVariance& g, Index n) {
  g.start(n);
  return {g, 0, algebra_switches().grouping};
}

/// A sum of products. Which kernel the value comes from: an fma chain, or the compensated sum of rounded products.
Bound products(const Bound* a, Index as, const Bound* b, Index bs, Index n, bool chain) {
  const BoundModel& m = bound_model();
  Space& s = space(n);
  const bool same = a == b && as == bs;
  double* t = s.terms.data();
  double v = 0, own = 0, errors = 0, rounded = 0, floor = 0, linear = 0;
  bool exact_terms = true, any_error = false;
  const double tiny = m.contract->in->min_normal();
  for (Index i = 0; i < n; ++i) {
    const Bound &x = a[i * as], &y = b[i * bs];
    t[i] = x.v * y.v;
    v = std::fma(x.v, y.v, v);
    own += std::fabs(v);
    any_error |= !errorless(x) || !errorless(y);
    if (exact_terms) exact_terms = std::fma(x.v, y.v, -t[i]) == 0 && representable(m, t[i]);
    if (t[i] != 0 && (std::fabs(x.v) < tiny || std::fabs(y.v) < tiny))
      floor += std::max(std::fabs(x.v), tiny) * std::max(std::fabs(y.v), tiny) - std::fabs(t[i]);
  }
  if (!chain) v = kernels::sum(t, n);
  if (special(v)) return Bound(v);
  Bound r(v);
  if (any_error) {
    Inherited from_a = inherited(s.first, n), from_b = inherited(s.second, n);
    s.symbols.clear();
    for (Index i = 0; i < n; ++i) {
      const Bound &x = a[i * as], &y = b[i * bs];
      const double ax = std::fabs(x.v), ay = std::fabs(y.v);
      const double dx = errorless(x) ? 0 : detail::allowed(x, m.z), dy = errorless(y) ? 0 : detail::allowed(y, m.z);
      errors += ay * x.w + ax * y.w + x.w * y.w;
      linear += ay * x.b + ax * y.b + dx * dy;
      if (same) {
        s.symbols.add(2 * x.v * x.c, x.symbol);
        if (x.s2 != 0) from_a.add(x.v, 2 * x.v * std::sqrt(x.s2));
        continue;
      }
      s.symbols.add(y.v * x.c, x.symbol);
      s.symbols.add(x.v * y.c, y.symbol);
      if (x.s2 != 0) from_a.add(x.v, y.v * std::sqrt(x.s2));
      if (y.s2 != 0) from_b.add(y.v, x.v * std::sqrt(y.s2));
    }
    r.s2 = from_a.variance() + from_b.variance();
    s.symbols.move_to(r);
  }
  const Accumulated acc = accumulate(m, t, n, {errors, !any_error, exact_terms, floor});
  if (acc.exact) return r;
  double absolute = 0;
  for (Index i = 0; i < n; ++i) absolute += std::fabs(t[i]);
  if (!exact_terms || any_error) {
    // Products may be rounded, each alone or fused into the addition; equal products are rounded equally.
    Inherited rounding = inherited(s.products, n);
    for (Index i = 0; i < n; ++i) rounding.add(t[i], t[i]);
    r.s2 += m.variance * rounding.variance();
    double lost = 0;
    for (Index i = 0; i < n; ++i)
      if (t[i] != 0 && std::fabs(t[i]) < m.min_normal) lost += std::min(std::fabs(t[i]), m.half_step);
    linear += lost;
    rounded = (m.u * (absolute + errors) + static_cast<double>(n) * m.half_step) * (1 + acc.growth);
  }
  // An fma chain errs by u |partial sum| a step; the compensated sum and its rounded products by less.
  own = chain ? own * kOwn * (1 + 0x1p-20) : own_error_of_sum(v, absolute, n) + kOwn * absolute;
  r.s2 += acc.s2;
  r.b = linear + acc.b + own;
  // Each product is rounded, then passes n - 1 additions: (1 + u)(1 + g) - 1.
  r.w = errors + acc.w + rounded + own;
  return finish(m, r);
}

}  // namespace

namespace {

Bound sum_of(const BoundModel& m, const Bound* x, Index n, Index stride, bool may_be_exact) {
  Space& s = space(n);
  double* t = s.values.data();
  double errors = 0, linear = 0;
  bool any_error = false;
  for (Index i = 0; i < n; ++i) {
    const Bound& e = x[i * stride];
    t[i] = e.v;
    any_error |= !errorless(e);
    errors += e.w;
    linear += e.b;
  }
  Bound r(kernels::sum(t, n));
  if (special(r.v)) return r;
  if (any_error) {
    Inherited from = inherited(s.first, n);
    s.symbols.clear();
    for (Index i = 0; i < n; ++i) {
      const Bound& e = x[i * stride];
      if (e.s2 != 0) from.add(e.v, std::sqrt(e.s2));
      s.symbols.add(e.c, e.symbol);
    }
    r.s2 = from.variance();
    s.symbols.move_to(r);
  }
  const Accumulated acc = accumulate(m, t, n, {errors, !any_error, true, 0, may_be_exact});
  if (acc.exact) return r;
  double absolute = 0;
  for (Index i = 0; i < n; ++i) absolute += std::fabs(t[i]);
  const double own = n > 1 ? own_error_of_sum(r.v, absolute, n) : 0;
  r.s2 += acc.s2;
  r.b = linear + acc.b + own;
  r.w = errors + acc.w + own;
  return finish(m, r);
}

}  // namespace

Bound sum(const Bound* x, Index n, Index stride) { return sum_of(bound_model(), x, n, stride, true); }

Bound mean(const Bound* x, Index n, Index stride) {
  const BoundModel& m = bound_model();
  bool equal = true;  // then the recurrence is exact, and so may the sum be
  for (Index i = 1; i < n; ++i) equal = equal && x[i * stride].v == x[0].v;
  Bound total = sum_of(m, x, n, stride, equal);
  if (!equal && !special(total.v)) {
    // Welford's mean_j = mean_(j-1) + (x_j - mean_(j-1)) / j rounds mean_j, which weighs j/n in the end: what rounding
    // the partial sums j mean_j does to total / n, even where those are exact. Its increments add two roundings of x_j
    // - mean_(j-1).
    double absolute = 0, squares = 0;
    const double centre = total.v / static_cast<double>(n);
    for (Index i = 0; i < n; ++i) {
      absolute += std::fabs(x[i * stride].v);
      squares += square(x[i * stride].v - centre);
    }
    const double lost = absolute > 0 ? square(static_cast<double>(n)) * m.half_step : 0;  // increments that underflow
    total.s2 += 2 * m.variance * squares;
    total.b += lost;
    total.w +=
        2 * m.u * absolute * (2 + math::log(static_cast<double>(n))) + lost;  // sum_j |mean_j| <= absolute (1 + ln n)
  }
  return finish(m, total) / Bound(static_cast<double>(n));
}

Bound dot(const Bound* a, Index a_stride, const Bound* b, Index b_stride, Index n) {
  return products(a, a_stride, b, b_stride, n, true);
}

void matmul(const Matrix<Bound>& x, const Matrix<Bound>& y, Matrix<Bound>& z) {
  const Index k = x.cols(), work = x.rows() * k;
  const Reading at_caller = reading();
  // Columns in parallel, in blocks worth handing out.
  parallel_for(y.cols(), 1 + 20000 / (work + 1), [&](Index first, Index last) {
    const ReadingScope scope(at_caller);
    std::vector<Bound> column(static_cast<std::size_t>(k));
    for (Index j = first; j < last; ++j) {
      for (Index p = 0; p < k; ++p) column[static_cast<std::size_t>(p)] = y(p, j);
      for (Index i = 0; i < x.rows(); ++i)
        z(i, j) = dot(x.data() + i * x.row_stride(), x.col_stride(), column.data(), 1, k);
    }
  });
}

Bound sum_squares(const Bound* x, Index n, Index stride) { return products(x, stride, x, stride, n, false); }

}  // namespace assay::prim

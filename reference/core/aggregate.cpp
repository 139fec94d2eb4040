// A whole row or tensor: the gain along the output and the mean square, with limits that are derived, not chosen.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/core/readings/bound_model.hpp"
#include "reference/core/verdict.hpp"
#include "reference/core/vocabulary/bound_groups.hpp"

namespace assay {

namespace {

struct Part {
  double residual;  // from y to the middle of the reals that round to o
  double known;     // the same for an implementation without error: y's own rounding
  double rounding;  // variance of the output's rounding, width^2 / 12
  double variance;  // that and y's
  const Bound* y;
};

/// Elements whose residual means something: bounded preimage, some variance.
std::vector<Part> parts(const Bound* y, const double* observed, Index n, const Format& out, Round round) {
  std::vector<Part> p;
  for (Index i = 0; i < n; ++i) {
    const Bound& e = y[i];
    if (!std::isfinite(e.v) || !std::isfinite(observed[i]) || !std::isfinite(e.b) || !std::isfinite(e.s2)) continue;
    const Interval r = preimage(out, observed[i], round);
    const double width = r.hi - r.lo;
    if (!std::isfinite(width)) continue;
    // A value that the format holds and that carries no error comes out exactly: nothing random about it.
    if (e.w == 0 && round_to(out, e.v, round) == e.v) continue;
    const Interval own = preimage(out, round_to(out, e.v, round), round);
    const double rounding = width * width / 12, known = own.lo + (own.hi - own.lo) / 2 - e.v;
    if (!(e.variance() + rounding > 0) || !std::isfinite(known)) continue;
    p.push_back({r.lo + width / 2 - e.v, known, rounding, e.variance() + rounding, &e});
  }
  return p;
}

}  // namespace

Aggregate judge_aggregate(const Bound* y, const double* observed, Index n, const Format& out, Round round, double z) {
  using namespace detail;
  Aggregate a;
  const std::vector<Part> all = parts(y, observed, n, out, round);
  a.elements = static_cast<Index>(all.size());
  if (all.empty()) return a;
  const double count = static_cast<double>(all.size());

  // Gain. var = sum over equal values (sum of w sigma)^2 + sum over symbols (sum of w c)^2.
  GroupedVariance own;
  own.start(a.elements);
  std::vector<std::pair<std::uint32_t, double>> along, within;  // per symbol: w c, c^2 / variance
  double linear = 0, known = 0;
  double folded = 0, folded_within = 0;  // errors of symbols that gave way, as if all of them were shared
  for (const Part& p : all) {
    const double w = p.y->v / p.variance;
    a.gain += w * p.residual;
    known += w * p.known;
    linear += std::fabs(w) * p.y->b;
    own.add(p.y->v, std::fabs(w) * std::sqrt(p.y->s2 + p.rounding));
    folded += std::fabs(w) * p.y->folded;
    folded_within += square(p.y->folded) / p.variance;
    if (p.y->symbol != 0) {
      along.emplace_back(p.y->symbol, w * p.y->c);
      within.emplace_back(p.y->symbol, square(p.y->c) / p.variance);
    }
  }
  const auto per_symbol = [](std::vector<std::pair<std::uint32_t, double>>& v) {
    std::stable_sort(v.begin(), v.end(), [](const auto& l, const auto& r) { return l.first < r.first; });
    std::vector<double> sums;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i == 0 || v[i].first != v[i - 1].first) sums.push_back(0);
      sums.back() += v[i].second;
    }
    return sums;
  };
  double variance = own.variance();
  for (double s : per_symbol(along)) variance += s * s;
  // Where y's errors are far below the output's ulp nothing about the rounding is random: an honest output rounds as y
  // itself does, and on a lattice of inputs those roundings may add up. Larger errors wash that out, so the truth is in
  // between.
  a.gain_allowed = (linear + z * (std::sqrt(variance) + folded) + std::fabs(known)) * (1 + 0x1p-40);

  // Spread. For a sub-Gaussian vector x with covariance S, P(|x|^2 > tr S + 2 sqrt(tr(S^2) t) + 2 |S| t) <= e^-t
  // (Hsu, Kakade & Zhang 2012). Here S has unit diagonal, a block of ones per group of m equal values, and rank one per
  // symbol; t = z^2/2 is the tail that z has for one element.
  Groups groups;
  groups.start(a.elements);
  std::vector<double> counts;
  double beyond = 0;  // known roundings above width^2 / 12 on average, as for ties
  for (const Part& p : all) {
    beyond += (square(p.known) - p.rounding) / p.variance;
    const auto g = static_cast<std::size_t>(groups.of(p.y->v));
    if (g == counts.size()) counts.push_back(0);
    ++counts[g];
    a.spread += square(std::max(0.0, std::fabs(p.residual) - p.y->b)) / p.variance;
  }
  double squares = 0, largest_group = 0, largest_symbol = 0;
  for (double m : counts) {
    squares += m * m;
    largest_group = std::max(largest_group, m);
  }
  for (double s : per_symbol(within)) {
    squares += s * s;
    largest_symbol = std::max(largest_symbol, s);
  }
  const double t = z * z / 2;
  a.spread /= count;
  a.spread_allowed = 1 + (std::max(0.0, beyond) + 2 * (std::sqrt(squares) + folded_within) * std::sqrt(t) +
                          2 * (largest_group + largest_symbol + folded_within) * t) /
                             count;
  a.accepted = std::fabs(a.gain) <= a.gain_allowed && a.spread <= a.spread_allowed;
  return a;
}

}  // namespace assay

#include "reference/core/vocabulary/bound_accumulate.hpp"

#include <algorithm>
#include <limits>

#include "reference/core/vocabulary/bound_groups.hpp"

namespace assay::detail {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Largest power of two that divides x; infinity for 0.
double lowest_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFull;
  if (bits == 0) return kInfinity;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int e = static_cast<int>(bits >> 52);
  if (e == 0) return pow2(std::countr_zero(fraction) - 1074);
  return pow2(e - 1075 + std::countr_zero(fraction | (std::uint64_t{1} << 52)));
}

/// Sums over all partial sums of one order.
struct Partials {
  double squares = 0, absolute = 0;
  double highest = 0, lowest = 0;
};

/// gamma_k = k u / (1 - k u)
double gamma(double k, double u) { return k * u < 1 ? k * u / (1 - k * u) : kInfinity; }

/// How much of the variance of independent roundings equal terms add: in one binade equal terms leave equal residues.
/// sum over groups m^2 / n, zeros counted singly.
double multiplicity(const double* t, Index n) {
  thread_local Groups groups;
  thread_local std::vector<double> counts;
  groups.start(n);
  counts.clear();
  double zeros = 0;
  for (Index i = 0; i < n; ++i) {
    if (t[i] == 0) {
      ++zeros;
      continue;
    }
    const auto g = static_cast<std::size_t>(groups.of(t[i]));
    if (g == counts.size()) counts.push_back(0);
    ++counts[g];
  }
  double squares = zeros;
  for (double c : counts) squares += c * c;
  return squares / static_cast<double>(n);
}

/// Terms with few significant bits lie on a lattice, and all terms of one residue modulo the ulp of a partial sum are
/// rounded the same way: whole numbers plus 1/4 all lose a quarter to a large sum, odd squares, 1 modulo 8, an eighth.
/// Had every addition happened where the ulp is q, the error would be the sum of the terms' own roundings to multiples
/// of q, ties apart. The largest such sum over the top binades of partial sums, beyond two standard deviations of what
/// independent roundings (which s2 has) leave; binades of terms may not cancel, since orders may separate them.
double lattice_drift(const BoundModel& m, const double* t, Index n, double reach) {
  double worst = 0;
  double q = ulp(*m.acc, reach);
  for (int level = 0; level < 5; ++level, q /= 2) {
    constexpr int kBinades = 64;  // below the top of these, terms round to 0: all in the last
    double sums[kBinades] = {}, counts[kBinades] = {};
    const double magic = 0x1.8p52 * q;
    const int top = std::ilogb(reach) + 1;
    for (Index i = 0; i < n; ++i) {
      if (t[i] == 0) continue;
      double lost = t[i] - ((t[i] + magic) - magic);
      // A tie goes to the even neighbour and leaves an even sum: the next tie is decided by the term modulo 2q.
      const bool tie = std::fabs(lost) * 2 == q;
      if (tie) lost = t[i] - ((t[i] + 2 * magic) - 2 * magic);
      const int e = static_cast<int>(std::bit_cast<std::uint64_t>(t[i]) >> 52 & 0x7FF) - 1023;
      const int binade = std::clamp(top - e, 0, kBinades - 1);
      sums[binade] += lost;
      counts[binade] += tie ? 3 : 1;  // in units of q^2 / 12
    }
    double drift = 0;
    for (int b = 0; b < kBinades; ++b) drift += std::max(0.0, std::fabs(sums[b]) - 2 * q * std::sqrt(counts[b] / 12));
    worst = std::max(worst, drift);
  }
  return worst;
}

}  // namespace

AlgebraSwitches& algebra_switches() {
  thread_local AlgebraSwitches s;
  return s;
}

Accumulated accumulate(const BoundModel& m, const double* t, Index n, const Terms& terms) {
  const AlgebraSwitches& on = algebra_switches();
  const Contract& c = *m.contract;
  Accumulated r;
  double total = 0, absolute = 0, squares = 0, step = kInfinity;
  Partials forward;
  for (Index i = 0; i < n; ++i) {
    total += t[i];
    absolute += std::fabs(t[i]);
    squares += t[i] * t[i];
    forward.squares += total * total;
    forward.absolute += std::fabs(total);
    forward.highest = std::max(forward.highest, total);
    forward.lowest = std::min(forward.lowest, total);
  }
  // The largest partial sum of any order: all terms of one sign first.
  const double largest = (absolute + std::fabs(total)) / 2;
  if (largest + terms.errors > m.max) {  // some order overflows on the way
    r.b = r.w = r.growth = kInfinity;
    return r;
  }
  const bool mma = c.kind == Accumulate::mma;
  if (terms.known && terms.exact && terms.detect && on.exactness) {
    for (Index i = 0; i < n; ++i) step = std::min(step, lowest_bit(t[i]));
    const int bits = mma ? std::min(c.acc->p(), c.mma_f) : c.acc->p();
    r.exact = largest < pow2(bits) * step && step >= 2 * m.half_step;
    if (r.exact && n > 1 && !(absolute < 0x1p53 * step))
      r.exact = false;  // nor would this function's own sums be exact
    if (r.exact) return r;
  }
  const double count = static_cast<double>(n);
  double m2 = forward.squares, m1 = forward.absolute;
  if (on.order) {
    Partials backward;
    double rest = total;
    for (Index i = 0; i < n; ++i) {
      backward.squares += rest * rest;
      backward.absolute += std::fabs(rest);
      rest -= t[i];
    }
    m2 = std::max(m2, backward.squares);
    m1 = std::max(m1, backward.absolute);
    if (c.order == Order::oblivious) {
      // The mean over random orders, times 4 (in m1: times 3).
      const double random = count / 3 * total * total + count / 6 * std::max(0.0, squares - total * total / count);
      m2 = std::max(m2, 4 * random);
      m1 = std::max(m1, 3 * std::sqrt(count * random));
    } else if (c.order == Order::any) {
      m2 = count * largest * largest;
      m1 = count * largest;
    }
  }
  const double sum_w = absolute + terms.errors;
  if (n > 1) {
    r.s2 = m.variance * m2 * (on.grouping ? multiplicity(t, n) : 1);
    r.growth = gamma(count - 1, c.kind == Accumulate::nearest ? m.u : 2 * m.u);
    r.w = r.growth * sum_w;
    if (c.kind == Accumulate::truncate && on.drift) r.b = m.u * m1;
    if (c.kind == Accumulate::nearest && on.lattice && c.acc->p() < 50) {  // double sees no residues beyond its own
      // How far partial sums get in this order class, and a binade more.
      const double reach = std::max({forward.highest, -forward.lowest, std::sqrt(m2 / count)});
      r.b = lattice_drift(m, t, n, std::min(2 * reach, largest));
    }
  }
  if (mma) {
    // A step aligns its K0 products and the accumulator to the largest, truncating at 2^-F of it, then truncates to the
    // accumulator: at most K0 + 1 terms lose a unit each.
    const double steps = std::ceil(count / c.mma_k0), unit = pow2(1 - c.mma_f);
    double top = std::max({forward.highest - forward.lowest, std::sqrt(squares), 2 * m1 / count});
    top = c.order == Order::any ? largest : std::min(absolute, top);
    if (on.drift) r.b = steps * (c.mma_k0 + 1) * unit * top + 2 * m.u * m1 * steps / count * 2;
    const double per_step = (c.mma_k0 + 1) * pow2(-c.mma_f) + 2 * m.u;
    r.growth = gamma(steps, per_step);
    r.w = r.growth * (sum_w + terms.floor) + steps * (c.mma_k0 + 2) * 2 * m.half_step;
  }
  r.w *= 1 + 0x1p-40;
  return r;
}

}  // namespace assay::detail

#include "conformance/engine/frequencies.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// P(X >= k) for probabilities p of success and q of failure. Terms are taken relative to the largest one, by the ratio
/// of neighbours, P(j + 1) / P(j) = (n - j) / (j + 1) p / q: no factorial, no logarithm, and only positive summands.
/// About 17 standard deviations to each side are summed, until a term is below 2^-200 of the largest.
double at_least(long long k, long long n, double p, double q) {
  if (k <= 0) return 1;
  if (k > n || p == 0) return 0;
  if (q == 0) return 1;
  const auto mode = std::clamp(static_cast<long long>((static_cast<double>(n) + 1) * p), 0LL, n);
  double below = 0, above = 0;
  const auto add = [&](long long j, double term) { (j < k ? below : above) += term; };
  add(mode, 1);
  const double odds = p / q;
  double term = 1;
  for (long long j = mode; j < n && term >= 0x1p-200; ++j) {
    term *= static_cast<double>(n - j) / static_cast<double>(j + 1) * odds;
    add(j + 1, term);
  }
  term = 1;
  for (long long j = mode; j > 0 && term >= 0x1p-200; --j) {
    term *= static_cast<double>(j) / (static_cast<double>(n - j + 1) * odds);
    add(j - 1, term);
  }
  return above / (below + above);
}

void require_binomial(long long n, double p) {
  if (n < 0) throw Error("binomial tail: draws", "0 or more", std::to_string(n));
  if (!(p >= 0 && p <= 1)) throw Error("binomial tail: probability", "0 <= p <= 1", std::to_string(p));
}

struct Limits {
  double low, high;
};

/// Where each probability lies. Throws Error if the law is none.
std::vector<Limits> limits_of(const Vector<Bound>& law) {
  std::vector<Limits> limits;
  double sum = 0, error = 0;
  for (Index i = 0; i < law.size(); ++i) {
    const double p = law[i].v, off = law[i].allowed();
    if (!(p >= -off && p <= 1 + off && off >= 0))
      throw Error("probability of symbol " + std::to_string(i), "0 <= p <= 1", std::to_string(p));
    limits.push_back({std::max(0.0, p - off), std::min(1.0, p + off)});
    sum += p;
    error += off + 0x1p-52;  // beside its own error: one rounding of the value, one of the sum
  }
  if (!(std::fabs(sum - 1) <= error))
    throw Error("probabilities of " + std::to_string(law.size()) + " symbols",
                "a sum of 1 within " + std::to_string(error) + " (compute the law in Bound)", std::to_string(sum));
  return limits;
}

double level(Index symbols) { return law_alarm / (2 * static_cast<double>(symbols)); }

/// The chance that draws of probability `truth` give a count whose tail under `limits` is below `needed`.
double chance_of_refusal(const Limits& limits, double truth, long long n, double needed) {
  // the smallest count that is too large, and the largest one that is too small
  long long lowest = 0, highest = n + 1;
  while (lowest < highest) {
    const long long k = lowest + (highest - lowest) / 2;
    if (binomial_at_least(k, n, limits.high) < needed)
      highest = k;
    else
      lowest = k + 1;
  }
  const double too_often = lowest > n ? 0 : binomial_at_least(lowest, n, truth);
  long long low = -1, high = n;
  while (low < high) {
    const long long k = low + (high - low + 1) / 2;
    if (binomial_at_most(k, n, limits.low) < needed)
      low = k;
    else
      high = k - 1;
  }
  return too_often + (low < 0 ? 0 : binomial_at_most(low, n, truth));
}

}  // namespace

double binomial_at_least(long long k, long long n, double p) {
  require_binomial(n, p);
  return at_least(k, n, p, 1 - p);
}

double binomial_at_most(long long k, long long n, double p) {
  require_binomial(n, p);
  return at_least(n - k, n, 1 - p, p);
}

Frequency rarest_frequency(const Vector<Bound>& law, const std::vector<long long>& counts) {
  if (static_cast<std::size_t>(law.size()) != counts.size())
    throw Error("counts of an alphabet", "one for each of " + std::to_string(law.size()) + " probabilities",
                std::to_string(counts.size()));
  const std::vector<Limits> limits = limits_of(law);
  long long draws = 0;
  for (const long long count : counts) {
    if (count < 0) throw Error("count of a symbol", "0 or more", std::to_string(count));
    draws += count;
  }
  if (draws == 0) throw Error("frequencies", "at least one draw", "none");
  Frequency worst;
  worst.draws = draws;
  for (Index i = 0; i < law.size(); ++i) {
    const Limits& p = limits[static_cast<std::size_t>(i)];
    const long long count = counts[static_cast<std::size_t>(i)];
    const double over = binomial_at_least(count, draws, p.high), under = binomial_at_most(count, draws, p.low);
    const double tail = std::min(over, under);
    const bool impossible = count > 0 && p.high == 0;  // says more than any rarity
    if (i > 0 && tail >= worst.tail && !(impossible && worst.high > 0)) continue;
    worst = {i, count, draws, p.low, p.high, over < under, tail, level(law.size())};
  }
  return worst;
}

long long draws_to_refuse(const Vector<Bound>& law, const Vector<double>& wrong, double power) {
  if (law.size() != wrong.size())
    throw Error("laws over one alphabet", std::to_string(law.size()) + " symbols", std::to_string(wrong.size()));
  const std::vector<Limits> limits = limits_of(law);
  const auto refused = [&](long long n) {
    for (Index i = 0; i < law.size(); ++i) {
      if (chance_of_refusal(limits[static_cast<std::size_t>(i)], wrong[i], n, level(law.size())) >= power) return true;
    }
    return false;
  };
  long long enough = 1;
  for (; !refused(enough); enough *= 2) {
    if (enough >= 1LL << 30)
      throw Error("draws that refuse a law", "laws that 2^30 draws tell apart", "laws nearer than that");
  }
  for (long long too_few = enough / 2; enough - too_few > 1 + enough / 64;) {
    const long long n = too_few + (enough - too_few) / 2;
    (refused(n) ? enough : too_few) = n;
  }
  return enough;
}

}  // namespace assay

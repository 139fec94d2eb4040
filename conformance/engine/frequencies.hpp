#pragma once
#include <vector>

#include "reference/core/readings/bound.hpp"
#include "reference/core/tensor.hpp"

// Laws: how often a sampler may draw each symbol of a small alphabet, from exact tails of the binomial distribution.
// Plain arithmetic in a fixed order: the same bits on every machine.
namespace assay {

/// The chance that one check refuses an honest sampler. A release asks some 50 claims of kind law on 5 targets in about
/// 2,200 cases (the tiers quick, default and thorough together): 550,000 checks, so one false alarm in 1,800 releases.
/// 1e-6 would alarm in every second release; what 1e-9 costs instead of 1e-6 is about 1.5 times the draws. Seeds are
/// fixed, so an alarm stays until the sampler or its cases change: it never comes and goes.
inline constexpr double law_alarm = 1e-9;

/// P(X >= k) and P(X <= k) of X, the successes in n independent draws of probability p. Relative error 4 u sqrt(300 n);
/// below 2^-200 the result may be 0. Throws Error unless n >= 0 and 0 <= p <= 1.
double binomial_at_least(long long k, long long n, double p);
double binomial_at_most(long long k, long long n, double p);

/// The symbol whose count is the hardest to explain.
struct Frequency {
  Index symbol = 0;
  long long count = 0, draws = 0;
  double low = 0, high = 1;  // its probability lies between
  bool too_often = false;    // otherwise too rare
  double tail = 1;           // the chance of a count at least as far off, at the end of [low, high] that is the nearest
  double needed = 0;         // the tail below which it is refused: law_alarm over two tails of every symbol
  bool refused() const { return tail < needed; }
};

/// Judges counts [symbols] of independent draws against their law [symbols]. A probability with an error may be
/// anything within what is allowed; a symbol of probability 0 that was drawn has tail 0. Throws Error if the sizes
/// differ, there is no draw, a count is negative, or the law is none: not within [0, 1], or its sum is not 1 by more
/// than the errors in it and a rounding of each of its values and sums.
Frequency rarest_frequency(const Vector<Bound>& law, const std::vector<long long>& counts);

/// A number of draws at which a sampler of law `wrong` is refused with at least probability `power`: how many draws a
/// property has to make to see a bias. Close to the smallest such number (counts are whole, so power does not rise
/// evenly). Throws Error if 2^30 draws do not tell the laws apart.
long long draws_to_refuse(const Vector<Bound>& law, const Vector<double>& wrong, double power = 0.999);

}  // namespace assay

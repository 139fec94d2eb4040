#include "conformance/engine/frequencies.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "conformance/engine/claim.hpp"
#include "reference/core/philox.hpp"

namespace assay {
namespace {

/// P(X = k) by Pascal's rule, row by row: another way to the same numbers, in extended precision.
std::vector<long double> pascal(int n, double p) {
  std::vector<long double> row{1};
  for (int m = 1; m <= n; ++m) {
    std::vector<long double> next(row.size() + 1, 0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      next[k] += (1 - static_cast<long double>(p)) * row[k];
      next[k + 1] += static_cast<long double>(p) * row[k];
    }
    row = next;
  }
  return row;
}

/// Draws n symbols of a law, two from each Philox counter.
std::vector<long long> drawn(const Vector<double>& law, long long n, std::uint64_t seed) {
  std::vector<long long> counts(static_cast<std::size_t>(law.size()), 0);
  PhiloxCounter w{};
  for (long long i = 0; i < n; ++i) {
    if (i % 2 == 0) w = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, philox_key(seed));
    double u = i % 2 == 0 ? unit(w[0], w[1]) : unit(w[2], w[3]);
    Index s = 0;
    while (s + 1 < law.size() && u >= law[s]) u -= law[s++];
    ++counts[static_cast<std::size_t>(s)];
  }
  return counts;
}

Vector<Bound> exactly(const Vector<double>& law) {
  Vector<Bound> p(law.size());
  for (Index i = 0; i < law.size(); ++i) p[i] = law[i];
  return p;
}

/// What `steps` ratios of neighbouring terms and their sums may be off, relatively: six roundings a step (three of the
/// ratio, two of the odds, one of the sum) in both sums of the quotient.
double roundings(double steps) { return 12 * (steps + 1) * 0x1p-53; }

TEST(Binomial, TailsEqualPascalsRule) {
  for (const int n : {1, 2, 7, 60, 400}) {
    for (const double p : {0x1p-20, 0.01, 0.3, 0.5, 0.75, 1 - 0x1p-10}) {
      const std::vector<long double> mass = pascal(n, p);
      long double upper = 0;
      for (int k = n; k >= 0; --k) {
        upper += mass[static_cast<std::size_t>(k)];
        if (upper < 1e-40L) continue;  // terms below 2^-200 of the largest are left out
        EXPECT_NEAR(binomial_at_least(k, n, p) / static_cast<double>(upper), 1, roundings(n))
            << n << " " << p << " " << k;
      }
      long double lower = 0;
      for (int k = 0; k <= n; ++k) {
        lower += mass[static_cast<std::size_t>(k)];
        if (lower < 1e-40L) continue;
        EXPECT_NEAR(binomial_at_most(k, n, p) / static_cast<double>(lower), 1, roundings(n))
            << n << " " << p << " " << k;
      }
    }
  }
}

TEST(Binomial, TailsOfManyDraws) {
  const long long n = 100'000'000;
  // A normal tail, half a count nearer for whole numbers. Of a symmetric law it is off by x^4 / (12 n) relatively, to
  // first order (Edgeworth); as much again for what that leaves out.
  const double x = (30'000 - 0.5) / 5'000, normal = std::erfc(x / std::sqrt(2.0)) / 2;
  EXPECT_NEAR(binomial_at_least(n / 2 + 30'000, n, 0.5) / normal, 1, 2 * x * x * x * x / (12.0 * n));
  // the same by symmetry, up to the roundings of 17 deviations of 5,000 counts, twice
  EXPECT_NEAR(binomial_at_least(n / 2 + 30'000, n, 0.5) / binomial_at_most(n / 2 - 30'000, n, 0.5), 1,
              2 * roundings(17 * 5'000));
  // a rare symbol: the tail of a Poisson law of mean 2, 1 - e^-2 (1 + 2 + 2 + 4/3)
  // within n p^2 (Le Cam)
  EXPECT_NEAR(binomial_at_least(4, n, 2e-8), 1 - std::exp(-2.0) * (5 + 4.0 / 3), n * 2e-8 * 2e-8);
}

TEST(Binomial, Ends) {
  EXPECT_EQ(binomial_at_least(0, 5, 0.0), 1);
  EXPECT_EQ(binomial_at_least(1, 5, 0.0), 0);
  EXPECT_EQ(binomial_at_least(5, 5, 1.0), 1);
  EXPECT_EQ(binomial_at_most(4, 5, 1.0), 0);
  EXPECT_EQ(binomial_at_most(5, 5, 0.3), 1);
  EXPECT_EQ(binomial_at_least(6, 5, 0.3), 0);
  EXPECT_EQ(binomial_at_least(0, 0, 0.3), 1);
  EXPECT_THROW(binomial_at_least(0, -1, 0.3), Error);
  EXPECT_THROW(binomial_at_least(0, 1, 1.5), Error);
  EXPECT_THROW(binomial_at_most(0, 1, not_a_number), Error);
}

TEST(Law, HonestSamplersPassAndTheTailsAreThoseOfTheirCounts) {
  const std::vector<Vector<double>> laws{{0.5, 0.5}, {0.7, 0.2, 0.1}, {0.96, 0.02, 0.01, 0.01, 0.0}};
  for (const Vector<double>& law : laws) {
    int one_in_hundred = 0;
    for (std::uint64_t run = 0; run < 10'000; ++run) {
      const Frequency f = rarest_frequency(exactly(law), drawn(law, 300, run));
      ASSERT_FALSE(f.refused()) << "run " << run;
      one_in_hundred += f.tail < 0.01 / (2 * static_cast<double>(law.size()));
    }
    // at a level of 0.01 at most 100 of 10,000 runs are expected (sigma 10): the tails are neither too small nor
    // vacuous
    EXPECT_LE(one_in_hundred, 150);
    EXPECT_GE(one_in_hundred, 10);
  }
}

TEST(Law, BiasedSamplersAreRefusedAtTheNumberOfDrawsThatPowerAsksFor) {
  struct Biased {
    Vector<double> law, wrong;
    long long at_least, at_most;  // by the normal law: (6.4 + 3.1)^2 p q / bias^2, 6.4 for two symbols, 3.1 for 0.999
  };
  const std::vector<Biased> all{
      {{0.5, 0.5}, {0.51, 0.49}, 200'000, 250'000},
      {{0.5, 0.5}, {0.55, 0.45}, 8'000, 10'000},
      {{0.7, 0.2, 0.1}, {0.7, 0.15, 0.15}, 2'500, 4'500},
      {{0.6, 0.4, 0.0}, {0.599, 0.4, 0.001}, 6'900, 7'100}};  // ln 1000 / 0.001: once is enough
  for (const Biased& b : all) {
    const long long n = draws_to_refuse(exactly(b.law), b.wrong);
    EXPECT_GE(n, b.at_least);
    EXPECT_LE(n, b.at_most);
    int refused = 0, refused_with_few = 0;
    for (std::uint64_t run = 0; run < 20; ++run) {
      refused += rarest_frequency(exactly(b.law), drawn(b.wrong, n, run)).refused();
      refused_with_few += rarest_frequency(exactly(b.law), drawn(b.wrong, n / 8, run)).refused();
    }
    EXPECT_GE(refused, 19) << "0.999 each: two misses in 20 runs have probability 2e-4";
    EXPECT_LE(refused_with_few, 15) << "an eighth of the draws cannot have the same power";
  }
  EXPECT_THROW(draws_to_refuse(exactly({0.5, 0.5}), {0.5, 0.5}), Error);
}

TEST(Law, AnErrorInTheLawIsAllowedAndNoMore) {
  Vector<Bound> law{0.5, 0.5};
  for (Index i = 0; i < 2; ++i) law[i].b = law[i].w = 0.01;
  EXPECT_FALSE(rarest_frequency(law, drawn({0.51, 0.49}, 1'000'000, 1)).refused());
  EXPECT_TRUE(rarest_frequency(law, drawn({0.52, 0.48}, 1'000'000, 1)).refused());
  EXPECT_TRUE(rarest_frequency(exactly({0.5, 0.5}), drawn({0.51, 0.49}, 1'000'000, 1)).refused());
}

TEST(Law, ImpossibleSymbolsAndBadLaws) {
  const Frequency f = rarest_frequency({0.25, 0.75, 0.0}, {250'000, 749'999, 1});
  EXPECT_TRUE(f.refused());
  EXPECT_EQ(f.symbol, 2);
  EXPECT_EQ(f.tail, 0);
  EXPECT_FALSE(rarest_frequency({1.0, 0.0}, {9, 0}).refused());
  EXPECT_TRUE(rarest_frequency({1.0, 0.0}, {8, 1}).refused());
  EXPECT_FALSE(rarest_frequency(exactly(Vector<double>(10, 0.1)), std::vector<long long>(10, 7)).refused());
  EXPECT_THROW(rarest_frequency({0.5, 0.5}, {0, 0}), Error);
  EXPECT_THROW(rarest_frequency({0.5, 0.5}, {1, 2, 3}), Error);
  EXPECT_THROW(rarest_frequency({0.5, 0.5}, {3, -1}), Error);
  EXPECT_THROW(rarest_frequency({0.5, 0.4}, {1, 1}), Error);
  EXPECT_THROW(rarest_frequency({1.5, -0.5}, {1, 1}), Error);
  EXPECT_THROW(rarest_frequency({not_a_number, 1.0}, {1, 1}), Error);
}

TEST(Law, ACheckSaysWhichSymbolAndHowRare) {
  const Page& page = assay::page("softmax.safe");
  const Space space(page);
  Check check(Case(space), nullptr, parse_contract("fp64"), 8);
  check.frequencies("tokens", {5'000, 5'000}, {0.5, 0.5});
  EXPECT_EQ(check.compared(), 2);
  try {
    check.frequencies("tokens", {5'400, 4'600}, {0.5, 0.5});
    FAIL() << "a bias of 0.04 over 10,000 draws";
  } catch (const Failure& f) {
    EXPECT_EQ(f.what, "tokens: drawn too often");
    EXPECT_EQ(f.where, "symbol 0, 10000 draws");
    EXPECT_EQ(f.expected, "probability 0.5");
    EXPECT_EQ(f.got, "5400 times, 0.54 of the draws");
    EXPECT_EQ(f.allowed.rfind("counts of tail probability 2.5e-10 and more, found 6.", 0), 0U) << f.allowed;
  }
  try {
    check.frequencies("tokens", {9'999, 1}, {1.0, 0.0});
    FAIL() << "an impossible symbol";
  } catch (const Failure& f) {
    EXPECT_EQ(f.what, "tokens: drawn although its probability is 0");
    EXPECT_EQ(f.where, "symbol 1, 10000 draws");
  }
  try {
    check.frequencies("tokens", {0, 0}, {0.5, 0.5});
    FAIL() << "no draw";
  } catch (const Failure& f) {
    EXPECT_EQ(f.what, "tokens: no draw was made");
  }
}

}  // namespace
}  // namespace assay

#include <gtest/gtest.h>

#include "reference/core/error.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/verdict.hpp"

namespace assay {
namespace {

using testing::Random;
constexpr double kInf = __builtin_huge_val(), kNaN = __builtin_nan("");
constexpr Round rn = Round::nearest_even;

Bound with(double v, double s2, double b, double w) {
  Bound x(v);
  x.s2 = s2;
  x.b = b;
  x.w = w;
  return x;
}

TEST(BoundVerdict, WithoutErrorItIsCorrectRounding) {
  EXPECT_TRUE(judge(Bound(1 + 0x1p-30), 1, formats::bf16, rn, 8).accepted);
  EXPECT_FALSE(judge(Bound(1 + 0x1p-30), 1 + 0x1p-7, formats::bf16, rn, 8).accepted);
  EXPECT_TRUE(judge(Bound(1 + 0x1p-8), 1, formats::bf16, rn, 8).accepted) << "a tie goes to the even one";
  EXPECT_FALSE(judge(Bound(1 + 0x1p-8), 1 + 0x1p-7, formats::bf16, rn, 8).accepted);
  EXPECT_TRUE(judge(Bound(1 + 0x1.8p-8), 1, formats::bf16, Round::toward_zero, 8).accepted);
  EXPECT_FALSE(judge(Bound(1 + 0x1.8p-8), 1, formats::bf16, rn, 8).accepted);
}

TEST(BoundVerdict, AllowsTheSmallerOfTheTwoBounds) {
  const double sigma = 0x1p-20;
  const Bound y = with(1, sigma * sigma, 0, 1);
  EXPECT_TRUE(judge(y, 1 + 7 * sigma, formats::fp64, rn, 8).accepted);
  EXPECT_FALSE(judge(y, 1 + 9 * sigma, formats::fp64, rn, 8).accepted);
  EXPECT_NEAR(judge(y, 1 + 9 * sigma, formats::fp64, rn, 8).z, 9, 1e-9);
  EXPECT_FALSE(judge(with(1, sigma * sigma, 0, 2 * sigma), 1 + 7 * sigma, formats::fp64, rn, 8).accepted);
  EXPECT_TRUE(judge(with(1, sigma * sigma, 2 * sigma, 1), 1 + 9 * sigma, formats::fp64, rn, 8).accepted);
}

TEST(BoundVerdict, Specials) {
  const auto accepted = [](const Bound& y, double o) { return judge(y, o, formats::fp16, rn, 8).accepted; };
  EXPECT_TRUE(accepted(Bound(kNaN), kNaN));
  EXPECT_FALSE(accepted(Bound(kNaN), 1));
  EXPECT_FALSE(accepted(Bound(1), kNaN));
  EXPECT_TRUE(accepted(Bound(kInf), kInf));
  EXPECT_FALSE(accepted(Bound(kInf), -kInf));
  EXPECT_FALSE(accepted(Bound(kInf), 65504));
  EXPECT_TRUE(accepted(Bound(65520), kInf)) << "the threshold itself overflows";
  EXPECT_FALSE(accepted(Bound(65519), kInf));
  EXPECT_TRUE(accepted(with(65519, 0, 1, 1), kInf));
  EXPECT_TRUE(accepted(with(1, 0, kInf, kInf), kNaN)) << "no bound";
  EXPECT_TRUE(judge(Bound(1000), 448, formats::e4m3, rn, 8).accepted) << "saturates";
  EXPECT_THROW(judge(Bound(1), 0.1, formats::fp16, rn, 8), Error);
}

TEST(BoundVerdict, ZOfATier) {
  EXPECT_NEAR(z_of(kQuickElements), 7.5, 0.05);
  EXPECT_NEAR(z_of(kDefaultElements), 8.0, 0.05);
  EXPECT_NEAR(z_of(kThoroughElements), 8.4, 0.05);
}

/// y with independent errors of standard deviation 2^-12 |y| and one error per row, observed through `out`.
struct Rows {
  std::vector<Bound> y;
  std::vector<double> o;
};
Rows draw(Random& random, int rows, int n, double gain, bool shared, const Format& out, Round round) {
  Rows r;
  for (int i = 0; i < rows; ++i) {
    const double row_error = shared ? (2 * random.uniform() - 1) * std::sqrt(3.0) * 0x1p-10 : 0;
    for (int j = 0; j < n; ++j) {
      Bound y(random.normal());
      y.s2 = y.v * y.v * 0x1p-24;
      if (shared) {
        y.c = y.v * 0x1p-10;
        y.symbol = static_cast<std::uint32_t>(i + 1);
      }
      y.w = 1;
      const double error = (2 * random.uniform() - 1) * std::sqrt(3.0) * 0x1p-12 + row_error + gain;
      r.y.push_back(y);
      r.o.push_back(round_to(out, y.v * (1 + error), round));
    }
  }
  return r;
}
Aggregate all(const Rows& r, const Format& out, Round round) {
  return judge_aggregate(r.y.data(), r.o.data(), static_cast<Index>(r.y.size()), out, round, z_of(kDefaultElements));
}

TEST(BoundVerdict, AggregateAcceptsHonestRows) {
  Random random(5);
  double spread = 0;
  for (int rep = 0; rep < 200; ++rep)
    for (const Format* out : {&formats::fp32, &formats::fp16, &formats::bf16}) {
      const Aggregate a = all(draw(random, 8, 64, 0, rep % 2, *out, rn), *out, rn);
      EXPECT_TRUE(a.accepted) << a.gain << " of " << a.gain_allowed << ", " << a.spread << " of " << a.spread_allowed;
      EXPECT_EQ(a.elements, 8 * 64);
      spread += a.spread / 600;
    }
  EXPECT_NEAR(spread, 0.95, 0.1) << "its expectation is at most 1";
}

TEST(BoundVerdict, AggregateSeesABiasThatNoElementShows) {
  Random random(6);
  const Rows r = draw(random, 16, 256, 3 * 0x1p-12, false, formats::fp32, rn);
  const double z = z_of(kDefaultElements);
  for (std::size_t i = 0; i < r.y.size(); ++i) ASSERT_TRUE(judge(r.y[i], r.o[i], formats::fp32, rn, z).accepted);
  EXPECT_FALSE(all(r, formats::fp32, rn).accepted);
  // Truncated outputs under a contract that rounds to nearest; the same outputs are honest where it truncates.
  Random again(6);
  const Rows t = draw(again, 16, 256, 0, false, formats::bf16, Round::toward_zero);
  EXPECT_FALSE(all(t, formats::bf16, rn).accepted);
  EXPECT_TRUE(all(t, formats::bf16, Round::toward_zero).accepted);
}

TEST(BoundVerdict, AggregateKnowsSharedErrors) {
  // The same rows, their common error not declared as shared: the gain's variance is then far too small.
  Random random(8);
  int rejected = 0;
  for (int rep = 0; rep < 20; ++rep) {
    Rows r = draw(random, 1, 4096, 0, true, formats::fp32, rn);
    EXPECT_TRUE(all(r, formats::fp32, rn).accepted);
    for (Bound& y : r.y) {
      y.s2 += y.c * y.c;
      y.c = 0;
      y.symbol = 0;
    }
    rejected += !all(r, formats::fp32, rn).accepted;
  }
  EXPECT_GT(rejected, 10);
}

}  // namespace
}  // namespace assay

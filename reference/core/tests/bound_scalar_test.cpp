// The rows of the algebra for scalar operations.
#include <gtest/gtest.h>

#include <functional>

#include "reference/core/math.hpp"
#include "reference/core/tests/bound_testing.hpp"

namespace assay {
namespace {

using testing::Adversary;
using testing::Random;

constexpr double kInf = __builtin_huge_val();
constexpr double u = 0x1p-24;

struct BoundScalar : ::testing::Test {
  Contract fp32 = parse_contract("fp32"), fp16 = parse_contract("in=fp16 acc=fp16 out=fp16");
  ReadingScope scope{{&fp32, false, 8}};
};

Bound noisy(double v, double s2, double b = 0) {
  Bound x(v);
  x.s2 = s2;
  x.b = b;
  x.w = b + 10 * std::sqrt(s2);
  return x;
}

void expect_exact(const Bound& x, double v) {
  EXPECT_EQ(x.v, v);
  EXPECT_EQ(x.s2, 0);
  EXPECT_EQ(x.b, 0);
  EXPECT_EQ(x.w, 0);
}

TEST_F(BoundScalar, ExactOperationsHaveNoError) {
  expect_exact(Bound(1.5) + Bound(2.25), 3.75);
  expect_exact(Bound(1.5) - Bound(2.25), -0.75);
  expect_exact(Bound(3) * Bound(5), 15);
  expect_exact(Bound(0.1f) * Bound(8), 0.1f * 8.0);
  expect_exact(Bound(0.1f) / Bound(8), 0.1f / 8.0);
  expect_exact(Bound(0) / Bound(3), 0);
  expect_exact(exp(Bound(0)), 1);
  expect_exact(exp(Bound(-kInf)), 0);
  expect_exact(log(Bound(1)), 0);
  expect_exact(sqrt(Bound(9)), 3);
  expect_exact(Bound(-kInf) + Bound(1), -kInf);
  expect_exact(max(Bound(1), Bound(2)), 2);
  const Bound x = noisy(3, 1e-12);
  EXPECT_EQ((x + Bound(0)).s2, x.s2) << "adding nothing rounds nothing";
  EXPECT_EQ((x * Bound(4)).s2, 16 * x.s2);
  EXPECT_EQ((x / Bound(4)).w, x.w / 4);
}

// Whatever an argument within its errors, and a tanh within eps of it, can give is within w; and what z deviations of
// the argument give within the allowance. It is also reached: the slope f' of tanh changes by
// |f''| <= 2 f', so within 10 s it is at most e^(20 s) of what a difference over 10 s has.
TEST_F(BoundScalar, TanhCoversItsArgumentAndItsOwnError) {
  const double eps = 5 * u;  // 2.5 ulp
  for (const double x : {1e-3, 0.2, -0.66, 1.0, 2.5, -6.0, 20.0})
    for (const double s : {0.0, 1e-9, 1e-5, 1e-2, 0.3}) {
      const Bound y = tanh(noisy(x, s * s));
      // the double tanh here errs by 2^-52 of its value, twice in a difference of at least eps times it
      const double own_error = 4 * 0x1p-52 * std::fabs(y.v);
      double reached = 0, likely = 0;
      for (const double side : {-1.0, 1.0})
        for (const double own : {-eps, eps}) {
          reached = std::max(reached, std::fabs(math::tanh(x + side * 10 * s) * (1 + own) - y.v));
          likely = std::max(likely, std::fabs(math::tanh(x + side * 8 * s) * (1 + own) - y.v));
        }
      EXPECT_GE(y.w + own_error, reached) << x << " " << s;
      EXPECT_GE(y.allowed() + own_error, likely) << x << " " << s;
      if (s <= 1e-5) {
        EXPECT_LE(y.w, (1 + 40 * s) * (reached + own_error)) << x << " " << s;
      }
    }
  EXPECT_EQ(tanh(Bound(0)).w, 0);
  EXPECT_EQ(tanh(Bound(kInf)).v, 1);
}

TEST_F(BoundScalar, NotExactUnlessProvable) {
  EXPECT_GT((Bound(1) + Bound(u)).w, 0) << "needs 25 bits";
  EXPECT_GT((Bound(1.0f / 3) * Bound(3)).w, 0);
  EXPECT_GT((Bound(6) / Bound(3)).w, 0) << "6 * (1/3) is not 2 exactly unless the kernel divides";
  EXPECT_GT((Bound(0x1p-100) * Bound(0x1.8p-60)).w, 0) << "underflows";
  {
    ReadingScope none({nullptr, false, 8});
    EXPECT_GT((Bound(1) + Bound(0x1p-60)).w, 0) << "without a contract: fp64";
    expect_exact(Bound(1) + Bound(u), 1 + u);
  }
}

TEST_F(BoundScalar, RowsOfTheAlgebra) {
  const double r = u * u / 3, sx = 1e-12, sy = 3e-12, e = 5 * u;
  const Bound x = noisy(3, sx), y = noisy(-7.1f, sy);
  const auto near = [](double found, double expected) { EXPECT_NEAR(found / expected, 1, 1e-4); };
  near((x + y).s2, sx + sy + r * 4.1 * 4.1);
  near((x - y).s2, sx + sy + r * 10.1 * 10.1);
  near((x * y).s2, 7.1 * 7.1 * sx + 9 * sy + r * 21.3 * 21.3);
  near((x / y).s2, (sx + 9 / (7.1 * 7.1) * sy) / (7.1 * 7.1) + 2 * r * 9 / (7.1 * 7.1));
  near(exp(x).s2, std::exp(6.0) * (sx + e * e));
  near(exp2(x).s2, 64 * (std::log(2.0) * std::log(2.0) * sx + e * e));
  near(log(x).s2, sx / 9 + std::log(3.0) * std::log(3.0) * e * e);
  near(sqrt(x).s2, sx / 12 + r * 3);
  near((x + x).s2, 4 * sx + r * 36);
  near((x * x).s2, 36 * sx + r * 81);
  // Second order: what a first-order variance misses goes to b, with z sigma of each operand.
  EXPECT_GE((x * y).b, 64 * std::sqrt(sx * sy));
  EXPECT_GE(exp(x).b, std::exp(3.0) * 64 * sx / 2);
  EXPECT_NEAR((noisy(3, 0, 0.25) + Bound(1)).b, 0.25, 1e-6);
  EXPECT_NEAR((noisy(3, 0, 0.25) * Bound(2)).b, 0.5, 1e-6);
}

TEST_F(BoundScalar, SharedSymbols) {
  Bound x = noisy(3, 0), y = noisy(4, 0);
  x.c = 0.5, x.symbol = 7, x.w = 10;
  y.c = 0.25, y.symbol = 7, y.w = 10;
  EXPECT_DOUBLE_EQ((x - y).c, 0.25);
  EXPECT_DOUBLE_EQ((x + y).c, 0.75);
  EXPECT_DOUBLE_EQ((x * y).c, 4 * 0.5 + 3 * 0.25);
  EXPECT_DOUBLE_EQ((-x).c, -0.5);
  y.symbol = 8;
  const Bound s = y - x;
  EXPECT_DOUBLE_EQ(s.c, -0.5) << "the larger keeps its symbol";
  EXPECT_EQ(s.symbol, 7u);
  EXPECT_NEAR(s.s2, 0.0625, 1e-6) << "the smaller becomes independent";
}

TEST_F(BoundScalar, Specials) {
  expect_exact(exp(Bound(1000)), kInf);
  EXPECT_TRUE(std::isnan((Bound(kInf) - Bound(kInf)).v));
  EXPECT_EQ((Bound(kInf) - Bound(kInf)).w, 0);
  expect_exact(log(Bound(0)), -kInf);
  // What may overflow the accumulator has no bound: an honest kernel returns Inf, or the value.
  EXPECT_EQ((Bound(3e38f) + Bound(3e38f)).w, kInf);
  EXPECT_EQ(exp(Bound(88.9)).allowed(), kInf);
  EXPECT_LT(exp(Bound(88.0)).allowed(), kInf);
  // A denominator that may be 0.
  EXPECT_EQ((Bound(1) / noisy(1e-6, 1e-10)).allowed(), kInf);
  // Flushed results.
  EXPECT_GE(exp(Bound(-90.0)).b, std::exp(-90.0));
  EXPECT_GE(exp(Bound(-90.0)).w, std::exp(-90.0));
}

TEST_F(BoundScalar, MaxCoversItsCandidates) {
  const Bound x = noisy(1, 1e-6), y = noisy(1.001, 1e-6), z = noisy(0.5, 1e-6);
  EXPECT_DOUBLE_EQ(max(x, y).v, 1.001);
  EXPECT_NEAR(max(x, y).b, 1 + 8e-3 - 1.001, 1e-9);
  EXPECT_DOUBLE_EQ(max(z, y).b, 0) << "out of reach";
}

/// w holds against roundings that all err by the whole unit roundoff, for chains of operations, to all orders.
TEST_F(BoundScalar, WorstCaseHolds) {
  Random random(1);
  int tight = 0;
  for (const Contract* c : {&fp32, &fp16}) {
    ReadingScope s({c, false, 8});
    const double unit = c->u();
    for (int rep = 0; rep < 20000; ++rep) {
      Adversary fl{random, unit, static_cast<double>(random.below(3)) - 1};
      Bound x(random.between(0.5, 2));
      double k = x.v;
      for (int step = 0; step < 6; ++step) {
        const Bound o(random.between(0.5, 2));
        switch (random.below(8)) {
          case 0:
            x = x + o;
            k = fl(k + o.v);
            break;
          case 1:
            x = x - o;
            k = fl(k - o.v);
            break;
          case 2:
            x = x * o;
            k = fl(k * o.v);
            break;
          case 3:
            x = x / o;
            k = fl(fl(1 / o.v) * k);
            break;
          case 4:
            x = o / x;
            k = fl(fl(1 / k) * o.v);
            break;
          case 5:
            if (x.v < 3) {
              x = exp(x);
              k = fl(std::exp(k), 5);
            }
            break;
          case 6:
            if (x.v > 0.3) {
              x = log(x);
              k = fl(std::log(k), 5);
            }
            break;
          case 7:
            if (x.v > 0.01) {
              x = sqrt(x);
              k = fl(std::sqrt(k));
            }
            break;
        }
        if (!(std::fabs(x.v) < 1e4) || !(x.w < 1e4)) break;
        ASSERT_LE(std::fabs(k - x.v), x.w + testing::kTestArithmetic * (std::fabs(k) + 8))
            << "rep " << rep << " step " << step << " v " << x.v;
        tight += std::fabs(k - x.v) > 0.5 * x.w;
      }
    }
  }
  EXPECT_GT(tight, 1000) << "and it is reached within a factor of two";
}

}  // namespace
}  // namespace assay

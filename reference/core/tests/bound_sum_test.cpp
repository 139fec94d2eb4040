// Sums and dot products: each correction of the algebra has a case that needs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "reference/core/kernels.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/vocabulary/bound_accumulate.hpp"
#include "reference/core/vocabulary/primitives.hpp"

namespace assay {
namespace {

using testing::Adversary;
using testing::Random;
using Doubles = std::vector<double>;
using Bounds = std::vector<Bound>;

Bounds lift(const Doubles& x) { return {x.begin(), x.end()}; }
Bound sum(const Bounds& x) { return prim::sum(x.data(), static_cast<Index>(x.size()), 1); }

/// Natural, reversed, pairwise, 8 lanes, 32 lanes, 8 blocks: orders that do not look at the data.
double add_in_order(Doubles x, int order, Round mode) {
  const auto add = [&](double a, double b) { return round_to(formats::fp32, a + b, mode); };
  const Index n = static_cast<Index>(x.size());
  if (order == 1) std::reverse(x.begin(), x.end());
  if (order == 2) {
    for (Index width = n; width > 1; width = (width + 1) / 2)
      for (Index i = 0; i < width / 2; ++i) x[i] = add(x[i], x[width - 1 - i]);
    return n == 0 ? 0 : x[0];
  }
  const Index lanes = order == 3 ? 8 : order == 4 ? 32 : order == 5 ? 8 : 1;
  Doubles lane(static_cast<std::size_t>(lanes), 0.0);
  for (Index i = 0; i < n; ++i) {
    double& l = lane[static_cast<std::size_t>(order == 5 ? i * lanes / n : i % lanes)];
    l = add(l, x[static_cast<std::size_t>(i)]);
  }
  double s = lane[0];
  for (Index l = 1; l < lanes; ++l) s = add(s, lane[static_cast<std::size_t>(l)]);
  return s;
}

/// Worst z over the orders: how many sigma beyond b.
double worst_z(const Doubles& x, Round mode) {
  const Bound b = sum(lift(x));
  double z = 0;
  for (int order = 0; order < 6; ++order) {
    const double e = std::fabs(add_in_order(x, order, mode) - b.v);
    EXPECT_LE(e, b.w) << "order " << order;
    const double beyond = std::max(0.0, e - b.b);
    if (beyond > 0) z = std::max(z, b.s2 > 0 ? beyond / std::sqrt(b.s2) : 1e9);
  }
  return z;
}

Doubles floats(Index n, const std::function<double(Index)>& f) {
  Doubles x;
  for (Index i = 0; i < n; ++i) x.push_back(static_cast<float>(f(i)));
  return x;
}

struct BoundSum : ::testing::Test {
  Contract fp32 = parse_contract("fp32"), rz = parse_contract("fp32 kind=rz"), fp16 = parse_contract("fp16_acc_fp16");
  ReadingScope scope{{&fp32, false, 8}};
  Random random{7};
  void TearDown() override { detail::algebra_switches() = {}; }
};

TEST_F(BoundSum, ValueIsTheDoubleReadings) {
  for (Index n : {0, 1, 7, 8, 100, 1000}) {
    Doubles x = floats(3 * n, [&](Index) { return random.normal(); }),
            y = floats(n, [&](Index) { return random.normal(); });
    const Bounds bx = lift(x), by = lift(y);
    EXPECT_EQ(prim::sum(bx.data(), n, 3).v, kernels::sum(x.data(), n, 3));
    EXPECT_EQ(prim::sum_squares(bx.data(), n, 3).v, kernels::sum_squares(x.data(), n, 3));
    double chain = 0;
    for (Index i = 0; i < n; ++i)
      chain = std::fma(x[static_cast<std::size_t>(3 * i)], y[static_cast<std::size_t>(i)], chain);
    EXPECT_EQ(prim::dot(bx.data(), 3, by.data(), 1, n).v, chain);
  }
}

TEST_F(BoundSum, HonestOrdersStayFarInside) {
  double worst = 0;
  for (int rep = 0; rep < 30; ++rep) {
    const double constant = random.between(0.1, 0.4);
    const Doubles few{random.normal(), random.normal(), random.normal(), random.normal()};
    for (int profile = 0; profile < 6; ++profile) {
      Doubles x = floats(rep % 2 ? 256 : 2048, [&](Index i) {
        const double g = random.normal();
        switch (profile) {
          case 0:
            return g;
          case 1:
            return std::fabs(g);
          case 2:
            return constant;
          case 3:
            return few[static_cast<std::size_t>(random.below(4))];
          case 4:
            return std::fabs(g) * (i / 16 % 2 ? 1 : -1);
          default:
            return std::exp(static_cast<double>(i) * 0.005) * (1 + 0.1 * g);
        }
      });
      worst = std::max(worst, worst_z(x, Round::nearest_even));
    }
  }
  EXPECT_LT(worst, 3.5);
  EXPECT_GT(worst, 0.5) << "and the bound means something";
}

TEST_F(BoundSum, EqualTermsCarryEqualErrors) {
  const Doubles x = floats(4096, [](Index) { return 0.1; });
  detail::algebra_switches().lattice = false;  // which covers one value of full precision too
  EXPECT_LT(worst_z(x, Round::nearest_even), 8);
  detail::algebra_switches().grouping = false;
  EXPECT_GT(worst_z(x, Round::nearest_even), 8);
}

TEST_F(BoundSum, EqualOperandsCarryEqualErrors) {
  // 1000 copies of one rounded value: the error of the sum is 1000 times its own.
  Bound x = Bound(1.0f / 3) * Bound(1.1f);
  const Bounds copies(1000, x);
  EXPECT_GE(sum(copies).s2, 1e6 * x.s2);
  detail::algebra_switches().grouping = false;
  EXPECT_LT(sum(copies).s2 - sum(lift(Doubles(1000, x.v))).s2, 2e3 * x.s2);
}

TEST_F(BoundSum, OrderIsNotKnown) {
  // Pairs a, -a: in natural order every second partial sum is 0, in blocks or lanes none is.
  Doubles x;
  for (int i = 0; i < 1024; ++i) {
    const double a = static_cast<float>(100 * random.normal());
    x.push_back(a);
    x.push_back(-a);
  }
  x.back() = 1;
  Random shuffle(3);
  double z = 0, z_off = 0;
  for (int rep = 0; rep < 20; ++rep) {
    Doubles y = x;
    for (std::size_t i = y.size(); i > 1; --i)
      std::swap(y[i - 1], y[static_cast<std::size_t>(shuffle.below(static_cast<Index>(i)))]);
    const double kernel = add_in_order(y, 0, Round::nearest_even);
    for (bool on : {true, false}) {
      detail::algebra_switches().order = on;
      const Bound b = sum(lift(x));
      double& worst = on ? z : z_off;
      worst = std::max(worst, (std::fabs(kernel - b.v) - b.b) / std::sqrt(b.s2));
    }
  }
  EXPECT_LT(z, 3.5);
  EXPECT_GT(z_off, 8);
}

TEST_F(BoundSum, OrderByTheDataIsClassAny) {
  Contract any = parse_contract("fp32 order=any");
  std::vector<Doubles> draws;
  for (int rep = 0; rep < 20; ++rep) draws.push_back(floats(4096, [&](Index) { return random.normal(); }));
  const auto worst = [&] {
    double z = 0;
    for (const Doubles& x : draws) {
      Doubles sorted = x;
      std::sort(sorted.begin(), sorted.end());
      const Bound b = sum(lift(x));
      z = std::max(z, (std::fabs(add_in_order(sorted, 0, Round::nearest_even) - b.v) - b.b) / std::sqrt(b.s2));
    }
    return z;
  };
  EXPECT_GT(worst(), 8) << "sorting looks at the data: not oblivious";
  ReadingScope s({&any, false, 8});
  EXPECT_LT(worst(), 3.5);
}

TEST_F(BoundSum, TruncationDrifts) {
  ReadingScope s({&rz, false, 8});
  const Doubles x = floats(2048, [&](Index) { return std::fabs(random.normal()); });
  EXPECT_LT(worst_z(x, Round::toward_zero), 1);
  detail::algebra_switches().drift = false;
  EXPECT_GT(worst_z(x, Round::toward_zero), 8);
}

TEST_F(BoundSum, LatticesDrift) {
  // i + 1/4, a ramp of positions: where the sum's ulp is 1 or 2 every addition loses a quarter, or gains one.
  const Doubles x = floats(4096, [](Index i) { return static_cast<double>(i) + 0.25; });
  EXPECT_LT(worst_z(x, Round::nearest_even), 3.5);
  detail::algebra_switches().lattice = false;
  EXPECT_GT(worst_z(x, Round::nearest_even), 8);
}

TEST_F(BoundSum, ExactWhenEveryPartialSumFits) {
  const Doubles x = floats(500, [&](Index) { return static_cast<double>(random.below(200)) - 100; });
  Bound b = sum(lift(x));
  EXPECT_EQ(b.w, 0);
  EXPECT_EQ(b.allowed(), 0) << "so the verdict is bitwise";
  const Bounds bx = lift(x);
  EXPECT_EQ(prim::dot(bx.data(), 1, bx.data(), 1, 500).w, 0);
  detail::algebra_switches().exactness = false;
  EXPECT_GT(sum(lift(x)).allowed(), 0);
  detail::algebra_switches() = {};
  // One bit too many for some order, though not for the natural one.
  EXPECT_GT(sum(lift({0x1p24, -0x1p24, 1, 1, 0.5})).w, 0);
  EXPECT_EQ(sum(lift({0x1p23, -0x1p23, 1, 1, 0})).w, 0);
  {
    ReadingScope half({&fp16, false, 8});
    EXPECT_GT(sum(lift({2048, 1, 1})).w, 0);
    EXPECT_EQ(sum(lift({1024, 1, 1})).w, 0);
  }
  // 16-bit inputs: products exact in fp32, sums not.
  const Doubles y = floats(64, [&](Index) { return round_to(formats::bf16, random.normal()); });
  const Bounds by = lift(y);
  const Bound exact_products = prim::dot(by.data(), 1, by.data(), 1, 1);
  EXPECT_EQ(exact_products.w, 0);
  const Bounds third{Bound(1.0f / 3)};
  EXPECT_GT(prim::dot(third.data(), 1, third.data(), 1, 1).w, 0);
}

TEST_F(BoundSum, WorstCaseHolds) {
  double reached = 0;
  for (const Contract* c : {&fp32, &fp16}) {
    ReadingScope s({c, false, 8});
    for (int rep = 0; rep < 3000; ++rep) {
      const Index n = 1 + random.below(40);
      Adversary fl{random, c->u(), static_cast<double>(random.below(3)) - 1};
      const bool positive = rep % 2;
      Doubles a, b;
      Bounds ba, bb;
      for (Index i = 0; i < n; ++i) {
        a.push_back(positive ? random.between(1, 2) : random.normal());
        b.push_back(positive ? random.between(1, 2) : random.normal());
        // Operands with errors of their own, on both sides.
        ba.push_back(Bound(a.back()) * Bound(1.25));
        bb.push_back(Bound(b.back()));
        a.back() = fl(a.back() * 1.25);
      }
      double dot = 0, plain = 0, squares = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        dot = i == 0 ? fl(a[i] * b[i]) : fl(dot + fl(a[i] * b[i]));
        plain = i == 0 ? a[i] : fl(plain + a[i]);
        squares = i == 0 ? fl(a[i] * a[i]) : fl(squares + fl(a[i] * a[i]));
      }
      const Bound d = prim::dot(ba.data(), 1, bb.data(), 1, n), p = sum(ba), q = prim::sum_squares(ba.data(), n, 1);
      ASSERT_LE(std::fabs(dot - d.v),
                d.w + testing::kTestArithmetic * d.w + testing::kTestArithmetic * static_cast<double>(10 * n))
          << n;
      ASSERT_LE(std::fabs(plain - p.v),
                p.w + testing::kTestArithmetic * p.w + testing::kTestArithmetic * static_cast<double>(10 * n))
          << n;
      ASSERT_LE(std::fabs(squares - q.v),
                q.w + testing::kTestArithmetic * q.w + testing::kTestArithmetic * static_cast<double>(10 * n))
          << n;
      if (n > 1 && std::isfinite(d.w)) reached = std::max(reached, std::fabs(dot - d.v) / d.w);
    }
  }
  EXPECT_GT(reached, 0.4);
}

TEST_F(BoundSum, PartialSumsThatMayOverflowHaveNoBound) {
  EXPECT_LT(sum(lift({3e38, -3e38, 1})).w, __builtin_huge_val()) << "no order leaves the format";
  EXPECT_EQ(sum(lift({3e38, 3e38, -3e38, -3e38, 1})).allowed(), __builtin_huge_val()) << "3e38 + 3e38 is Inf in fp32";
  ReadingScope half({&fp16, false, 8});
  EXPECT_EQ(sum(lift({60000, 60000, -60000})).allowed(), __builtin_huge_val());
}

TEST_F(BoundSum, SharedErrorsAddWithTheirSign) {
  // One factor r on every x: its error in sum_i (x_i r) w_i is sum x_i w_i, not the root of the sum of squares.
  Bound r(1);
  r.s2 = 1e-10;
  r.w = 1;
  const Bound shared = prim::share(r);
  EXPECT_NE(shared.symbol, 0u);
  EXPECT_NE(prim::share(r).symbol, shared.symbol);
  Bounds x;
  double coherent = 0;
  for (int i = 0; i < 1000; ++i) {
    const double v = random.between(0.5, 1.5);
    x.push_back(Bound(v) * shared);
    coherent += v;
  }
  EXPECT_NEAR(sum(x).c, coherent * std::sqrt(r.s2), 1e-6 * coherent * std::sqrt(r.s2));
  for (int i = 0; i < 1000; i += 2) x[static_cast<std::size_t>(i)] = -x[static_cast<std::size_t>(i + 1)];
  EXPECT_NEAR(sum(x).c, 0, 1e-9 * coherent * std::sqrt(r.s2));
}

}  // namespace
}  // namespace assay

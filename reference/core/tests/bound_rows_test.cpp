// inv_rms, max, anchor, rounding sites; and that Bound's values are the double reading's.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/vocabulary/bound_accumulate.hpp"
#include "reference/core/vocabulary/primitives.hpp"

namespace assay {
namespace {

using testing::Adversary;
using testing::Random;
using Bounds = std::vector<Bound>;

struct BoundRows : ::testing::Test {
  Contract fp32 = parse_contract("fp32"), bf16 = parse_contract("bf16");
  ReadingScope scope{{&fp32, false, 8}};
  Random random{11};
  void TearDown() override { detail::algebra_switches() = {}; }
};

TEST_F(BoundRows, ChainsHaveTheDoubleReadingsBits) {
  for (int rep = 0; rep < 200; ++rep) {
    const Index n = 1 + random.below(70);
    std::vector<double> x, e;
    for (Index i = 0; i < n; ++i) x.push_back(static_cast<float>(5 * random.normal()));
    const Bounds bx(x.begin(), x.end());
    // softmax: e = exp(x - m), l = sum e, p = e / l, lse = m + log l
    const double m = kernels::max(x.data(), n);
    for (double v : x) e.push_back(math::exp(v - m));
    const double l = kernels::sum(e.data(), n);
    const Bound bm = prim::anchor(prim::max_value(bx.data(), n, 1));
    EXPECT_EQ(bm.v, m);
    Bounds be;
    for (const Bound& v : bx) be.push_back(exp(v - bm));
    const Bound bl = prim::sum(be.data(), n, 1);
    EXPECT_EQ(bl.v, l);
    EXPECT_EQ((bm + log(bl)).v, m + math::log(l));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ((be[i] / bl).v, e[i] / l);
    // layer norm: z = x - mean, r = inv_rms(z), y = z r w
    const double mean = kernels::sum(x.data(), n) / static_cast<double>(n), eps = 1e-5;
    const Bound bmean = prim::share(prim::sum(bx.data(), n, 1) / Bound(static_cast<double>(n)));
    EXPECT_EQ(bmean.v, mean);
    std::vector<double> z;
    Bounds bz;
    for (std::size_t i = 0; i < x.size(); ++i) {
      z.push_back(x[i] - mean);
      bz.push_back(bx[i] - bmean);
      EXPECT_EQ(bz[i].v, z[i]);
    }
    const double ms = kernels::sum_squares(z.data(), n) / static_cast<double>(n);
    EXPECT_EQ(prim::inv_rms(bz.data(), n, 1, eps).v, 1 / math::sqrt(ms + eps));
    EXPECT_EQ(prim::inv_rms_eps_outside(bz.data(), n, 1, eps).v, 1 / (math::sqrt(ms) + eps));
  }
}

TEST_F(BoundRows, InvRmsHoldsInTheWorstCase) {
  double reached = 0;
  Contract fp16 = parse_contract("fp16_acc_fp16 rsqrt=2");
  for (Contract* c : {&fp32, &fp16}) {
    ReadingScope s({c, false, 8});
    for (int rep = 0; rep < 3000; ++rep) {
      const Index n = 1 + random.below(30);
      Adversary fl{random, c->u(), static_cast<double>(random.below(3)) - 1};
      const double eps = rep % 2 ? 1e-5 : 0.3;
      Bounds x;
      double q = 0;
      for (Index i = 0; i < n; ++i) {
        const double v = random.normal();
        x.push_back(Bound(v) * Bound(1.5));  // with an error of its own
        const double k = fl(v * 1.5);
        q = i == 0 ? fl(k * k) : fl(q + fl(k * k));
      }
      // a power of two divides exactly
      const double ms = (n & (n - 1)) == 0 ? q / static_cast<double>(n) : fl(fl(1 / static_cast<double>(n)) * q);
      const double inside = fl(1 / std::sqrt(fl(ms + fl(eps))), 2 * 2),
                   outside = fl(1 / fl(fl(std::sqrt(ms)) + fl(eps)));
      const Bound in = prim::inv_rms(x.data(), n, 1, eps), out = prim::inv_rms_eps_outside(x.data(), n, 1, eps);
      ASSERT_LE(std::fabs(inside - in.v), in.w * (1 + testing::kTestArithmetic) + testing::kTestArithmetic * in.v) << n;
      ASSERT_LE(std::fabs(outside - out.v), out.w * (1 + testing::kTestArithmetic) + testing::kTestArithmetic * out.v)
          << n;
      if (std::isfinite(in.w)) reached = std::max(reached, std::fabs(inside - in.v) / in.w);
    }
  }
  EXPECT_GT(reached, 0.4);
}

TEST_F(BoundRows, InvRmsIsOneSymbolForItsRow) {
  Bounds x;
  for (int i = 0; i < 64; ++i) x.emplace_back(random.normal());
  const Bound r = prim::inv_rms(x.data(), 64, 1, 1e-6), other = prim::inv_rms(x.data(), 64, 1, 1e-6);
  EXPECT_EQ(r.s2, 0);
  EXPECT_GE(r.c, r.v * 4 * 0x1p-24) << "at least the error of rsqrt, 2 ulp";
  EXPECT_NE(r.symbol, other.symbol);
  EXPECT_EQ((x[0] * r).symbol, r.symbol);
}

TEST_F(BoundRows, TheMeansErrorCancelsInTheVariance) {
  // Centred rows share the error of their mean: to first order it leaves sum z^2 alone, to second order it adds n d^2.
  Bounds z;
  Bound mean(100.0f / 3);
  mean.s2 = 1e-8;
  mean.w = 1e-2;
  const Bound shared = prim::share(mean);
  double total = 0;
  std::vector<double> v;
  for (int i = 0; i < 64; ++i) v.push_back(static_cast<float>(random.normal()));
  for (double e : v) total += e;
  for (double e : v) z.push_back(Bound(e - total / 64 + mean.v) - shared);
  const Bound q = prim::sum_squares(z.data(), 64, 1);
  EXPECT_LT(q.variance(), 1e-9) << "independent errors would leave 4 sum z^2 1e-8 = 2.6e-6";
  EXPECT_GE(q.b, 64 * 64 * 1e-8) << "n (8 sigma)^2";
}

TEST_F(BoundRows, MaxAndAnchor) {
  Bounds x{Bound(1), Bound(3), Bound(2)};
  EXPECT_EQ(prim::max_value(x.data(), 3, 1).v, 3);
  EXPECT_EQ(prim::max_value(x.data(), 3, 1).w, 0);
  EXPECT_EQ(prim::max_value(x.data(), 0, 1).v, -__builtin_huge_val());
  EXPECT_EQ(prim::anchor(Bound(-__builtin_huge_val())).v, 0);
  x[2] = Bound(2.9995);
  x[2].s2 = 1e-6;
  x[2].w = 0.1;
  const Bound m = prim::max_value(x.data(), 3, 1);
  EXPECT_NEAR(m.b, 2.9995 + 0.008 - 3, 1e-9);
  EXPECT_NEAR(m.w, 2.9995 + 0.1 - 3, 1e-9);
  EXPECT_EQ(prim::anchor(m).w, 0);
  x[0] = Bound(__builtin_nan(""));
  EXPECT_TRUE(std::isnan(prim::max_value(x.data(), 3, 1).v));
}

TEST_F(BoundRows, SitesAreEmulated) {
  EXPECT_EQ(prim::site(Site::cast, Bound(0.1f)).w, 0) << "fp32 holds fp32";
  ReadingScope s({&bf16, false, 8});
  Bound x(0.1f);
  EXPECT_EQ(prim::site(Site::output, x).v, x.v) << "the judge's interval covers the output";
  const Bound clear = prim::site(Site::cast, x);
  EXPECT_EQ(clear.v, round_to(formats::bf16, 0.1f));
  EXPECT_EQ(clear.w, 0);
  x.s2 = 1e-16;
  x.w = 1e-6;
  EXPECT_EQ(prim::site(Site::cast, x).allowed(), 0) << "its error does not reach a tie";
  Bound tie(1 + 0x1p-8);
  tie.s2 = 1e-16;
  tie.w = 1e-6;
  const Bound either = prim::site(Site::cast, tie);
  EXPECT_EQ(either.b, 0x1p-7) << "either neighbour";
  EXPECT_EQ(either.w, 0x1p-7);
  Bound wide(1);
  wide.s2 = 1e-4;
  wide.w = 1;
  const Bound stat = prim::site(Site::cast, wide);
  EXPECT_EQ(stat.v, 1);
  EXPECT_GT(stat.s2, 1e-4) << "errors over several values: the variance of one more rounding";
  EXPECT_GT(prim::site(Site::accumulator, x).w, 0) << "the accumulator's own format adds nothing and removes nothing";
  Contract fp16 = parse_contract("fp16");
  ReadingScope h({&fp16, false, 8});
  EXPECT_EQ(prim::site(Site::cast, Bound(1e6)).v, __builtin_huge_val());
  Bound edge(65520);
  edge.w = edge.b = 1;
  EXPECT_EQ(prim::site(Site::cast, edge).allowed(), __builtin_huge_val());
}

}  // namespace
}  // namespace assay

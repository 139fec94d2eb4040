// The compensated sum: bit for bit the algorithm of kernels.hpp, and as accurate as it says.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/core/kernels.hpp"
#include "reference/core/tests/kernels_testing.hpp"

namespace assay {
namespace {

using testing::bits;
using testing::Random;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();

/// The text of kernels.hpp, word by word.
double by_definition(const std::vector<double>& x) {
  const auto two_sum = [](double a, double b, double& e) {
    const double s = a + b, part = s - a;
    e = (a - (s - part)) + (b - part);
    return s;
  };
  double lane[16] = {}, error[16] = {}, e = 0.0;
  const auto at = [&x](std::size_t i) { return i < x.size() ? x[i] : 0.0; };
  for (std::size_t i = 0; i < x.size(); i += 64)
    for (std::size_t l = 0; l < 16; ++l) {
      const std::size_t k = i + l;
      lane[l] = two_sum(lane[l], (at(k) + at(k + 16)) + (at(k + 32) + at(k + 48)), e);
      error[l] += e;
    }
  for (int h : {8, 4, 2, 1})
    for (int l = 0; l < h; ++l) {
      lane[l] = two_sum(lane[l], lane[l + h], e);
      error[l] = (error[l] + error[l + h]) + e;
    }
  return std::isfinite(error[0]) ? lane[0] + error[0] : lane[0];
}

double wide(Random& random, int exponents) {
  return std::ldexp(random.between(-1, 1), static_cast<int>(random.index(exponents)) - exponents / 2);
}

TEST(Sum, IsItsDefinitionBitForBit) {
  Random random(21);
  for (const auto& isa : testing::isas_here())
    for (const Index n :
         {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1000, 4099})
      for (const Index stride : {1, 3, -2}) {
        std::vector<double> x, y, xx, xy, memory(static_cast<std::size_t>(3 * n + 1)), other(memory.size());
        const Index start = stride < 0 ? 2 * n : 0;
        for (Index i = 0; i < n; ++i) {
          // The second half cancels the first in another order, so what remains is rounding errors: every detail of the
          // order shows.
          const auto mirror = static_cast<std::size_t>(n - 1 - i);
          x.push_back(i < (n + 1) / 2 ? wide(random, 200) : -x[mirror]);
          y.push_back(i < (n + 1) / 2 ? wide(random, 200) : y[mirror]);
          xx.push_back(x.back() * x.back());
          xy.push_back(x.back() * y.back());
          memory[static_cast<std::size_t>(start + i * stride)] = x.back();
          other[static_cast<std::size_t>(start + i * stride)] = y.back();
        }
        const double *p = memory.data() + start, *q = other.data() + start;
        EXPECT_EQ(bits(by_definition(x)), bits(isa.kernels->sum(p, n, stride))) << isa.name << n << " " << stride;
        EXPECT_EQ(bits(by_definition(xx)), bits(isa.kernels->sum_squares(p, n, stride))) << isa.name << n;
        EXPECT_EQ(bits(by_definition(xy)), bits(isa.kernels->sum_products(p, stride, q, stride, n))) << isa.name << n;
        EXPECT_EQ(bits(by_definition(xy)), bits(isa.kernels->sum_products(x.data(), 1, q, stride, n))) << isa.name;
      }
}

TEST(Sum, WithinItsBoundOfTheExactSum) {
  Random random(22);
  double worst = 0.0;
  for (int round = 0; round < 2000; ++round) {
    const bool one_sign = round % 2 == 0;
    const Index n = 1 + random.index(600);
    std::vector<double> x;
    for (Index i = 0; i < n; ++i) {
      const double v = wide(random, round % 3 == 0 ? 200 : 30);
      // Halves of the terms cancel each other nearly.
      x.push_back(one_sign ? std::fabs(v) : i % 2 && i > 2 ? -x[x.size() - 1] * (1 + v * 0x1p-30) : v);
    }
    mpfr_t exact, magnitude;  // 2200 bits hold every sum of doubles exactly
    mpfr_init2(exact, 2200);
    mpfr_init2(magnitude, 2200);
    mpfr_set_zero(exact, 1);
    mpfr_set_zero(magnitude, 1);
    for (const double v : x) {
      ASSERT_EQ(0, mpfr_add_d(exact, exact, v, MPFR_RNDN));
      ASSERT_EQ(0, mpfr_add_d(magnitude, magnitude, std::fabs(v), MPFR_RNDN));
    }
    const double u = 0x1p-53, g = (static_cast<double>(n) / 64 + 18) * u, all = mpfr_get_d(magnitude, MPFR_RNDU);
    const double s = std::fabs(mpfr_get_d(exact, MPFR_RNDA));
    mpfr_sub_d(exact, exact, kernels::sum(x.data(), n), MPFR_RNDA);
    const double error = std::fabs(mpfr_get_d(exact, MPFR_RNDA));
    const double bound = u * s + ((n > 16 ? 2 * u : 0) + g * g) * all;
    EXPECT_LE(error, bound) << "n = " << n;
    if (one_sign) {
      EXPECT_LE(error, 4 * u * s);
    }
    worst = std::max(worst, error / bound);
    mpfr_clears(exact, magnitude, static_cast<mpfr_ptr>(nullptr));
  }
  EXPECT_GT(worst, 0.5);  // the bound is nearly met
}

TEST(Sum, RecoversWhatAPlainSumLoses) {
  std::vector<double> x = {1e16};
  x.resize(64);  // the rest of its group is 0
  for (int i = 0; i < 800; ++i) x.push_back(1.0);
  x.resize(64 * 14);
  x.push_back(-1e16);
  EXPECT_EQ(800.0, kernels::sum(x.data(), static_cast<Index>(x.size())));
}

TEST(Sum, Specials) {
  const auto sum_of = [](const assay_kernels& kernels, std::vector<double> x) {
    return kernels.sum(x.data(), static_cast<Index>(x.size()), 1);
  };
  for (const auto& isa : testing::isas_here()) {
    const assay_kernels& k = *isa.kernels;
    EXPECT_EQ(bits(0.0), bits(sum_of(k, {})));
    EXPECT_EQ(bits(0.0), bits(sum_of(k, {-0.0})));
    for (const std::size_t n : {1u, 8u, 9u, 40u, 70u})
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<double> x(n, 1.5);
        x[at] = kInf;
        EXPECT_EQ(kInf, sum_of(k, x)) << isa.name << " " << n << " " << at;
        x[at] = -kInf;
        EXPECT_EQ(-kInf, sum_of(k, x)) << isa.name << " " << n << " " << at;
        x[at] = kNan;
        EXPECT_TRUE(std::isnan(sum_of(k, x))) << isa.name << " " << n << " " << at;
        if (n == 1) continue;
        x[at] = kInf;
        x[(at + 1) % n] = -kInf;
        EXPECT_TRUE(std::isnan(sum_of(k, x))) << isa.name << " " << n << " " << at;
        x[(at + 1) % n] = kInf;
        EXPECT_EQ(kInf, sum_of(k, x)) << isa.name << " " << n << " " << at;
      }
    EXPECT_EQ(0.0, sum_of(k, {kMax, -kMax}));
    EXPECT_EQ(kInf, sum_of(k, {kMax, kMax}));
    EXPECT_EQ(kMax, sum_of(k, {kMax, kMax, -kMax}));
    EXPECT_EQ(kInf, sum_of(k, {kMax, 0, 0, 0, -kMax, 0, 0, 0, kMax})) << "as documented: a partial sum overflows";
    EXPECT_EQ(0x1p-1074, sum_of(k, {0x1p-1074, 1.0, -1.0}));
  }
}

TEST(Max, NanZerosAndStrides) {
  Random random(23);
  for (const auto& isa : testing::isas_here()) {
    const auto max = isa.kernels->max;
    EXPECT_EQ(-kInf, max(nullptr, 0, 1));
    for (const Index n : {1, 2, 7, 31, 32, 33, 100})
      for (Index at = 0; at < n; ++at) {
        std::vector<double> x(static_cast<std::size_t>(2 * n), -3.0);
        for (double& v : x) v = random.between(-9, -1);
        for (const double special : {5.0, kInf, 0.0, -0.0}) {
          x[static_cast<std::size_t>(at)] = special;
          EXPECT_EQ(bits(special), bits(max(x.data(), n, 1))) << isa.name << n;
          EXPECT_EQ(bits(special), bits(max(x.data() + n - 1, n, -1))) << isa.name << n;
        }
        x[static_cast<std::size_t>((at + n / 2) % n)] = 0.0;
        EXPECT_EQ(bits(0.0), bits(max(x.data(), n, 1))) << isa.name << ": +0 is above -0";
        x[static_cast<std::size_t>(at)] = kNan;
        EXPECT_TRUE(std::isnan(max(x.data(), n, 1))) << isa.name << n;
        std::fill(x.begin(), x.end(), -kInf);
        EXPECT_EQ(-kInf, max(x.data(), n, 1));
      }
  }
}

}  // namespace
}  // namespace assay

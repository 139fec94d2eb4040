// The elementwise kernels of every instruction set: the bits of their formulas, any length, in place.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/tests/kernels_testing.hpp"

namespace assay {
namespace {

using testing::bits;
using testing::Random;
using Doubles = std::vector<double>;

/// Calls compute(x, w, b, y, n) and compares y with formula(x, w, b), y apart and y = x.
void check(const std::string& what, const std::function<double(double, double, double)>& formula,
           const std::function<void(const double*, const double*, const double*, double*, Index)>& compute) {
  Random random(31);
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 9u, 16u, 31u, 100u, 1030u}) {
    Doubles x(n + 1), w(n), b(n), y(n + 1, -1.0);
    for (double& v : x) v = random.between(-3, 3);
    for (double& v : w) v = std::ldexp(random.between(-1, 1), static_cast<int>(random.index(20)));
    for (double& v : b) v = random.between(-1, 1);
    if (n > 3) {
      x[1] = std::numeric_limits<double>::infinity();
      x[2] = std::numeric_limits<double>::quiet_NaN();
      x[3] = -0.0;
    }
    y[n] = x[n] = 77.0;
    compute(x.data(), w.data(), b.data(), y.data(), static_cast<Index>(n));
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(bits(formula(x[i], w[i], b[i])), bits(y[i])) << what << " n = " << n << " at " << i;
    compute(x.data(), w.data(), b.data(), x.data(), static_cast<Index>(n));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(bits(y[i]), bits(x[i])) << what << " in place, n = " << n;
    ASSERT_EQ(77.0, y[n]) << what << ": written past the end";
    ASSERT_EQ(77.0, x[n]) << what << ": written past the end";
  }
}

TEST(Map, FormulasBitForBit) {
  const double r = 1.7;
  for (const auto& isa : testing::isas_here()) {
    const assay_kernels& k = *isa.kernels;
    const auto scalar = [&](const char* name, assay_map_scalar* kernel, auto formula) {
      check(
          isa.name + " " + name, [&](double x, double, double) { return formula(x, r); },
          [&](const double* x, const double*, const double*, double* y, Index n) { kernel(x, r, y, n); });
    };
    scalar("center", k.center, [](double x, double c) { return x - c; });
    scalar("scale", k.scale, [](double x, double c) { return x * c; });
    scalar("divide", k.divide, [](double x, double c) { return x / c; });
    scalar("subtract_exp", k.subtract_exp, [](double x, double c) { return math::exp(x - c); });
    const auto pair = [&](const char* name, assay_map_pair* kernel, auto formula) {
      check(
          isa.name + " " + name, [&](double x, double w, double) { return formula(x, w); },
          [&](const double* x, const double* w, const double*, double* y, Index n) { kernel(x, w, y, n); });
    };
    pair("add", k.add, [](double x, double w) { return x + w; });
    pair("subtract", k.subtract, [](double x, double w) { return x - w; });
    pair("multiply", k.multiply, [](double x, double w) { return x * w; });
    check(
        isa.name + " scale_multiply", [&](double x, double w, double) { return (x * r) * w; },
        [&](const double* x, const double* w, const double*, double* y, Index n) { k.scale_multiply(x, r, w, y, n); });
    check(
        isa.name + " scale_multiply_add", [&](double x, double w, double b) { return (x * r) * w + b; },
        [&](const double* x, const double* w, const double* b, double* y, Index n) {
          k.scale_multiply_add(x, r, w, b, y, n);
        });
  }
}

TEST(Map, FusedFormsEqualTheWordsOneAfterTheOther) {
  Random random(32);
  for (const auto& isa : testing::isas_here())
    for (const Index n : {0, 1, 7, 8, 100, 511, 512, 513, 3000}) {
      const assay_kernels& k = *isa.kernels;
      Doubles x(static_cast<std::size_t>(n)), y = x, z = x;
      for (double& v : x) v = random.between(-30, 30);
      const double m = k.max(x.data(), n, 1);
      const double fused = k.subtract_exp_sum(x.data(), m, y.data(), n);
      k.center(x.data(), m, z.data(), n);
      k.exp(z.data(), z.data(), n);
      for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(bits(z[i]), bits(y[i])) << isa.name;
      EXPECT_EQ(bits(k.sum(z.data(), n, 1)), bits(fused)) << isa.name << " " << n;
    }
}

}  // namespace
}  // namespace assay

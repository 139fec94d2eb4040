// Approximate instructions: results stay within the documented error of MPFR's value, and under an adversary use it.
#include "reference/ptx/approximate.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

/// f(x) to 120 bits, and how far d is from it.
double distance(Function f, double x, double d) {
  mpfr_t a, y;
  mpfr_inits2(120, a, y, nullptr);
  mpfr_set_d(a, x, MPFR_RNDN);
  switch (f) {
    case Function::ex2:
      mpfr_exp2(y, a, MPFR_RNDN);
      break;
    case Function::lg2:
      mpfr_log2(y, a, MPFR_RNDN);
      break;
    case Function::rcp:
      mpfr_ui_div(y, 1, a, MPFR_RNDN);
      break;
    case Function::rsqrt:
      mpfr_rec_sqrt(y, a, MPFR_RNDN);
      break;
    case Function::sqrt:
      mpfr_sqrt(y, a, MPFR_RNDN);
      break;
    case Function::sin:
      mpfr_sin(y, a, MPFR_RNDN);
      break;
    case Function::cos:
      mpfr_cos(y, a, MPFR_RNDN);
      break;
    default:
      mpfr_tanh(y, a, MPFR_RNDN);
  }
  mpfr_sub_d(y, y, d, MPFR_RNDN);
  const double far = std::fabs(mpfr_get_d(y, MPFR_RNDN));
  mpfr_clears(a, y, nullptr);
  return far;
}

struct Row {
  Function f;
  double low, high;                 // of operands
  double absolute, relative, ulps;  // the ISA's bound
};
const Row kRows[] = {{Function::ex2, -20, 20, 0, 0, 2},
                     {Function::lg2, 0.50001, 1.99999, std::exp2(-22), 0, 0},
                     {Function::lg2, 2, 1e9, 0, std::exp2(-22), 0},
                     {Function::rcp, 1e-3, 1e3, 0, 0, 1},
                     {Function::rsqrt, 1e-3, 1e9, 0, std::exp2(-22.9), 0},
                     {Function::sqrt, 1e-3, 1e9, 0, std::exp2(-23), 0},
                     {Function::sin, -6.28, 6.28, std::exp2(-20.5), 0, 0},
                     {Function::cos, -6.28, 6.28, std::exp2(-20.5), 0, 0},
                     {Function::sin, 6.3, 314, std::exp2(-14.7), 0, 0},
                     {Function::cos, 6.3, 314, std::exp2(-14.7), 0, 0},
                     {Function::tanh, -9, 9, 0, std::exp2(-11), 0}};

TEST(Approximations, StayWithinTheDocumentedErrorAndUseIt) {
  testing::Random r{31};
  for (const Row& row : kRows) {
    double most = 0, most_nearest = 0;
    for (int i = 0; i < 4000; ++i) {
      const auto x = static_cast<float>(row.low + (row.high - row.low) * static_cast<double>(r() >> 11) * 0x1p-53);
      const float nearest = approximate(row.f, x, {});
      const double y = static_cast<double>(nearest), size = std::fabs(y);
      const double ulp_of_y = size == 0 ? 0 : std::exp2(std::floor(std::log2(size)) - 23);
      // One unit more where the value is beside a power of two, on the side of the larger one.
      const double bound = row.absolute + row.relative * size * (1 + 0x1p-22) + row.ulps * ulp_of_y;
      const double d = distance(row.f, x, y);
      ASSERT_LE(d, ulp_of_y * 0.5000001 + 1e-300) << static_cast<int>(row.f) << ' ' << x;
      most_nearest = std::max(most_nearest, d / bound);
      for (std::uint64_t seed : {1, 2, 3}) {
        const float picked = approximate(row.f, x, {}, {true, seed});
        const double far = distance(row.f, x, static_cast<double>(picked));
        ASSERT_LE(far, bound * 1.0000001) << static_cast<int>(row.f) << ' ' << x << " seed " << seed;
        ASSERT_EQ(bits(picked), bits(approximate(row.f, x, {}, {true, seed})));
        most = std::max(most, far / bound);
      }
    }
    EXPECT_GT(most, 0.8) << static_cast<int>(row.f);
    EXPECT_GT(most, most_nearest);
  }
}

TEST(Approximations, Quotients) {
  testing::Random r{32};
  double most = 0, most_full = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto draw = [&](int range) {
      const double m = 1 + static_cast<double>(r() >> 41) * 0x1p-23;
      return static_cast<float>(((r() & 1) != 0 ? -m : m) *
                                std::exp2(static_cast<double>(r.below(static_cast<std::uint64_t>(2 * range))) - range));
    };
    const float a = draw(20), b = draw(60);
    const double q = static_cast<double>(a) / static_cast<double>(b),
                 unit = std::exp2(std::floor(std::log2(std::fabs(q))) - 23);
    const auto far = [&](float d) { return std::fabs(static_cast<double>(d) - q) / unit; };
    ASSERT_LE(far(div_approx(a, b, {})), 0.5000001);
    ASSERT_LE(far(div_full(a, b, {})), 0.5000001);
    most = std::max(most, far(div_approx(a, b, {}, {true, 9})));
    most_full = std::max(most_full, far(div_full(a, b, {}, {true, 9})));
  }
  EXPECT_TRUE(most > 1.9 && most <= 2.0000001 && most_full > 1.9 && most_full <= 2.0000001) << most << ' ' << most_full;
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bits(div_approx(-3.0F, 0x1.8p126F, {})), 0x80000000U);
  EXPECT_EQ(bits(div_approx(-3.0F, -0x1.8p126F, {})), 0U);
  EXPECT_EQ(bits(div_approx(inf, 0x1.8p126F, {})), 0x7fffffffU);
  EXPECT_EQ(div_approx(1.0F, 0x1p126F, {}), 0x1p-126F);
  EXPECT_EQ(div_full(0x1p127F, 0x1.8p126F, {}, {}), 1.3333334F);
  EXPECT_EQ(bits(div_approx(3.0F, -inf, {})), 0x80000000U);
}

// The ISA's tables of special operands, which no seed changes.
TEST(Approximations, SpecialOperands) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::uint32_t nan = 0x7fffffff, pinf = 0x7f800000, ninf = 0xff800000, one = 0x3f800000, mone = 0xbf800000,
                      mzero = 0x80000000;
  struct Case {
    Function f;
    std::uint32_t of[5];  // -Inf, -0, +0, +Inf, NaN
  };
  const Case cases[] = {{Function::ex2, {0, one, one, pinf, nan}},    {Function::lg2, {nan, ninf, ninf, pinf, nan}},
                        {Function::rcp, {mzero, ninf, pinf, 0, nan}}, {Function::rsqrt, {nan, ninf, pinf, 0, nan}},
                        {Function::sqrt, {nan, mzero, 0, pinf, nan}}, {Function::sin, {nan, mzero, 0, nan, nan}},
                        {Function::cos, {nan, one, one, nan, nan}},   {Function::tanh, {mone, mzero, 0, one, nan}}};
  const float x[] = {-inf, -0.0F, 0.0F, inf, std::numeric_limits<float>::quiet_NaN()};
  for (const Case& c : cases)
    for (int i = 0; i < 5; ++i)
      for (std::uint64_t seed : {0, 1, 2, 3})
        EXPECT_EQ(bits(approximate(c.f, x[i], {}, {seed != 0, seed})), c.of[i]) << static_cast<int>(c.f) << i;
  Modifiers ftz;
  ftz.ftz = true;
  EXPECT_EQ(bits(approximate(Function::rcp, f32(0x80000001), ftz)), ninf);
  EXPECT_EQ(bits(approximate(Function::ex2, -127.0F, ftz)), 0U);
  EXPECT_EQ(bits(approximate(Function::ex2, -127.0F, {})), 0x00400000U);
  EXPECT_EQ(bits(approximate(Function::lg2, -1.0F, {})), nan);
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const float far = approximate(Function::sin, 1e6F, {}, {true, seed});
    EXPECT_TRUE(far >= -1 && far <= 1);
  }
}

TEST(Approximations, Halves) {
  struct Bound {
    Function f;
    const Format* h;
    double absolute, relative;
  };
  const Bound bounds[] = {{Function::ex2, &formats::fp16, 0, std::exp2(-9.9)},
                          {Function::ex2, &formats::bf16, 0, std::exp2(-7)},
                          {Function::tanh, &formats::fp16, std::exp2(-10.987), 0},
                          {Function::tanh, &formats::bf16, std::exp2(-8), 0}};
  for (const Bound& b : bounds) {
    int moved = 0, cases = 0;
    for (std::uint32_t code = 0; code < 0x10000; code += 7) {
      const double x = half_value(*b.h, code);
      if (!(std::fabs(x) < 8) || x == 0) continue;
      const std::uint16_t nearest = half_approximate(b.f, *b.h, code, {}),
                          picked = half_approximate(b.f, *b.h, code, {}, {true, 5});
      const double y = half_value(*b.h, nearest), far = distance(b.f, x, half_value(*b.h, picked));
      ASSERT_EQ(nearest, to_half(*b.h, exact(b.f, x)));
      if (picked != nearest) {
        ++moved;
        ASSERT_LE(far, (b.absolute + b.relative * std::fabs(y) * (1 + b.h->u())) * 1.0000001) << b.h->name << ' ' << x;
      }
      ++cases;
    }
    EXPECT_GT(moved, cases / 10) << b.h->name << static_cast<int>(b.f);
  }
}

}  // namespace
}  // namespace assay::ptx

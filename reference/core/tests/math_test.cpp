// The elementary functions against MPFR, and the array forms of every instruction set against the scalar ones.
#include "reference/core/math.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "reference/core/tests/kernels_testing.hpp"

namespace assay {
namespace {

using testing::bits;
using testing::Random;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

class Exact {
 public:
  Exact() { mpfr_init2(value_, 160); }
  ~Exact() { mpfr_clear(value_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  mpfr_ptr get() { return value_; }

  /// |got - value| in ulps: one ulp is the spacing of doubles in the binade of the value rounded to double (2^-1074
  /// among subnormals). Infinity where one is NaN or infinite and the other is not.
  double ulps(double got) {
    const double rounded = mpfr_get_d(value_, MPFR_RNDN);
    if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0.0 : kInf;
    if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0.0 : kInf;
    if (rounded == 0.0 && got == 0.0 && std::signbit(rounded) != std::signbit(got)) return kInf;
    int exponent = -1074;
    if (rounded != 0.0) std::frexp(rounded, &exponent);
    mpfr_sub_d(value_, value_, got, MPFR_RNDN);
    mpfr_mul_2si(value_, value_, -std::max(exponent - 53, -1074), MPFR_RNDN);
    return std::fabs(mpfr_get_d(value_, MPFR_RNDN));
  }

 private:
  mpfr_t value_;
};

struct Function {
  const char* name;
  double (*scalar)(double);
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  assay_map* assay_kernels::*array;
  std::vector<double> limits;  // ranges [-limit, limit]
  std::vector<double> edges;   // points to look around
};

const std::vector<Function>& functions() {
#define ASSAY_FUNCTION(name, ...) \
  { #name, math::name, mpfr_##name, &assay_kernels::name, __VA_ARGS__ }
  static const std::vector<Function> all = {
      ASSAY_FUNCTION(exp, {1, 40, 750}, {709.782711148262, 709.78271114955743, 709.78271289338397, -708.4, -745.13}),
      ASSAY_FUNCTION(exp2, {1, 40, 1080}, {1023, 1024, -1022, -1074, -1075}),
      ASSAY_FUNCTION(expm1, {0x1p-30, 1, 60, 750}, {709.78271114955743, 709.78271289338397, -37, 0x1p-54}),
      ASSAY_FUNCTION(log, {1, 2, 1000}, {1, 2, 0.5, 0x1p-1022}),
      ASSAY_FUNCTION(log2, {1, 2, 1000}, {1, 2, 0.5, 0x1p-1022, 1024}),
      ASSAY_FUNCTION(log1p, {0x1p-30, 1, 1000}, {-1, 1, 0x1p-54, 0x1p1000, 0x1p1019}),
      ASSAY_FUNCTION(sin, {1, 10, 1e5}, {3.141592653589793, 1.5707963267948966, 15, 1e14}),
      ASSAY_FUNCTION(cos, {1, 10, 1e5}, {3.141592653589793, 1.5707963267948966, 15, 1e14}),
      ASSAY_FUNCTION(tanh, {0x1p-20, 1, 25}, {0x1p-26, 0x1p-53, 18.7, 22}),
      ASSAY_FUNCTION(erf, {0x1p-20, 1, 7}, {0x1p-26, 0x1p-1022, 2.5, 6})};
#undef ASSAY_FUNCTION
  return all;
}

/// `some` points in every range and over all finite doubles, `some` / 10 about each edge, both signs, and specials.
std::vector<double> points(const Function& f, int some, Random& random) {
  std::vector<double> x = {0.0, -0.0, kInf, -kInf, kNan, 0x1p-1074, -0x1p-1074, 0x1p-1022, -0x1p-1022, 1.0, -1.0};
  x.push_back(std::numeric_limits<double>::max());
  x.push_back(-x.back());
  for (int i = 0; i < some; ++i) {
    x.push_back(random.any());
    for (const double limit : f.limits) x.push_back(random.between(-limit, limit));
  }
  for (const double edge : f.edges) {
    double up = edge, down = edge;
    for (int i = 0; i < some / 10; ++i) {
      x.push_back(edge * random.between(1 - 1e-8, 1 + 1e-8));
      up = std::nextafter(up, kInf);
      down = std::nextafter(down, -kInf);
      for (const double near : {up, down, -up, -down}) x.push_back(near);
    }
  }
  return x;
}

TEST(Math, WithinOneUlpOfTheExactValue) {
  for (const Function& f : functions()) {
    Random random(11);
    const std::vector<double> x = points(f, 30000, random);
    EXPECT_GT(x.size(), 100000u);
    Exact y, in;
    double worst = 0.0, where = 0.0;
    for (const double v : x) {
      mpfr_set_d(in.get(), v, MPFR_RNDN);
      f.exact(y.get(), in.get(), MPFR_RNDN);
      const double ulps = y.ulps(f.scalar(v));
      if (!(ulps <= worst)) worst = ulps, where = v;
    }
    EXPECT_LE(worst, 1.0) << f.name << " at " << where;
    EXPECT_GT(worst, 0.4) << f.name << ": no function rounds better than to half an ulp";
    RecordProperty(f.name, std::to_string(worst));
  }
}

TEST(Math, ArrayFormsHaveTheBitsOfTheScalarForms) {
  for (const Function& f : functions()) {
    Random random(12);
    std::vector<double> x = points(f, 20000, random), y(x.size());
    for (const auto& isa : testing::isas_here()) {
      (isa.kernels->*f.array)(x.data(), y.data(), static_cast<Index>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(bits(f.scalar(x[i])), bits(y[i])) << isa.name << " " << f.name << "(" << x[i] << ")";
    }
  }
}

TEST(Math, ArrayFormsOfAnyLengthAndInPlace) {
  for (const Function& f : functions())
    for (const auto& isa : testing::isas_here())
      for (std::size_t n = 0; n <= 17; ++n) {
        std::vector<double> x(n + 1, 0.25);
        for (std::size_t i = 0; i < n; ++i) x[i] = 0.125 * static_cast<double>(i) - 1;
        const std::vector<double> before = x;
        (isa.kernels->*f.array)(x.data(), x.data(), static_cast<Index>(n));
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(bits(f.scalar(before[i])), bits(x[i])) << isa.name << f.name;
        EXPECT_EQ(0.25, x[n]) << "written past the end";
      }
}

TEST(Math, PowWithinOneUlp) {
  Random random(13);
  Exact exact, base;
  double worst = 0.0;
  const auto check = [&](double x, double y) {
    mpfr_set_d(base.get(), y, MPFR_RNDN);
    mpfr_t b;
    mpfr_init2(b, 53);
    mpfr_set_d(b, x, MPFR_RNDN);
    mpfr_pow(exact.get(), b, base.get(), MPFR_RNDN);
    mpfr_clear(b);
    const double rounded = mpfr_get_d(exact.get(), MPFR_RNDN), got = math::pow(x, y);
    if (std::isinf(got) && std::fabs(rounded) > 1.797689e308) return;  // as documented
    const double ulps = exact.ulps(got);
    if (!(ulps <= worst)) worst = ulps;
    EXPECT_LE(ulps, 1.0) << "pow(" << x << ", " << y << ") = " << got;
  };
  for (int i = 0; i < 100000; ++i) {
    const double x = std::fabs(random.any()), l = std::log(x);
    check(x, random.between(-750, 720) / (l == 0.0 ? 1.0 : l));
    check(random.between(0, 4), random.between(-40, 40));
    check(random.between(-9, 9), static_cast<double>(random.index(21) - 10));
  }
  const double specials[] = {0.0, 1.0, 2.0, 3.0, 0.5, 1e308, 0x1p-1074, 9007199254740993.0, kInf};
  for (const double x : specials)
    for (const double y : specials)
      for (const double sx : {x, -x})
        for (const double sy : {y, -y}) check(sx, sy);
  check(kNan, 1.0);
  check(kNan, 0.0);
  check(1.0, kNan);
  EXPECT_GT(worst, 0.5);
}

TEST(Math, SqrtIsCorrectlyRounded) {
  Random random(14);
  Exact exact, in;
  for (int i = 0; i < 100000; ++i) {
    const double x = std::fabs(random.any());
    mpfr_set_d(in.get(), x, MPFR_RNDN);
    mpfr_sqrt(exact.get(), in.get(), MPFR_RNDN);
    EXPECT_LE(exact.ulps(math::sqrt(x)), 0.5) << x;
  }
  EXPECT_EQ(bits(-0.0), bits(math::sqrt(-0.0)));
  EXPECT_TRUE(std::isnan(math::sqrt(-1.0)));
}

}  // namespace
}  // namespace assay

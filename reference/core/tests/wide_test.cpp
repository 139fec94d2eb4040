#include "reference/core/readings/wide.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace assay {
namespace {

/// A number of MPFR with 600 bits: exact for sums and products of the operands drawn here.
class Exact {
 public:
  Exact() { mpfr_init2(x_, 600); }
  explicit Exact(const Wide& w) : Exact() {
    mpfr_set_d(x_, w.hi, MPFR_RNDN);
    mpfr_add_d(x_, x_, w.lo, MPFR_RNDN);
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  ~Exact() { mpfr_clear(x_); }
  mpfr_ptr get() { return x_; }

 private:
  mpfr_t x_;
};

/// |found - exact| / |exact|; 0 if both are 0.
double relative_error(const Wide& found, Exact& exact) {
  Exact d(found);
  mpfr_sub(d.get(), d.get(), exact.get(), MPFR_RNDN);
  if (mpfr_zero_p(d.get())) return 0;
  mpfr_div(d.get(), d.get(), exact.get(), MPFR_RNDN);
  return std::fabs(mpfr_get_d(d.get(), MPFR_RNDA));
}

/// Two-word numbers with |lo| <= ulp(hi)/2, both signs, some with lo = 0 or far below, exponents in [-range, range].
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : bits_(seed) {}
  double fraction() { return static_cast<double>(bits_() >> 11) * 0x1p-52 - 1; }  // [-1, 1)
  int integer(int range) { return static_cast<int>(bits_() % (2u * static_cast<unsigned>(range) + 1u)) - range; }
  Wide wide(int range) {
    const double hi = (1 + std::fabs(fraction())) * (bits_() & 1 ? 1 : -1);
    const int gap = bits_() % 4 == 0 ? static_cast<int>(bits_() % 60) : 0;
    const double lo = bits_() % 8 == 0 ? 0 : std::ldexp(fraction(), -53 - gap);
    return normal(std::ldexp(hi, integer(range)), lo, hi);
  }
  Wide in(double low, double high) {  // uniform
    const double hi = low + (high - low) * (0.5 + 0.5 * fraction());
    return normal(hi, fraction() * 0x1p-54, hi);
  }

 private:
  static Wide normal(double hi, double lo, double unit) { return Wide(hi) + Wide(lo * (hi / unit)); }
  std::mt19937_64 bits_;
};

using Operation = Wide (*)(const Wide&, const Wide&);
using Oracle = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

double worst(Operation op, Oracle oracle, std::uint64_t seed, bool cancel) {
  Draw draw(seed);
  double worst = 0;
  for (int i = 0; i < 50000; ++i) {
    const Wide x = draw.wide(cancel ? 3 : 100);
    // Cancellation: y differs from x late in the first word, in the second, or is only close.
    const Wide y = cancel && i % 2 ? x * (Wide(1) + Wide(std::ldexp(1.0, -1 - i % 104))) : draw.wide(cancel ? 3 : 100);
    Exact a(x), b(y);
    oracle(a.get(), a.get(), b.get(), MPFR_RNDN);
    const Wide found = op(x, y);
    if (!(std::fabs(found.lo) <= std::fabs(found.hi) * 0x1p-53)) return 1;  // not normalised
    worst = std::max(worst, relative_error(found, a));
  }
  return worst;
}

constexpr double u2 = 0x1p-106;

TEST(Wide, ArithmeticStaysWithinThePublishedBounds) {
  const Operation add = operator+, subtract = operator-, multiply = operator*, divide = operator/;
  for (bool cancel : {false, true}) {
    const double sum = worst(add, mpfr_add, 1, cancel), difference = worst(subtract, mpfr_sub, 2, cancel);
    EXPECT_LE(sum, 3 * u2 * (1 + 0x1p-50));
    EXPECT_LE(difference, 3 * u2 * (1 + 0x1p-50));
    // A bound nobody comes near would not notice a lost low word: these come within a factor of 3.
    EXPECT_GE(std::max(sum, difference), u2);
    const double product = worst(multiply, mpfr_mul, 3, cancel), quotient = worst(divide, mpfr_div, 4, cancel);
    EXPECT_LE(product, 5 * u2);
    EXPECT_GE(product, u2);
    EXPECT_LE(quotient, 15 * u2 * (1 + 0x1p-50));
    EXPECT_GE(quotient, u2);
  }
}

TEST(Wide, SqrtStaysWithinItsBound) {
  Draw draw(5);
  double worst = 0;
  for (int i = 0; i < 50000; ++i) {
    Wide x = draw.wide(i % 2 ? 3 : 800);
    if (x.hi < 0) x = -x;
    Exact a(x);
    mpfr_sqrt(a.get(), a.get(), MPFR_RNDN);
    worst = std::max(worst, relative_error(sqrt(x), a));
  }
  EXPECT_LE(worst, 25.0 / 8 * u2);
  EXPECT_GE(worst, u2 / 2);
}

double worst(Wide (*f)(const Wide&), int (*oracle)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), double low, double high) {
  Draw draw(6);
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const Wide x = draw.in(low, high);
    Exact a(x);
    oracle(a.get(), a.get(), MPFR_RNDN);
    worst = std::max(worst, relative_error(f(x), a));
  }
  return worst;
}

TEST(Wide, ExpAndLogAgreeWithMpfr) {
  EXPECT_LE(worst(exp, mpfr_exp, -1, 1), 0x1p-98);
  EXPECT_LE(worst(exp, mpfr_exp, -600, 709), 0x1p-98);  // below -600 the low word starts to underflow
  EXPECT_LE(worst(exp2, mpfr_exp2, -1, 1), 0x1p-98);
  EXPECT_LE(worst(exp2, mpfr_exp2, -900, 1023), 0x1p-98);
  EXPECT_LE(worst(log, mpfr_log, 0.25, 4), 0x1p-98);
  EXPECT_LE(worst(log, mpfr_log, 0x1p-1000, 0x1p-990), 0x1p-98);
  EXPECT_LE(worst(log, mpfr_log, 1e300, 1e308), 0x1p-98);
  EXPECT_LE(worst(log, mpfr_log, 1 - 0x1p-40, 1 + 0x1p-40), 0x1p-98);  // relative even next to 1
  for (const double end : {0x1p-30, 0.1, 0.2, 1.0, 50.0}) EXPECT_LE(worst(tanh, mpfr_tanh, -end, end), 0x1p-98) << end;
}

TEST(Wide, FunctionsAreExactWhereTheResultIs) {
  EXPECT_EQ(exp(Wide(0)).hi, 1);
  EXPECT_EQ(exp(Wide(0)).lo, 0);
  EXPECT_EQ(log(Wide(1)).hi, 0);
  for (int k = -1074; k <= 1023; ++k) {
    const Wide p = exp2(Wide(k));
    EXPECT_EQ(p.hi, std::ldexp(1.0, k));
    EXPECT_EQ(p.lo, 0);
  }
}

bool same_bits(double x, double y) { return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0; }

TEST(Wide, SpecialOperandsGiveTheIeeeResult) {
  using limits = std::numeric_limits<double>;
  const double inf = limits::infinity();
  const double values[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           3.0,
                           inf,
                           -inf,
                           limits::quiet_NaN(),
                           limits::max(),
                           -limits::max(),
                           limits::min(),
                           limits::denorm_min(),
                           -limits::denorm_min(),
                           0x1.8p1000,
                           0x1.23456789abcdp-600};
  for (double x : values) {
    for (double y : values) {
      const Wide results[] = {Wide(x) + Wide(y), Wide(x) - Wide(y), Wide(x) * Wide(y), Wide(x) / Wide(y)};
      const double expected[] = {x + y, x - y, x * y, x / y};
      for (int op = 0; op < 4; ++op) {
        EXPECT_TRUE(same_bits(results[op].hi, expected[op]))
            << x << " \"+-*/\"[" << op << "] " << y << ": " << results[op].hi << ", not " << expected[op];
        EXPECT_TRUE(std::isfinite(results[op].lo)) << x << " \"+-*/\"[" << op << "] " << y;
      }
    }
    // The root of the largest double is a hair from the midpoint of two doubles: its high word is the other neighbour.
    EXPECT_TRUE(x == limits::max() || same_bits(sqrt(Wide(x)).hi, std::sqrt(x))) << x;
  }
  EXPECT_EQ(exp(Wide(inf)).hi, inf);
  EXPECT_EQ(exp(Wide(-inf)).hi, 0);
  EXPECT_EQ(exp(Wide(709.79)).hi, inf);
  EXPECT_LT(exp(Wide(709.78)).hi, inf);
  EXPECT_EQ(exp(Wide(-745.2)).hi, 0);
  EXPECT_EQ(exp(Wide(-745.1)).hi, limits::denorm_min());
  EXPECT_EQ(exp2(Wide(1024)).hi, inf);
  EXPECT_EQ(exp2(Wide(-inf)).hi, 0);
  EXPECT_EQ(log(Wide(0)).hi, -inf);
  EXPECT_EQ(log(Wide(inf)).hi, inf);
  EXPECT_EQ(log(Wide(limits::denorm_min())).hi, -0x1.74385446d71c3p+9);  // -1074 ln 2
  for (const Wide& w : {log(Wide(-1)), exp(Wide(limits::quiet_NaN())), exp2(Wide(limits::quiet_NaN())),
                        log(Wide(limits::quiet_NaN())), sqrt(Wide(-1))})
    EXPECT_TRUE(w.hi != w.hi && w.lo == 0);
}

TEST(Wide, OverflowFromTheLowWordsHasNoNaN) {
  const double top = std::numeric_limits<double>::max();
  const Wide x(top, 0x1p969);  // the largest double and less than half a last place more
  for (const Wide& w : {x + x, x * x, x / Wide(0.5), x + Wide(0x1p970), x + Wide(0x1p969), -x - x})
    EXPECT_TRUE(std::isinf(w.hi) && w.lo == 0) << w.hi << " + " << w.lo;
  const Wide same = x / Wide(1);
  EXPECT_EQ(same.hi, x.hi);
  EXPECT_EQ(same.lo, x.lo);
}

TEST(Wide, MaxTakesNaNAndComparesTheLowWord) {
  const Wide nan(std::numeric_limits<double>::quiet_NaN()), one(1), more(1, 0x1p-60);
  EXPECT_EQ(max(one, more).lo, 0x1p-60);
  EXPECT_EQ(max(more, one).lo, 0x1p-60);
  EXPECT_TRUE(one < more && !(more < one));
  EXPECT_NE(max(nan, one).hi, max(nan, one).hi);
  EXPECT_NE(max(one, nan).hi, max(one, nan).hi);
}

// Same bits everywhere: one digest for every compiler, optimisation level and processor.
TEST(Wide, BitsAreTheSameOnEveryMachine) {
  std::uint64_t digest = 0xcbf29ce484222325;
  Draw draw(7);
  for (int i = 0; i < 2000; ++i) {
    const Wide x = draw.wide(8), y = draw.wide(8), a = x.hi < 0 ? -x : x;
    for (const Wide& w : {x + y, x - y, x * y, x / y, sqrt(a), exp(x), exp2(x), log(a), tanh(x)})
      for (double part : {w.hi, w.lo}) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &part, sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3;
      }
  }
  EXPECT_EQ(digest, 0xa184a891a60072bau) << std::hex << digest;
}

}  // namespace
}  // namespace assay

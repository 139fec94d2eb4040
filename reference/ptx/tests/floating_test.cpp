// Arithmetic of f32 and f64 in every rounding mode, and of f16 and bf16, against MPFR.
#include "reference/ptx/floating.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/ptx/half.hpp"
#include "reference/ptx/tests/mpfr_oracle.hpp"
#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

const Round kModes[] = {Round::nearest_even, Round::toward_zero, Round::up, Round::down};

bool same(double x, double y) {
  return (x != x && y != y) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

/// Codes at all edges of a format, and the codes beside them.
std::vector<double> edges(const Format& f) {
  std::vector<double> all = {0,
                             1,
                             1.5,
                             2,
                             3,
                             f.min_subnormal(),
                             3 * f.min_subnormal(),
                             f.min_normal(),
                             f.min_normal() - f.min_subnormal(),
                             f.max_finite(),
                             f.max_finite() / 2,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  for (double x : {1.0, f.min_normal(), std::sqrt(f.min_normal()), std::sqrt(f.max_finite()), 1 / f.u()})
    for (double d : {-2 * f.u(), 2 * f.u()}) all.push_back(round_to(f, x * (1 + d)));
  const std::size_t n = all.size();
  for (std::size_t i = 0; i < n; ++i) all.push_back(-all[i]);
  return all;
}
/// Triples of edges, and random ones whose exponents are near each other half of the time.
template <class F>
void triples(const Format& f, int random, F check) {
  const auto all = edges(f);
  testing::Random r{11};
  for (double a : all)
    for (double b : all) {
      check(a, b, all[r.below(all.size())]);
      check(a, b, all[r.below(all.size())]);
    }
  const auto draw = [&](int centre, int width) {
    const int e = centre + static_cast<int>(r.below(static_cast<std::uint64_t>(width))) - width / 2;
    const double m = 1 + static_cast<double>(r() >> 12) * 0x1p-52;
    return round_to(f, ((r() & 1) != 0 ? -m : m) * pow2(e), Round::toward_zero);
  };
  for (int i = 0; i < random; ++i) {
    const int range = f.emax() - f.emin() + f.mantissa_bits, middle = (f.emax() + f.emin() - f.mantissa_bits) / 2;
    const double a = draw(middle, i % 2 == 0 ? range : 6), b = draw(i % 3 == 0 ? 0 : middle, i % 2 == 0 ? range : 6);
    const double product = round_to(f, a * b, Round::toward_zero);
    const double c = i % 4 == 0 ? -product : i % 4 == 1 ? product * pow2(-f.p()) : draw(middle, range);
    check(a, b, round_to(f, c, Round::toward_zero));
  }
}

template <class T>
void against_mpfr(const Format& f) {
  testing::Oracle oracle(f);
  long wrong = 0;
  triples(f, 20000, [&](double xa, double xb, double xc) {
    const T a = static_cast<T>(xa), b = static_cast<T>(xb), c = static_cast<T>(xc);
    for (Round r : kModes) {
      const Modifiers m{r};
      const double got[] = {add(a, b, m),    sub(a, b, m), mul(a, b, m), div(a, b, m),
                            fma(a, b, c, m), sqrt(a, m),   rcp(a, m)};
      const double expected[] = {oracle.add(xa, xb, r), oracle.sub(xa, xb, r),     oracle.mul(xa, xb, r),
                                 oracle.div(xa, xb, r), oracle.fma(xa, xb, xc, r), oracle.sqrt(xa, r),
                                 oracle.div(1, xa, r)};
      for (int i = 0; i < 7; ++i)
        if (!same(got[i], expected[i]) && ++wrong <= 5)
          ADD_FAILURE() << "add sub mul div fma sqrt rcp: " << i << " mode " << static_cast<int>(r) << std::hexfloat
                        << " of " << xa << ' ' << xb << ' ' << xc << ": " << got[i] << ", expected " << expected[i];
    }
    if constexpr (sizeof(T) == 4) {
      const double quick = fma(a, b, c);
      if (!same(quick, oracle.fma(xa, xb, xc, Round::nearest_even)) && ++wrong <= 5)
        ADD_FAILURE() << "fma " << xa << ' ' << xb << ' ' << xc;
    }
  });
  EXPECT_EQ(wrong, 0);
}
TEST(Floats, Single) { against_mpfr<float>(formats::fp32); }
TEST(Floats, Double) { against_mpfr<double>(formats::fp64); }

void half_against_mpfr(const Format& f) {
  testing::Oracle oracle(f);
  long wrong = 0;
  triples(f, 40000, [&](double a, double b, double c) {
    const auto ca = to_half(f, a), cb = to_half(f, b), cc = to_half(f, c);
    {
      const Round r = Round::nearest_even;  // the only one that these instructions have
      const Modifiers m{};
      const std::uint16_t got[] = {half_add(f, ca, cb, m), half_sub(f, ca, cb, m), half_mul(f, ca, cb, m),
                                   half_fma(f, ca, cb, cc, m)};
      const double expected[] = {oracle.add(a, b, r), oracle.sub(a, b, r), oracle.mul(a, b, r), oracle.fma(a, b, c, r)};
      for (int i = 0; i < 4; ++i)
        if ((!same(half_value(f, got[i]), expected[i]) || (expected[i] != expected[i] && got[i] != 0x7fff)) &&
            ++wrong <= 5)
          ADD_FAILURE() << f.name << " add sub mul fma: " << i << std::hexfloat << " of " << a << ' ' << b << ' ' << c
                        << ": " << half_value(f, got[i]) << ", expected " << expected[i];
    }
  });
  EXPECT_EQ(wrong, 0);
}
TEST(Floats, Halves) {
  half_against_mpfr(formats::fp16);
  half_against_mpfr(formats::bf16);
}

TEST(Floats, EveryCodeOfHalves) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    for (const Format* f : {&formats::fp16, &formats::bf16}) {
      const double x = half_value(*f, code);
      ASSERT_TRUE(same(x, decode(*f, code))) << f->name << code;
      ASSERT_EQ(to_half(*f, x), x != x ? 0x7fff : code);
      ASSERT_EQ(half_neg(*f, code, {}), x != x ? 0x7fff : (code ^ 0x8000));
      ASSERT_EQ(half_abs(*f, code, {}), x != x ? 0x7fff : (code & 0x7fff));
      const std::uint32_t exponent = code >> f->mantissa_bits & ((1U << f->exponent_bits) - 1);
      Modifiers flush;
      flush.ftz = true;
      ASSERT_EQ(half_mul(*f, code, to_half(*f, 1), flush), x != x ? 0x7fff : exponent == 0 ? (code & 0x8000) : code);
      Modifiers sat, relu;
      sat.sat = relu.relu = true;
      const double limited = half_value(*f, half_mul(*f, code, to_half(*f, 1), sat));
      ASSERT_TRUE(same(limited, x > 0 ? std::min(x, 1.0) : 0.0)) << x;
      ASSERT_TRUE(same(half_value(*f, half_mul(*f, code, to_half(*f, 1), relu)), x != x ? x : x > 0 ? x : 0.0)) << x;
    }
  }
}

TEST(Floats, FlushAndSaturate) {
  Modifiers ftz, sat;
  ftz.ftz = sat.sat = true;
  const float least = f32(0x00800000), below = f32(0x007fffff);
  EXPECT_EQ(bits(add(below, least, ftz)), bits(least));  // an operand
  EXPECT_EQ(bits(mul(-least, 0.5F, ftz)), 0x80000000);   // a result, its sign kept
  EXPECT_EQ(bits(mul(-least, 0.5F, {})), 0x80400000);
  EXPECT_EQ(bits(fma(below, 1e30F, -0.0F, ftz)), 0U);
  EXPECT_EQ(bits(div(1.0F, -below, ftz)), 0xff800000);
  EXPECT_EQ(bits(rcp(f32(0x7f000000), ftz)), 0U);  // 2^-127
  EXPECT_EQ(bits(sqrt(-below, ftz)), 0x80000000);
  EXPECT_EQ(add(2.0F, 1.0F, sat), 1.0F);
  EXPECT_EQ(bits(add(-2.0F, 1.0F, sat)), 0U);
  EXPECT_EQ(bits(mul(-0.0F, 1.0F, sat)), 0U);
  EXPECT_EQ(add(0.25F, 0.25F, sat), 0.5F);
  EXPECT_EQ(bits(add(std::numeric_limits<float>::quiet_NaN(), 0.0F, sat)), 0U);
  EXPECT_EQ(bits(std::numeric_limits<float>::quiet_NaN()), 0x7fffffffU);
  EXPECT_EQ(bits(-std::numeric_limits<double>::quiet_NaN()), 0x7ff8000000000000U);
}

// The table of min and max: rows a, columns b, of -1 -0 +0 1 NaN.
TEST(Floats, Extremes) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), v[] = {-1, -0.0, 0.0, 1, nan};
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      const int low = i == 4 ? j : j == 4 ? i : std::min(i, j), high = i == 4 ? j : j == 4 ? i : std::max(i, j);
      EXPECT_TRUE(same(min(v[i], v[j], false), v[low]) && same(max(v[i], v[j], false), v[high])) << i << j;
      EXPECT_TRUE(same(min(v[i], v[j], true), i == 4 || j == 4 ? nan : v[low])) << i << j;
      EXPECT_TRUE(same(max(v[i], v[j], true), i == 4 || j == 4 ? nan : v[high])) << i << j;
      for (const Format* f : {&formats::fp16, &formats::bf16}) {
        EXPECT_TRUE(same(half_value(*f, half_min(*f, to_half(*f, v[i]), to_half(*f, v[j]), false, {})), v[low]));
        EXPECT_TRUE(same(half_value(*f, half_max(*f, to_half(*f, v[i]), to_half(*f, v[j]), true, {})),
                         i == 4 || j == 4 ? nan : v[high]));
      }
    }
  EXPECT_TRUE(same(min_xorsign(-2.0, 3.0, false), -2) && same(max_xorsign(-2.0, -3.0, false), 3));
  EXPECT_TRUE(same(min_xorsign(-2.0, -3.0, false), 2) && same(max_xorsign(2.0, -3.0, false), -3));
  EXPECT_TRUE(same(ptx::copysign(-1.0, 2.0), -2) && same(ptx::copysign(1.0, -2.0), 2));
}

TEST(Floats, Properties) {
  const float values[] = {0.0F,   -0.0F,           1.0F,           f32(0x00800000), f32(0x807fffff),
                          f32(1), f32(0x7f800000), f32(0xffffffff)};
  // finite, infinite, number, notanumber, normal, subnormal
  const char* holds[] = {"fNn", "fNn", "fNn", "fNn", "fNs", "fNs", "iN", "x"};
  for (int i = 0; i < 8; ++i) {
    const std::string h = holds[i];
    for (int p = 0; p < 6; ++p)
      EXPECT_EQ(testp(static_cast<Property>(p), values[i]), h.find("fiNxns"[p]) != std::string::npos) << i << p;
    EXPECT_EQ(testp(Property::subnormal, static_cast<double>(values[i])), false);
  }
  EXPECT_TRUE(testp(Property::subnormal, 5e-324));
}

// A tie on the grid of subnormal numbers that only a double of too few bits sees: 2^-127 + 2^-149 + 2^-150 (1 - 2^-46).
TEST(Floats, QuickFmaAmongSubnormals) {
  EXPECT_EQ(bits(fma(0x1.000002p-75F, 0x1.fffffcp-76F, 0x1.000004p-127F)), 0x00400001U);
  EXPECT_EQ(bits(fma(0x1.000002p-75F, 0x1.fffffcp-76F, 0x1.000004p-127F, {})), 0x00400001U);
}

// Sums of few bits far apart, against MPFR rounded to odd.
TEST(Floats, FixedPointSumOfSparseTerms) {
  testing::Random r{13};
  mpfr_t sum, term;
  mpfr_inits2(700, sum, term, nullptr);
  for (int turn = 0; turn < 100000; ++turn) {
    ExactFloat exact;
    mpfr_set_zero(sum, 1);
    for (int i = 0; i < 4; ++i) {
      const auto draw = [&] {
        return ((r() & 1) != 0 ? 1.0 : -1.0) * (1 + (r.below(3) == 0 ? pow2(-static_cast<int>(r.below(24))) : 0));
      };
      const double a = draw() * pow2(static_cast<int>(r.below(turn % 2 == 0 ? 250 : 60)) - 126),
                   b = draw() * pow2(static_cast<int>(r.below(60)) - 60);
      exact.add_product(a, b);
      mpfr_set_d(term, a, MPFR_RNDN);
      mpfr_mul_d(term, term, b, MPFR_RNDN);
      mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    double odd = mpfr_get_d(sum, MPFR_RNDZ);
    if (mpfr_cmp_d(sum, odd) != 0) odd = std::bit_cast<double>(std::bit_cast<std::uint64_t>(odd) | 1);
    ASSERT_EQ(exact.to_odd(), odd) << turn;
  }
  mpfr_clears(sum, term, nullptr);
}

// The fixed-point sum, where terms cancel down to the last bit: 128-bit integers as the reference.
TEST(Floats, FixedPointSum) {
  testing::Random r{12};
  __extension__ using I128 = __int128;
  for (int turn = 0; turn < 20000; ++turn) {
    FixedPoint<3, -60> sum;
    I128 expected = 0;
    for (int i = 0; i < 8; ++i) {
      const auto a = static_cast<std::int64_t>(r()) >> (10 + r.below(50)),
                 b = static_cast<std::int64_t>(r()) >> (11 + r.below(50));
      sum.add_product(static_cast<double>(a) * 0x1p-30, static_cast<double>(b) * 0x1p-30);
      expected +=
          I128{static_cast<std::int64_t>(static_cast<double>(a))} * static_cast<std::int64_t>(static_cast<double>(b));
    }
    ASSERT_EQ(sum.sign(), expected < 0 ? -1 : expected > 0 ? 1 : 0);
    // Drop bits from below with a sticky one until 53 are left.
    Wide m = static_cast<Wide>(expected < 0 ? -expected : expected);
    int shift = 0;
    while (m >> 53 != 0) m = m >> 1 | (m & 1), ++shift;
    const double odd = static_cast<double>(static_cast<std::uint64_t>(m)) * pow2(shift - 60);
    ASSERT_TRUE(same(sum.to_odd(), expected < 0 ? -odd : odd)) << turn;
  }
}

}  // namespace
}  // namespace assay::ptx

// One element of a tensor core's result: the exact reading against MPFR, the hardware model against a transcription in
// integers.
#include "reference/ptx/mma_num.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

__extension__ using I128 = __int128;

/// Codes of a format: of all kinds, or numbers of similar size.
std::uint64_t draw(const Format& f, testing::Random& r, bool similar) {
  std::uint64_t code = r() & ((std::uint64_t{1} << f.bits) - 1);
  if (f.ignored_bits != 0) code &= ~((std::uint64_t{1} << f.ignored_bits) - 1);
  if (similar) {
    const std::uint64_t mask = ((std::uint64_t{1} << f.exponent_bits) - 1) << (f.bits - 1 - f.exponent_bits);
    const int range = std::min(8, f.exponent_bits == 2 ? 2 : 8);
    const std::uint64_t field =
        static_cast<std::uint64_t>(f.bias) - 1 - r.below(static_cast<std::uint64_t>(std::min(range, f.bias)));
    code = (code & ~mask) | field << (f.bits - 1 - f.exponent_bits);
  }
  return code;
}

/// The exact sum in MPFR, rounded once to a format of p bits and exponents from emin on.
double mpfr_dot(const double* a, const double* b, int n, double c, int p, long least, long most) {
  mpfr_t s, t, d;
  mpfr_inits2(900, s, t, nullptr);
  mpfr_init2(d, p);
  mpfr_set_d(s, c, MPFR_RNDN);
  for (int k = 0; k < n; ++k) {
    mpfr_set_d(t, a[k], MPFR_RNDN);
    mpfr_mul_d(t, t, b[k], MPFR_RNDN);
    mpfr_add(s, s, t, MPFR_RNDN);
  }
  mpfr_set_emin(least);
  mpfr_set_emax(most);
  int ternary = mpfr_set(d, s, MPFR_RNDN);
  ternary = mpfr_check_range(d, ternary, MPFR_RNDN);
  mpfr_subnormalize(d, ternary, MPFR_RNDN);
  const double x = mpfr_get_d(d, MPFR_RNDN);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  mpfr_clears(s, t, d, nullptr);
  return x;
}

TEST(MmaExact, AgainstMpfr) {
  testing::Random r{51};
  for (const Format* f : {&formats::fp16, &formats::bf16, &formats::tf32, &formats::e4m3, &formats::e5m2})
    for (int turn = 0; turn < 8000; ++turn) {
      double a[32], b[32];
      const int n = 1 << r.below(6);
      for (int k = 0; k < n; ++k)
        a[k] = decode(*f, draw(*f, r, turn % 2 == 0)), b[k] = decode(*f, draw(*f, r, turn % 2 == 0));
      for (int k = 1; k < n; k += 2)  // products that cancel
        if (turn % 3 == 0) a[k] = -a[k - 1], b[k] = b[k - 1];
      const float c = f32(static_cast<std::uint32_t>(draw(formats::fp32, r, turn % 4 < 2)));
      const double x = mpfr_dot(a, b, n, static_cast<double>(c), 24, -148, 128);
      const float got = dot_exact(a, b, n, c);
      ASSERT_EQ(bits(got), bits(static_cast<float>(x))) << f->name << ' ' << turn;
      const std::uint32_t c16 = static_cast<std::uint32_t>(draw(formats::fp16, r, turn % 4 < 2));
      const double y = mpfr_dot(a, b, n, static_cast<double>(f16_value(c16)), 11, -23, 16);
      ASSERT_EQ(dot_exact_f16(a, b, n, c16), to_half(formats::fp16, y)) << f->name << ' ' << turn;
    }
}

TEST(MmaExact, ZerosAndInfinities) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto one = [](double a, double b, float c) { return bits(dot_exact(&a, &b, 1, c)); };
  EXPECT_EQ(one(-0.0, 1, -0.0F), 0x80000000U);
  EXPECT_EQ(one(-0.0, 1, 0.0F), 0U);
  EXPECT_EQ(one(-1, 1, 1.0F), 0U);
  EXPECT_EQ(one(inf, 1, f32(0xff800000)), 0x7fffffffU);
  EXPECT_EQ(one(inf, 0, 1), 0x7fffffffU);
  EXPECT_EQ(one(-inf, 1, 1), 0xff800000U);
  EXPECT_EQ(one(nan, 0, 1), 0x7fffffffU);
  EXPECT_EQ(one(0x1p127, 2, 0), 0x7f800000U);
  // 2^24 + 1 + 1: lost one by one, not in the exact sum.
  const double a[] = {1, 1}, b[] = {1, 1};
  EXPECT_EQ(dot_exact(a, b, 2, 0x1p24F), 0x1p24F + 2);
  EXPECT_EQ(dot_chain(a, b, 2, 0x1p24F), 0x1p24F);
  // A double of 53 bits would see a tie: 1 + 2^-24 + 2^-100.
  const double x[] = {0x1p-24, 0x1p-100}, y[] = {1, 1};
  EXPECT_EQ(dot_exact(x, y, 2, 1), 1 + 0x1p-23F);
}

TEST(MmaExact, F64IsAChainInOrder) {
  testing::Random r{52};
  for (int turn = 0; turn < 2000; ++turn) {
    double a[4], b[4];
    for (int k = 0; k < 4; ++k) {
      a[k] = static_cast<double>(static_cast<std::int64_t>(r())) * pow2(-static_cast<int>(r.below(80)));
      b[k] = static_cast<double>(static_cast<std::int64_t>(r())) * pow2(-static_cast<int>(r.below(80)));
    }
    const double c = static_cast<double>(static_cast<std::int64_t>(r()));
    double expected = c;
    for (int k = 0; k < 4; ++k) expected = mpfr_dot(&a[k], &b[k], 1, expected, 53, -1073, 1024);
    ASSERT_EQ(dot_f64(a, b, 4, c), expected);
  }
}

TEST(MmaIntegers, WrapAndSaturate) {
  testing::Random r{53};
  for (int turn = 0; turn < 20000; ++turn) {
    std::int32_t a[64], b[64];
    I128 s = 0;
    for (int k = 0; k < 64; ++k) {
      a[k] = turn % 2 == 0 ? static_cast<std::int8_t>(r()) : turn % 3 == 0 ? 255 : -128;
      b[k] = turn % 2 == 0 ? static_cast<std::uint8_t>(r()) : turn % 5 == 0 ? 255 : -128;
      s += I128{a[k]} * b[k];
    }
    const std::int32_t c = turn % 4 == 0   ? static_cast<std::int32_t>(r())
                           : turn % 4 == 1 ? INT32_MAX
                           : turn % 4 == 2 ? INT32_MIN
                                           : 0;
    s += c;
    ASSERT_EQ(dot_integer(a, b, 64, c, false),
              static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(s))));
    ASSERT_EQ(dot_integer(a, b, 64, c, true), s > INT32_MAX   ? INT32_MAX
                                              : s < INT32_MIN ? INT32_MIN
                                                              : static_cast<std::int32_t>(s));
  }
}

// The hardware model again, on codes and with integers alone: significands with the exponent of their last bit,
// products shifted right to the common unit (magnitudes, so towards zero), the sum cut or rounded by shifting.
struct Number {
  int sign, significand, exponent;  // the value is sign * significand * 2^(exponent - M)
  bool nan, inf;
};
Number split(const Format& f, std::uint64_t code) {
  const int m = f.mantissa_bits, drop = f.ignored_bits;
  code >>= drop;
  const int width = f.bits - drop;
  const int field = static_cast<int>(code >> m & ((1U << f.exponent_bits) - 1)),
            fraction = static_cast<int>(code & ((1U << m) - 1));
  Number x{};
  x.sign = (code >> (width - 1) & 1) != 0 ? -1 : 1;
  const bool top = field == (1 << f.exponent_bits) - 1;
  x.nan = f.specials == Specials::ieee ? top && fraction != 0
                                       : f.specials == Specials::fn && top && fraction == (1 << m) - 1;
  x.inf = f.specials == Specials::ieee && top && fraction == 0;
  x.significand = field == 0 ? fraction : fraction | 1 << m;
  x.exponent = (field == 0 ? 1 : field) - f.bias;
  return x;
}
I128 shifted(I128 x, int left) { return left >= 0 ? x << left : -left > 100 ? 0 : x >> -left; }

/// sign * m * 2^e in f32 of that many fraction bits, cut; or in f16, to nearest even.
std::uint32_t assemble(int sign, I128 m, int e, int fraction, bool half) {
  const int p = half ? 11 : fraction + 1, emin = half ? -14 : -126, stored = half ? 10 : 23;
  const std::uint32_t minus = sign < 0 ? (half ? 0x8000U : 0x80000000U) : 0;
  if (m == 0) return 0;
  int length = 0;
  while (m >> length != 0) ++length;
  int unit = e + length - p;
  unit = std::max(unit, emin - (p - 1));
  I128 q = shifted(m, e - unit);
  if (half && unit > e) {
    const I128 rest = m - (q << (unit - e)), middle = I128{1} << (unit - e - 1);
    if (rest > middle || (rest == middle && (q & 1) != 0)) ++q;
  }
  if (q >> p != 0) q >>= 1, ++unit;
  q <<= stored - (p - 1);
  unit -= stored - (p - 1);
  if (q == 0) return minus;
  std::uint32_t code = static_cast<std::uint32_t>(q);
  if (q >> stored != 0) {
    const int field = unit + stored - emin + 1;
    if (field >= (half ? 31 : 255)) return minus | (half ? 0x7c00U : 0x7f800000U);
    code = (code & ((1U << stored) - 1)) | static_cast<std::uint32_t>(field) << stored;
  }
  return minus | code;
}

std::uint32_t transcription(const Format& f, const std::uint64_t* a, const std::uint64_t* b, int n, std::uint32_t c,
                            const Fused& h, bool half) {
  for (int from = 0; from < n; from += h.step) {
    const Format& cf = half ? formats::fp16 : formats::fp32;
    const Number z = split(cf, c);
    bool nan = z.nan, plus = z.inf && z.sign > 0, minus = z.inf && z.sign < 0;
    int e = z.significand == 0 ? -126 : z.exponent;
    const int end = std::min(n, from + h.step);
    for (int k = from; k < end; ++k) {
      const Number x = split(f, a[k]), y = split(f, b[k]);
      nan = nan || x.nan || y.nan || (x.inf && y.significand == 0) || (y.inf && x.significand == 0);
      if (x.inf || y.inf) (x.sign * y.sign > 0 ? plus : minus) = true;
      if (x.significand != 0 && y.significand != 0) e = std::max(e, x.exponent + y.exponent);
    }
    if (nan || (plus && minus)) {
      c = half ? 0x7fff : 0x7fffffff;
      continue;
    }
    if (plus || minus) {
      c = half ? (plus ? 0x7c00 : 0xfc00) : plus ? 0x7f800000 : 0xff800000;
      continue;
    }
    const int unit = e - h.fraction;
    I128 s = z.sign * shifted(z.significand, z.exponent - (half ? 10 : 23) - unit);
    for (int k = from; k < end; ++k) {
      const Number x = split(f, a[k]), y = split(f, b[k]);
      s += x.sign * y.sign *
           shifted(I128{x.significand} * y.significand, x.exponent + y.exponent - 2 * f.mantissa_bits - unit);
    }
    c = assemble(s < 0 ? -1 : 1, s < 0 ? -s : s, unit, h.output, half);
  }
  return c;
}

TEST(MmaHardware, AgainstIntegers) {
  testing::Random r{54};
  const Architecture all[] = {Architecture::volta,        Architecture::turing, Architecture::ampere,
                              Architecture::ada,          Architecture::hopper, Architecture::blackwell,
                              Architecture::rtx_blackwell};
  const Format* types[] = {&formats::fp16, &formats::bf16, &formats::tf32, &formats::e4m3, &formats::e5m2};
  long wrong = 0, cases = 0;
  for (int turn = 0; turn < 1200000; ++turn) {
    const Format& f = *types[r.below(5)];
    const int width = f.ignored_bits != 0 ? 32 : f.bits;
    const Fused h = fused(all[r.below(7)], width, r.below(2) != 0);
    const bool half = r.below(4) == 0, similar = r.below(4) != 0;
    const int n = width == 32 ? 8 : width == 16 ? 16 : 32;
    std::uint64_t ca[32], cb[32];
    double a[32], b[32];
    for (int k = 0; k < n; ++k) {
      ca[k] = draw(f, r, similar), cb[k] = draw(f, r, similar);
      if (r.below(16) == 0) ca[k] = r.below(2) << (f.bits - 1);
      a[k] = decode(f, ca[k]), b[k] = decode(f, cb[k]);
    }
    const auto c =
        static_cast<std::uint32_t>(r.below(8) == 0 ? 0 : draw(half ? formats::fp16 : formats::fp32, r, similar));
    const std::uint32_t expected = transcription(f, ca, cb, n, c, h, half);
    const std::uint32_t got = half ? dot_hardware_f16(a, b, n, c, f.emin(), f.emin(), h)
                                   : bits(dot_hardware(a, b, n, f32(c), f.emin(), f.emin(), h));
    ++cases;
    if (got != expected && ++wrong <= 5)
      ADD_FAILURE() << f.name << (half ? " f16" : " f32") << " F " << h.fraction << " step " << h.step << std::hex
                    << ": " << got << ", expected " << expected << " c " << c;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cases, 1200000);
}

TEST(MmaHardware, WhatTheArchitecturesAre) {
  const auto is = [](Fused h, int fraction, int step, int output) {
    return h.fraction == fraction && h.step == step && h.output == output;
  };
  EXPECT_TRUE(is(fused(Architecture::volta, 16), 23, 4, 23));
  EXPECT_TRUE(is(fused(Architecture::turing, 16), 24, 8, 23));
  EXPECT_TRUE(is(fused(Architecture::ampere, 16), 24, 8, 23));
  EXPECT_TRUE(is(fused(Architecture::ampere, 32), 24, 4, 23));
  EXPECT_TRUE(is(fused(Architecture::ada, 8), 13, 16, 13));
  EXPECT_TRUE(is(fused(Architecture::ada, 16), 24, 8, 23));
  EXPECT_TRUE(is(fused(Architecture::hopper, 16), 25, 16, 23));
  EXPECT_TRUE(is(fused(Architecture::hopper, 8, true), 13, 32, 13));
  EXPECT_TRUE(is(fused(Architecture::hopper, 8, false), 25, 32, 23));
  EXPECT_TRUE(is(fused(Architecture::blackwell, 8), 25, 32, 23));
  EXPECT_TRUE(is(fused(Architecture::rtx_blackwell, 32), 25, 8, 23));
}

// A product below the unit is lost; order within a step does not matter; all modes agree where nothing is lost.
TEST(MmaHardware, Examples) {
  const Fused h = fused(Architecture::hopper, 16);
  const double a[] = {1, 0x1p-13, 0x1p-13}, b[] = {1, 0x1p-13, 0x1.8p-13};
  EXPECT_EQ(dot_hardware(a, b, 3, 0, -14, -14, h), 1.0F);  // 2^-26 is below 2^-25
  EXPECT_EQ(dot_exact(a, b, 3, 0), 1.0F);
  const double small[] = {3, -5, 7, 11}, other[] = {2, 4, -8, 1};
  EXPECT_EQ(dot_hardware(small, other, 4, 100, -14, -14, h), 41.0F);
  EXPECT_EQ(dot_chain(small, other, 4, 100), 41.0F);
  EXPECT_EQ(dot_exact(small, other, 4, 100), 41.0F);
  const double top[] = {0x1.fep127}, two[] = {2};
  EXPECT_EQ(bits(dot_hardware(top, two, 1, 0, -126, -126, h)), 0x7f800000U);
  EXPECT_EQ(dot_hardware(top, two, 0, f32(0x7f7fffff), -126, -126, h), f32(0x7f7fffff));
  // 2^-25 + 2^-45 in f16, whose least number is 2^-24: beside c = 0 all is kept, and it is more than half; beside
  // 2^-23, whose exponent counts as -14, what is below 2^-39 is cut, and it is half.
  const double x[] = {0x1p-14, 0x1p-24}, y[] = {0x1p-11, 0x1p-21};
  EXPECT_EQ(dot_hardware_f16(x, y, 2, 0, -126, -126, h), 1);
  EXPECT_EQ(dot_hardware_f16(x, y, 2, 2, -126, -126, h), 2);
}

}  // namespace
}  // namespace assay::ptx

// cvt: floats against MPFR and against a scan over all codes of the narrow formats; integers against arithmetic of 128
// bits.
#include "reference/ptx/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/ptx/tests/mpfr_oracle.hpp"
#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

const Round kModes[] = {Round::nearest_even, Round::toward_zero, Round::up, Round::down};
bool same(double x, double y) { return (x != x && y != y) || (x == y && std::signbit(x) == std::signbit(y)); }

/// Codes of a format: all of 16 bits, else random ones and the edges.
template <class F>
void codes(const Format& f, F check) {
  if (f.bits <= 16) {
    for (std::uint64_t c = 0; c < std::uint64_t{1} << f.bits; ++c) check(c);
    return;
  }
  testing::Random r{41};
  for (int i = 0; i < 60000; ++i) {
    std::uint64_t c = r();
    if (i % 3 == 0) c &= ~std::uint64_t{0} << r.below(60);  // near ties
    if (i % 3 == 1 && f.bits == 64) {                       // within the range of f32 and f16
      const std::uint64_t e = 1023 - 160 + r.below(320);
      c = (c & ~(std::uint64_t{0x7ff} << 52)) | e << 52;
      if (i % 2 != 0) c &= ~std::uint64_t{0} << (52 - r.below(26));
    }
    check(f.bits == 32 ? c >> 32 : c);
  }
  for (int e = 0; e < 1 << f.exponent_bits; ++e)
    for (std::uint64_t m : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << f.mantissa_bits) - 1,
                            std::uint64_t{1} << (f.mantissa_bits - 1)})
      for (std::uint64_t s : {0, 1}) check(static_cast<std::uint64_t>(e) << f.mantissa_bits | m | s << (f.bits - 1));
}

TEST(Convert, BetweenWideFormats) {
  const Format* all[] = {&formats::fp16, &formats::bf16, &formats::fp32, &formats::fp64};
  for (const Format* from : all)
    for (const Format* to : all) {
      testing::Oracle oracle(*to);
      long wrong = 0;
      codes(*from, [&](std::uint64_t c) {
        const double x = decode(*from, c);
        for (Round r : kModes) {
          Cast cast;
          cast.round = r;
          const std::uint64_t d = convert(*to, *from, c, cast);
          const double expected = oracle.convert(x, r);
          if (!same(decode(*to, d), expected) && ++wrong < 5)
            ADD_FAILURE() << from->name << " to " << to->name << " mode " << static_cast<int>(r) << std::hexfloat << ' '
                          << x << ": " << decode(*to, d) << ", expected " << expected;
          if (x != x) {
            ASSERT_EQ(d, to->bits == 16 ? 0x7fffU : to->bits == 32 ? 0x7fffffffU : 0x7ff8000000000000U);
          }
        }
      });
      EXPECT_EQ(wrong, 0);
    }
}

/// Nearest of all finite values, ties to the even code; beyond the largest: the largest.
std::uint64_t nearest_code(const Format& f, double x) {
  std::uint64_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  const std::uint64_t sign = std::signbit(x) ? std::uint64_t{1} << (f.bits - 1) : 0;
  for (std::uint64_t c = 0; c <= f.max_code(); ++c) {
    const double d = std::fabs(decode(f, c) - std::min(std::fabs(x), f.max_finite()));
    if (d < distance || (d == distance && (c & 1) == 0)) best = c, distance = d;
  }
  return best | sign;
}
TEST(Convert, ToTheNarrowFormats) {
  Cast cast, relu;
  cast.satfinite = relu.satfinite = relu.relu = true;
  const double inf = std::numeric_limits<double>::infinity();
  for (const Format* f : {&formats::e4m3, &formats::e5m2, &formats::e3m2, &formats::e2m3, &formats::e2m1}) {
    codes(formats::bf16, [&](std::uint64_t c) {
      const double x = decode(formats::bf16, c);
      const std::uint64_t wide = c << 16;  // the f32 of the same value
      const std::uint64_t max = f->max_code(), minus = std::uint64_t{1} << (f->bits - 1);
      const std::uint64_t expected = x != x                ? f->nan_code
                                     : std::fabs(x) == inf ? (x > 0 ? max : max | minus)
                                                           : nearest_code(*f, x);
      ASSERT_EQ(convert(*f, formats::fp32, wide, cast), expected) << f->name << ' ' << x;
      ASSERT_EQ(convert(*f, formats::fp32, wide, relu), x <= 0 ? 0 : expected) << f->name << ' ' << x;
    });
    // bf16 has all values and all middles of two. Every code goes to f16 and back.
    for (std::uint64_t c = 0; c < std::uint64_t{1} << f->bits; ++c) {
      const double x = decode(*f, c);
      const std::uint64_t half = convert(formats::fp16, *f, c, {});
      ASSERT_TRUE(same(decode(formats::fp16, half), x)) << f->name << c;
      if (x == x && std::fabs(x) != inf) {
        ASSERT_EQ(convert(*f, formats::fp16, half, cast), c) << f->name;
      }
    }
  }
  EXPECT_EQ(convert(formats::e2m1, formats::fp32, nan_f32, cast), 7U);
  EXPECT_EQ(convert(formats::e3m2, formats::fp32, nan_f32, cast), 0x1fU);
  EXPECT_EQ(convert(formats::e4m3, formats::fp32, nan_f32, cast), 0x7fU);
}

TEST(Convert, Scales) {
  for (std::uint64_t c = 0; c < 256; ++c) {
    const std::uint64_t b = convert(formats::bf16, formats::e8m0, c, {});
    ASSERT_EQ(b, c == 255 ? 0x7fffU : c == 0 ? 0x40U : c << 7);
    for (Round r : {Round::toward_zero, Round::up}) {
      Cast cast;
      cast.round = r;
      cast.satfinite = true;
      ASSERT_EQ(convert(formats::e8m0, formats::bf16, b, cast), c);
      if (c < 253) {
        ASSERT_EQ(convert(formats::e8m0, formats::fp32, ((c + 1) << 23) + 5, cast), r == Round::up ? c + 2 : c + 1);
      }
    }
  }
  Cast up;
  up.round = Round::up;
  up.satfinite = true;
  EXPECT_EQ(convert(formats::e8m0, formats::fp32, 0x7f7fffff, up), 254U);
  EXPECT_EQ(convert(formats::e8m0, formats::fp32, nan_f32, up), 255U);
}

TEST(Convert, Tf32) {
  Cast away, even, finite;
  away.round = Round::nearest_away;
  finite.satfinite = true;
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0x3f801000, away), 0x3f802000U);
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0x3f801000, even), 0x3f800000U);
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0xbf800fff, away), 0xbf800000U);
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0x7f7fffff, away), 0x7f800000U);
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0x7f7fffff, finite), 0x7f7fe000U);
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0xff800000, finite), 0xff7fe000U);
  EXPECT_EQ(convert(formats::tf32, formats::fp32, 0xffffffff, away), 0x7fffffffU);
}

TEST(Convert, Modifiers) {
  Cast ftz, sat, relu, finite;
  ftz.ftz = sat.sat = relu.relu = finite.satfinite = true;
  EXPECT_EQ(convert(formats::fp16, formats::fp32, 0x80000001, ftz), 0x8000U);
  EXPECT_EQ(convert(formats::fp64, formats::fp32, 0x807fffff, ftz), 0x8000000000000000U);
  EXPECT_EQ(convert(formats::fp32, formats::fp64, 0xb7f0000000000000, ftz), 0x80000000U);  // -2^-128
  EXPECT_EQ(convert(formats::fp32, formats::fp64, 0xb7f0000000000000, {}), 0x80200000U);
  EXPECT_EQ(convert(formats::fp32, formats::fp16, 0x0001, ftz), 0x33800000U);  // subnormal in f16 alone
  EXPECT_EQ(convert(formats::fp16, formats::fp32, 0x40000000, sat), 0x3c00U);
  EXPECT_EQ(convert(formats::fp16, formats::fp32, 0xc0000000, sat), 0U);
  EXPECT_EQ(convert(formats::fp32, formats::fp32, nan_f32, sat), 0U);
  EXPECT_EQ(convert(formats::bf16, formats::fp32, 0x80000000, relu), 0U);
  EXPECT_EQ(convert(formats::bf16, formats::fp32, 0xffc00000, relu), 0x7fffU);
  EXPECT_EQ(convert(formats::fp16, formats::fp32, 0x7f800000, finite), 0x7bffU);
  EXPECT_EQ(convert(formats::bf16, formats::fp32, 0xff7fffff, finite), 0xff7fU);
}

TEST(Convert, PackedPlaces) {
  const std::uint64_t one = 0x3f800000, two = 0x40000000, half = 0x3f000000, four = 0x40800000;
  EXPECT_EQ(convert_to_pair(formats::fp16, formats::fp32, one, two, {}), 0x3c004000U);
  EXPECT_EQ(convert_to_pair(formats::bf16, formats::fp32, one, two, {}), 0x3f804000U);
  EXPECT_EQ(convert_to_pair(formats::e4m3, formats::fp32, one, two, {}), 0x3840U);
  EXPECT_EQ(convert_to_pair(formats::e5m2, formats::fp32, one, two, {}), 0x3c40U);
  EXPECT_EQ(convert_to_pair(formats::e2m3, formats::fp32, one, two, {}), 0x0810U);
  EXPECT_EQ(convert_to_pair(formats::e2m1, formats::fp32, one, two, {}), 0x24U);
  EXPECT_EQ(convert_to_four(formats::e4m3, formats::fp32, {one, two, half, four}, {}), 0x38403048U);
  EXPECT_EQ(convert_to_four(formats::e2m1, formats::fp32, {one, two, half, four}, {}), 0x2416U);
  EXPECT_EQ(convert_pair(formats::fp16, formats::e4m3, 0x3840, {}), 0x3c004000U);
  EXPECT_EQ(convert_pair(formats::fp16, formats::e2m1, 0x24, {}), 0x3c004000U);
  EXPECT_EQ(convert_pair(formats::fp16, formats::e2m3, 0xc8d0, {}), 0x3c004000U);  // the top bits do not count
  EXPECT_EQ(convert_pair(formats::e4m3, formats::fp16, 0x3c004000, {}), 0x3840U);
}

TEST(Convert, Integral) {
  testing::Random r{42};
  for (int i = 0; i < 100000; ++i) {
    // Quarters, so that a quarter of them are ties, and everything else.
    const double x =
        i % 2 == 0 ? static_cast<double>(static_cast<std::int64_t>(r()) >> (3 + r.below(58))) / 4 : f64(r());
    for (Round mode : kModes) {
      double expected = x;
      if (std::fabs(x) < 0x1p52) {
        const auto whole = static_cast<std::int64_t>(x);  // towards zero
        const double rest = std::fabs(x - static_cast<double>(whole));
        const std::int64_t away = whole + (x < 0 ? -1 : 1);
        const bool up = mode == Round::up ? x > 0
                        : mode == Round::down
                            ? x < 0
                            : mode == Round::nearest_even && (rest > 0.5 || (rest == 0.5 && whole % 2 != 0));
        expected = std::copysign(static_cast<double>(rest != 0 && up ? away : whole), x);
      }
      ASSERT_TRUE(same(to_integral(x, mode), expected)) << x << ' ' << static_cast<int>(mode);
    }
  }
  Cast rzi;
  rzi.integral = true;
  rzi.round = Round::toward_zero;
  EXPECT_EQ(convert(formats::fp32, formats::fp32, 0xbfc00000, rzi), 0xbf800000U);
  EXPECT_EQ(convert(formats::fp32, formats::fp32, 0xbf000000, rzi), 0x80000000U);
  EXPECT_EQ(convert(formats::fp32, formats::fp32, 0xff800000, {Round::nearest_even, true}), 0xff800000U);
}

template <class I>
void floats_to_integers() {
  using L = std::numeric_limits<I>;
  const I nan64 = static_cast<I>(std::uint64_t{1} << (8 * sizeof(I) - 1));
  EXPECT_EQ(float_to_integer<I>(std::nan(""), Round::toward_zero, false), sizeof(I) == 8 ? nan64 : I{0});
  EXPECT_EQ(float_to_integer<I>(std::nan(""), Round::toward_zero, true), nan64);
  testing::Random r{43};
  for (int i = 0; i < 50000; ++i) {
    const double x = static_cast<double>(static_cast<std::int64_t>(r())) * pow2(-static_cast<int>(r.below(70))) *
                     (i % 7 == 0 ? 8 : 1);
    for (Round mode : kModes) {
      const auto y = static_cast<Int128>(to_integral(x, mode));
      const Int128 expected = y < Int128{L::min()} ? Int128{L::min()} : y > Int128{L::max()} ? Int128{L::max()} : y;
      ASSERT_EQ(float_to_integer<I>(x, mode, false), static_cast<I>(expected)) << x;
    }
  }
  EXPECT_EQ(float_to_integer<I>(std::numeric_limits<double>::infinity(), Round::nearest_even, false), L::max());
  EXPECT_EQ(float_to_integer<I>(-std::numeric_limits<double>::infinity(), Round::nearest_even, false), L::min());
  EXPECT_EQ(float_to_integer<I>(static_cast<double>(L::max()), Round::nearest_even, false), L::max());
}
template <class I>
void integers_to_floats() {
  testing::Oracle to32(formats::fp32), to64(formats::fp64), to16(formats::fp16), tobf(formats::bf16);
  mpfr_t x;
  mpfr_init2(x, 64);
  for (I a : testing::integers<I>())
    for (int shift = 0; shift < 2; ++shift) {
      const I n = static_cast<I>(shift == 0 ? a : a / 3);
      for (Round mode : kModes) {
        const mpfr_rnd_t m = mode == Round::nearest_even  ? MPFR_RNDN
                             : mode == Round::toward_zero ? MPFR_RNDZ
                             : mode == Round::up          ? MPFR_RNDU
                                                          : MPFR_RNDD;
        mpfr_set_emin(mpfr_get_emin_min());
        mpfr_set_emax(mpfr_get_emax_max());
        if (std::is_signed_v<I>)
          mpfr_set_sj(x, static_cast<std::intmax_t>(n), MPFR_RNDN);
        else
          mpfr_set_uj(x, static_cast<std::uintmax_t>(n), MPFR_RNDN);
        const auto f = static_cast<double>(mpfr_get_flt(x, m));
        ASSERT_TRUE(same(static_cast<double>(integer_to_f32(n, mode)), f)) << +n << ' ' << static_cast<int>(mode);
        ASSERT_TRUE(same(integer_to_f64(n, mode), mpfr_get_d(x, m))) << +n << ' ' << static_cast<int>(mode);
        if (sizeof(I) <= 4) {  // a double holds it
          ASSERT_TRUE(same(half_value(formats::fp16, integer_to_half(formats::fp16, n, mode)),
                           to16.convert(static_cast<double>(n), mode)));
          ASSERT_TRUE(same(half_value(formats::bf16, integer_to_half(formats::bf16, n, mode)),
                           tobf.convert(static_cast<double>(n), mode)));
        }
      }
    }
  mpfr_clear(x);
}
TEST(Convert, IntegersAndFloats) {
  floats_to_integers<std::int8_t>();
  floats_to_integers<std::uint8_t>();
  floats_to_integers<std::int16_t>();
  floats_to_integers<std::uint32_t>();
  floats_to_integers<std::int32_t>();
  floats_to_integers<std::uint64_t>();
  floats_to_integers<std::int64_t>();
  integers_to_floats<std::int16_t>();
  integers_to_floats<std::uint32_t>();
  integers_to_floats<std::int32_t>();
  integers_to_floats<std::uint64_t>();
  integers_to_floats<std::int64_t>();
  // One above the middle of two bf16 values, and of no double: rounded once it goes up.
  EXPECT_EQ(integer_to_half(formats::bf16, (std::uint64_t{0x8080} << 48) + 1, Round::nearest_even), 0x5f01);
}

template <class To, class From>
void between_integers() {
  using L = std::numeric_limits<To>;
  for (From a : testing::integers<From>()) {
    const Int128 x = a;
    ASSERT_EQ((integer_to_integer<To, From>(a, false)),
              static_cast<To>(static_cast<std::make_unsigned_t<To>>(static_cast<std::uint64_t>(x))));
    ASSERT_EQ((integer_to_integer<To, From>(a, true)), x < Int128{L::min()}   ? L::min()
                                                       : x > Int128{L::max()} ? L::max()
                                                                              : static_cast<To>(x));
  }
}
TEST(Convert, BetweenIntegers) {
  between_integers<std::int8_t, std::int32_t>();
  between_integers<std::uint8_t, std::int64_t>();
  between_integers<std::int64_t, std::uint64_t>();
  between_integers<std::uint32_t, std::int16_t>();
  between_integers<std::int16_t, std::uint16_t>();
}

}  // namespace
}  // namespace assay::ptx

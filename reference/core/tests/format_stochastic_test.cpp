// fmt.stochastic, exhaustively over the random numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "reference/core/format.hpp"

namespace assay {
namespace {

using U32 = std::uint32_t;

double sr(const Format& f, double x, U32 random) {
  return round_to(f, x, Round::stochastic, Overflow::by_format, random);
}

std::vector<U32> words() {  // fp32: subnormal, smallest normal, ordinary, top binade; all kinds of discarded parts
  std::vector<U32> out;
  for (U32 top : {0x0000u, 0x0001u, 0x007Fu, 0x0080u, 0x3F80u, 0x3FFFu, 0x4049u, 0x7F7Eu})
    for (U32 low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xABCDu, 0xFFFFu})
      for (U32 sign : {0u, 0x80000000u}) out.push_back(sign | top << 16 | low);
  return out;
}

// bf16, 16 bits: exact stochastic rounding of a float, equal to (bits + R) >> 16.
TEST(FmtStochastic, Bf16OverAllRandomNumbers) {
  for (U32 bits : words()) {
    const auto x = static_cast<double>(std::bit_cast<float>(bits));
    const U32 toward = bits >> 16;
    U32 away = 0;
    double sum = 0;  // of at most 2^16 values of 8 bits and nearly one exponent: exact
    for (U32 random = 0; random < 65536; ++random) {
      const auto code = static_cast<U32>(encode(formats::bf16, x, Round::stochastic, Overflow::by_format, random));
      ASSERT_EQ(code, (bits + random) >> 16) << std::hex << bits << ' ' << random;
      ASSERT_TRUE(code == toward || code == toward + 1);
      away += code != toward;
      sum += decode(formats::bf16, code);
    }
    EXPECT_EQ(away, bits & 0xFFFF) << std::hex << bits;
    EXPECT_EQ(sum, x * 65536) << "the mean is x";
  }
}

// fp16, 13 bits: the discarded part of a float is cut to 13 bits first, exact where 13 bits are discarded.
TEST(FmtStochastic, Fp16OverAllRandomNumbers) {
  const Format& f = formats::fp16;
  for (U32 low : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x1234u, 0x1FFFu})
    for (U32 exponent : {102u, 103u, 107u, 112u, 113u, 127u, 141u})  // 2^-25 to 2^14; subnormal below 113
      for (bool negative : {false, true}) {
        const U32 bits = exponent << 23 | 0x2A4000u | low;
        const double x = std::copysign(static_cast<double>(std::bit_cast<float>(bits)), negative ? -1.0 : 1.0);
        const double toward = round_to(f, x, Round::toward_zero), gap = std::copysign(ulp(f, x), x);
        const double fraction = (x - toward) / gap;  // exact: 24 bits and powers of two
        const auto expected = static_cast<U32>(std::floor(fraction * 8192));
        if (exponent >= 113) {
          ASSERT_EQ(expected, low) << "all discarded bits are seen";
        }
        U32 away = 0;
        double sum = 0;
        for (U32 random = 0; random < 8192; ++random) {
          const double y = sr(f, x, random);
          ASSERT_TRUE(y == toward || y == toward + gap) << x << ' ' << y;
          away += y != toward;
          sum += y;
        }
        EXPECT_EQ(away, expected) << x;
        // E[SR_k(x)] - x in (-2^-k ulp, 0] sgn(x)
        const double bias = (sum / 8192 - x) / gap;
        EXPECT_LE(bias, 0);
        EXPECT_GT(bias, -pow2(-13));
      }
}

TEST(FmtStochastic, RepresentableValuesAndSpecialsNeverMove) {
  for (const Format* f : all_formats()) {
    if (f->bits > 16 || f->specials == Specials::scale) continue;
    const auto most = static_cast<U32>((1u << f->random_bits) - 1);
    for (U32 c = 0; c < 1u << f->bits; ++c) {
      const double x = decode(*f, c);
      if (std::isnan(x)) continue;
      for (U32 random : {0u, 1u, most})
        for (Overflow policy : {Overflow::saturate, Overflow::infinity_or_nan}) {
          if (std::isinf(x) && policy == Overflow::saturate) continue;
          ASSERT_EQ(encode(*f, x, Round::stochastic, policy, random), c) << f->name << ' ' << x;
        }
    }
    const double nan = decode(*f, encode(*f, std::nan(""), Round::stochastic, Overflow::by_format, most));
    EXPECT_TRUE(f->has_nan() ? std::isnan(nan) : nan == decode(*f, f->nan_code)) << f->name;
  }
}

TEST(FmtStochastic, ACarryPastTheLargestValueFollowsThePolicy) {
  const double x = 57344 + 8192 * .75;  // e5m2: three quarters of an ulp beyond max
  const auto at = [&](U32 random, Overflow policy) {
    return encode(formats::e5m2, x, Round::stochastic, policy, random);
  };
  EXPECT_EQ(at(0x3FFF, Overflow::infinity_or_nan), 0x7Bu);
  EXPECT_EQ(at(0x4000, Overflow::infinity_or_nan), 0x7Cu);
  EXPECT_EQ(at(0x4000, Overflow::saturate), 0x7Bu);
}

}  // namespace
}  // namespace assay

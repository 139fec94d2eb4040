// The claims of the pages fmt.ieee, fmt.fp8, fmt.fp6_fp4, fmt.e8m0 and fmt.convert on the formats themselves: formulas
// and constants as the pages print them, independent of the oracle.
#include <gtest/gtest.h>

#include <array>

#include "reference/core/tests/format_inputs.hpp"

namespace assay {
namespace {

using namespace formats;
using U32 = std::uint32_t;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr auto kNoSat = Overflow::infinity_or_nan;

double of_bits(U32 bits) { return static_cast<double>(std::bit_cast<float>(bits)); }

std::uint64_t rn(const Format& f, double x, Overflow policy = Overflow::by_format) {
  return encode(f, x, Round::nearest_even, policy);
}

TEST(FmtIeee, Bf16IsBitArithmeticOnFloat) {
  long overflowed = 0;
  for (U32 top = 0; top < 65536; ++top)
    for (U32 low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const U32 bits = top << 16 | low;
      const double x = of_bits(bits);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(decode(bf16, rn(bf16, x))));  // 0x7F800001 >> 16 would be Inf
        continue;
      }
      ASSERT_EQ(encode(bf16, x, Round::toward_zero), bits >> 16) << std::hex << bits;
      const U32 nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
      ASSERT_EQ(rn(bf16, x), nearest) << std::hex << bits;
      overflowed += std::isfinite(x) && std::isinf(round_to(bf16, x));
    }
  EXPECT_EQ(overflowed, 2 * 3);  // 0x7F7F8000, 0x7F7F8001, 0x7F7FFFFF and their negatives
}

TEST(FmtIeee, Tf32AwayIsOneAddition) {
  for (U32 top = 0; top < 1u << 19; ++top)
    for (U32 low : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x1FFFu}) {
      const U32 bits = top << 13 | low;
      const double x = of_bits(bits);
      if (!std::isfinite(x)) continue;
      ASSERT_EQ(encode(tf32, x, Round::nearest_away), (bits + 0x1000) & ~0x1FFFu) << std::hex << bits;
      ASSERT_EQ(encode(tf32, x, Round::toward_zero), bits & ~0x1FFFu) << std::hex << bits;
      ASSERT_EQ(decode(tf32, bits), of_bits(bits & ~0x1FFFu));  // what an MMA reads from an unrounded float
    }
  EXPECT_TRUE(std::isinf(round_to(tf32, of_bits(0x7F7FF000), Round::nearest_away)));
  EXPECT_TRUE(std::isfinite(round_to(tf32, of_bits(0x7F7FEFFF), Round::nearest_away)));
}

TEST(FmtIeee, WideningAndProductsAreExactInFloat) {
  for (const Format* f : {&fp16, &bf16, &e4m3, &e5m2, &e3m2, &e2m3, &e2m1})
    for (U32 a = 0; a < 1u << f->bits; ++a) {
      const double x = decode(*f, a);
      if (std::isnan(x)) continue;
      ASSERT_EQ(round_to(fp32, x), x) << f->name;
      for (U32 j = 0; j < 256; ++j) {  // all pairs of the 8-bit formats, arbitrary ones of the others
        const U32 b = f->bits <= 8 ? j % (1u << f->bits) : (a * 40503u + j * 40961u) & 0xFFFF;
        const double y = decode(*f, b), product = x * y;  // at most 22 bits: exact in double
        const bool in_range = std::fabs(product) <= fp32.max_finite() && std::fabs(product) >= fp32.min_normal();
        if (in_range) {
          ASSERT_EQ(round_to(fp32, product), product) << f->name << ' ' << x << ' ' << y;
        }
      }
    }
}

TEST(FmtIeee, DoubleRoundingThroughFloatIsVisible) {
  const double x = 1 + pow2(-11) + pow2(-40);  // just above a tie of fp16, which fp32 rounds onto it
  EXPECT_EQ(round_to(fp16, x), 1 + pow2(-10));
  EXPECT_EQ(round_to(fp16, round_to(fp32, x)), 1);
}

TEST(FmtFp8, ThresholdsOfThePage) {
  const auto above = [](double x) { return std::nextafter(x, kInf); };
  const auto below = [](double x) { return std::nextafter(x, 0); };
  EXPECT_EQ(rn(e4m3, 464, kNoSat), 0x7Eu);
  EXPECT_EQ(rn(e4m3, above(464), kNoSat), 0x7Fu);
  EXPECT_EQ(rn(e4m3, -above(464), kNoSat), 0xFFu);
  EXPECT_EQ(rn(e4m3, above(464)), 0x7Eu);
  EXPECT_EQ(rn(e5m2, 61440, kNoSat), 0x7Cu);
  EXPECT_EQ(rn(e5m2, below(61440), kNoSat), 0x7Bu);
  EXPECT_EQ(rn(e5m2, -61440, kNoSat), 0xFCu);
  EXPECT_EQ(rn(e5m2, 61440), 0x7Bu);
  EXPECT_EQ(rn(e4m3, pow2(-10)), 0u);
  EXPECT_EQ(rn(e4m3, above(pow2(-10))), 1u);
  EXPECT_EQ(rn(e5m2, pow2(-17)), 0u);
  EXPECT_EQ(rn(e5m2, above(pow2(-17))), 1u);
  for (const Format* f : {&e4m3, &e5m2}) {
    EXPECT_EQ(rn(*f, std::nan("")), 0x7Fu);
    EXPECT_EQ(rn(*f, -std::nan("")), 0x7Fu);
    EXPECT_EQ(rn(*f, -kInf), 0x80u | f->max_code());
    EXPECT_EQ(rn(*f, 1e9, Overflow::nan_on_inf), f->max_code());
    EXPECT_EQ(rn(*f, kInf, Overflow::nan_on_inf), 0x7Fu);
  }
  EXPECT_EQ(rn(e4m3, kInf, kNoSat), 0x7Fu);
  EXPECT_EQ(rn(e5m2, kInf, kNoSat), 0x7Cu);
  for (const Format* f : {&e4m3fnuz, &e5m2fnuz})
    for (double x : {kInf, -kInf, 1e9, -1e9}) {
      EXPECT_EQ(rn(*f, x, kNoSat), 0x80u);
      EXPECT_EQ(rn(*f, x), f->max_code() | (x < 0 ? 0x80 : 0));
    }
  EXPECT_EQ(rn(e4m3fnuz, -0.0), 0u);
  EXPECT_EQ(rn(e4m3fnuz, -1e-9), 0u);
  EXPECT_EQ(rn(e4m3, -1e-9), 0x80u);
}

TEST(FmtFp8, OddMonotoneAndWithinTheRelativeBound) {
  for (const Format* f : {&e4m3, &e5m2}) {
    const double limit = f == &e4m3 ? 464 : 61440, u = f->u(), tiny = f->min_subnormal() / 2;
    double worst = 0;
    oracle::float_inputs([&](U32 bits) {
      const double x = of_bits(bits);
      if (std::isnan(x)) return;
      ASSERT_EQ(rn(*f, -x), rn(*f, x) ^ 0x80u) << x;
      const double a = std::fabs(x);
      if (a > limit || (a == limit && f == &e5m2)) return;
      const double bound = std::max(u * a, tiny), error = std::fabs(x - round_to(*f, x));
      ASSERT_LE(error, bound) << x;
      if (bound > 0) worst = std::max(worst, error / bound);
    });
    EXPECT_EQ(worst, 1) << "the bound is attained";
    double last = -kInf;  // fp32 in ascending order of value, coarsely but through every boundary
    for (U32 top = 0; top < 1u << 20; ++top)
      for (U32 low : {0u, 1u, 0x7FFu, 0x800u, 0x801u, 0xFFFu}) {
        const U32 bits = top < 1u << 19 ? ~(top << 12 | low) : (top << 12 | low) & 0x7FFFFFFF;
        if (std::isnan(of_bits(bits))) continue;
        const double q = round_to(*f, of_bits(bits));
        ASSERT_GE(q, last) << std::hex << bits;
        last = q;
      }
    EXPECT_EQ(last, f->max_finite());
  }
}

TEST(FmtFp8, DoubleRoundingCountsOfThePage) {
  long inputs = 0, via_fp16 = 0, via_bf16 = 0;
  oracle::float_inputs([&](U32 bits) {
    ++inputs;
    const double x = of_bits(bits);
    if (!std::isfinite(x)) return;
    const std::uint64_t direct = rn(e4m3, x);
    via_fp16 += rn(e4m3, round_to(fp16, x)) != direct;
    via_bf16 += rn(e4m3, round_to(bf16, x)) != direct;
  });
  EXPECT_EQ(inputs, 6422528);
  EXPECT_EQ(via_fp16, 1512);
  EXPECT_EQ(via_bf16, 13104);
}

TEST(FmtFp8, FnuzIsHalfTheValue) {
  for (U32 c = 0; c < 256; ++c) {
    const double fn = decode(e4m3, c);
    if (std::isnan(fn)) continue;
    if (c == 0x80)
      EXPECT_TRUE(std::isnan(decode(e4m3fnuz, c)));
    else
      EXPECT_EQ(2 * decode(e4m3fnuz, c), fn);
  }
}

TEST(FmtFp6Fp4, TiesOfTheFourBitFormat) {
  constexpr std::array<double, 8> kValues = {0, .5, 1, 1.5, 2, 3, 4, 6};
  for (U32 c = 0; c < 8; ++c) {
    EXPECT_EQ(decode(e2m1, c), kValues[c]);
    EXPECT_EQ(decode(e2m1, c | 8), -kValues[c]);
  }
  struct Tie {
    double at;
    U32 code;
  };
  constexpr std::array<Tie, 7> kTies = {{{.25, 0}, {.75, 2}, {1.25, 2}, {1.75, 4}, {2.5, 4}, {3.5, 6}, {5, 6}}};
  for (U32 i = 0; i < 7; ++i) {
    const double t = kTies[i].at;
    EXPECT_EQ(rn(e2m1, t), kTies[i].code) << t;
    EXPECT_EQ(rn(e2m1, -t), kTies[i].code | 8) << -t;
    EXPECT_EQ(rn(e2m1, std::nextafter(t, 0)), i);
    EXPECT_EQ(rn(e2m1, std::nextafter(t, 9)), i + 1);
  }
  EXPECT_EQ(rn(e2m1, -0.1), 8u);
  EXPECT_EQ(rn(e2m1, -0.0), 8u);
  for (const Format* f : {&e2m1, &e2m3, &e3m2})
    for (Overflow policy : {Overflow::by_format, Overflow::saturate, kNoSat, Overflow::nan_on_inf}) {
      const std::uint64_t sign = std::uint64_t{1} << (f->bits - 1);
      EXPECT_EQ(rn(*f, std::nan(""), policy), f->max_code());
      EXPECT_EQ(rn(*f, -std::nan(""), policy), f->max_code());
      EXPECT_EQ(rn(*f, 1e9, policy), f->max_code());
      EXPECT_EQ(rn(*f, -kInf, policy), f->max_code() | sign);
    }
}

TEST(FmtE8m0, RulesOfThePage) {
  oracle::float_inputs([&](U32 bits) {
    const double x = of_bits(bits);
    const U32 field = bits >> 23 & 0xFF, mantissa = bits & 0x7FFFFF, magnitude = bits & 0x7FFFFFFF;
    for (Overflow policy : {Overflow::saturate, kNoSat}) {
      const U32 beyond = policy == kNoSat ? 255 : 254;
      U32 down = field, up = field + (mantissa != 0);
      if (field == 0) up = magnitude > 0x400000;
      if (field == 255) down = up = mantissa ? 255 : beyond;
      if (up == 255 && field != 255) up = beyond;
      ASSERT_EQ(encode(e8m0, x, Round::toward_zero, policy), down) << std::hex << bits;
      ASSERT_EQ(encode(e8m0, x, Round::up, policy), up) << std::hex << bits;
    }
    if (!std::isfinite(x)) return;
    const double a = std::fabs(x), low = round_to(e8m0, x, Round::toward_zero), high = round_to(e8m0, x, Round::up);
    if (a <= pow2(127)) {
      ASSERT_GE(high, a);
    }
    ASSERT_GE(low, pow2(-127));
    ASSERT_LE(low, std::max(a, pow2(-127)));
  });
  for (U32 c = 0; c < 255; ++c) {
    EXPECT_EQ(decode(e8m0, c), pow2(static_cast<int>(c) - 127));
    EXPECT_EQ(encode(e8m0, 1 / decode(e8m0, c)), 254 - c);
    // E8M0 -> bf16: c<<7, but the subnormal 0x0040 for c = 0.
    EXPECT_EQ(encode(bf16, decode(e8m0, c)), c == 0 ? 0x0040 : c << 7);
  }
  EXPECT_TRUE(std::isnan(decode(e8m0, 255)));
  EXPECT_EQ(encode(e8m0, std::nan(""), Round::up), 255u);
  EXPECT_EQ(encode(e8m0, 0, Round::up), 0u);
}

TEST(FmtConvert, BracketSymmetryIdempotence) {
  std::uint64_t state = 5;
  for (const Format* f : all_formats()) {
    if (f->specials == Specials::scale || f->sign_bits == 0) continue;
    for (int i = 0; i < 20000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(state)) * pow2(-63),
                                  static_cast<int>(state >> 8 & 31) - 16);
      if (std::fabs(x) > f->max_finite()) continue;
      const double down = round_to(*f, x, Round::down), up = round_to(*f, x, Round::up);
      ASSERT_LE(down, x);
      ASSERT_GE(up, x);
      ASSERT_EQ(down == x, up == x);
      for (Round mode : {Round::nearest_even, Round::nearest_away, Round::toward_zero, Round::stochastic}) {
        const double y = round_to(*f, x, mode, Overflow::by_format, static_cast<U32>(state >> 40) % 8192);
        ASSERT_TRUE(y == down || y == up) << f->name << ' ' << x << " -> " << y;
        ASSERT_EQ(round_to(*f, y, mode), y);
      }
      ASSERT_EQ(round_to(*f, -x, Round::toward_zero), -round_to(*f, x, Round::toward_zero));
      if (!f->fixed_point() || up <= f->max_finite()) {
        ASSERT_EQ(round_to(*f, -x, Round::down), -up);
      }
      // Rounding commutes with relu.
      ASSERT_EQ(round_to(*f, std::max(x, 0.0)), std::max(round_to(*f, x), 0.0));
    }
  }
}

}  // namespace
}  // namespace assay

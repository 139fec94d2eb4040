// The one rounding routine against the slow exact oracle: every value, every midpoint and their neighbours, in every
// mode and under every overflow policy; and the same for the sets of reals that round to a value.
#include <gtest/gtest.h>

#include <cfenv>

#include "reference/core/tests/format_inputs.hpp"

namespace assay {
namespace {

class Rounding : public testing::TestWithParam<oracle::Row> {};

TEST_P(Rounding, EveryModeAndPolicy) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  long cases = 0, wrong = 0;
  oracle::all_inputs(r, [&](double x) {
    const oracle::Place p = oracle::place(r, x);
    for (Round mode : oracle::modes(r))
      for (Overflow policy : oracle::kPolicies) {
        const std::uint64_t expected = oracle::encode(r, p, mode, policy), got = encode(f, x, mode, policy) >> r.low;
        const double value = round_to(f, x, mode, policy);
        ++cases;
        if ((got != expected || !oracle::same(value, oracle::decode(r, expected))) && ++wrong <= 5)
          ADD_FAILURE() << r.name << ' ' << oracle::name(mode) << ' ' << oracle::name(policy) << ": " << std::hexfloat
                        << x << std::hex << " -> code " << got << " value " << value << ", expected code " << expected;
      }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(cases, 300);
  RecordProperty("cases", static_cast<int>(cases));
}

class StochasticRounding : public testing::TestWithParam<oracle::Row> {};  // all but e8m0, which has none

TEST_P(StochasticRounding, EveryCarry) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  long cases = 0, wrong = 0;
  oracle::all_inputs(r, [&](double x) {
    const oracle::Place p = oracle::place(r, x);
    for (int k : {1, 8, r.k, 32}) {
      const auto most = static_cast<std::uint32_t>((std::uint64_t{1} << k) - 1);
      for (std::uint32_t random : {0u, 1u, most / 2, most / 2 + 1, most - 1, most}) {
        if (random > most) continue;
        for (Overflow policy : {Overflow::saturate, Overflow::infinity_or_nan}) {
          const std::uint64_t expected = oracle::encode(r, p, Round::stochastic, policy, random, k);
          const std::uint64_t got = encode(f, x, Round::stochastic, policy, random, k) >> r.low;
          ++cases;
          if (got != expected && ++wrong <= 5)
            ADD_FAILURE() << r.name << " SR k " << k << " R " << random << ": " << std::hexfloat << x << std::hex
                          << " -> code " << got << ", expected " << expected;
        }
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(cases, 300);
}

// round_to(x) = o exactly if x lies in preimage(o); its neighbours do not claim x. Every end is a value, a midpoint or
// the least visible fraction, all of which are inputs together with the doubles next to them.
TEST_P(Rounding, PreimageHoldsWhatRoundsThere) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  long cases = 0, wrong = 0;
  const auto check = [&](double x, double o, Round mode, Overflow policy, bool expected) {
    ++cases;
    const Interval i = preimage(f, o, mode, policy);
    if (i.contains(oracle::is_e8m0(r) ? std::fabs(x) : x) != expected && ++wrong <= 5)
      ADD_FAILURE() << r.name << ' ' << oracle::name(mode) << ' ' << oracle::name(policy) << std::hexfloat << ": " << x
                    << (expected ? " rounds to " : " does not round to ") << o << " but preimage is "
                    << (i.lo_closed ? '[' : '(') << i.lo << ", " << i.hi << (i.hi_closed ? ']' : ')');
  };
  const double inf = std::numeric_limits<double>::infinity();
  const bool sampled = oracle::width(r) > 8;  // the wide formats with the default policy only
  oracle::all_inputs(r, [&](double x) {
    if (std::isnan(x)) return;
    const oracle::Place p = oracle::place(r, x);
    for (Round mode : oracle::modes(r))
      for (Overflow policy : oracle::kPolicies) {
        if (sampled && policy != Overflow::by_format && std::fabs(x) < f.max_finite() / 2) continue;
        const double o = oracle::decode(r, oracle::encode(r, p, mode, policy));
        if (std::isnan(o)) {  // overflowed: no finite value claims x, and overflowing() does
          const Interval beyond = overflowing(f, mode);
          const bool claimed = beyond.contains(std::fabs(x)) || (f.sign_bits && x < 0);
          if (!claimed && ++wrong <= 5) ADD_FAILURE() << r.name << ": " << x << " should overflow";
          check(x, f.max_finite(), mode, policy, false);
          check(x, f.lowest(), mode, policy, false);
          continue;
        }
        check(x, o, mode, policy, true);
        if (std::isinf(o)) {
          check(x, std::copysign(f.max_finite(), o), mode, policy, false);
          check(x, -o, mode, policy, false);
          continue;
        }
        // The values beside o, as codes of the signed grid.
        const double up = round_to(f, std::nextafter(o, inf), Round::up, policy);
        const double down =
            round_to(f, std::nextafter(o, -inf), oracle::is_e8m0(r) ? Round::toward_zero : Round::down, policy);
        for (double other : {up, down})
          if (!std::isnan(other) && other != o) check(x, other, mode, policy, false);
      }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(cases, 50);
}

TEST_P(Rounding, OverflowingIsWhatThePolicySees) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  long finite = 0;
  oracle::all_inputs(r, [&](double x) {
    if (!(x >= f.max_finite() / 2)) return;
    for (Round mode : oracle::modes(r)) {
      const oracle::Place p = oracle::place(r, x);
      // On the grid continued: what the mode chooses lies beyond the largest code.
      const bool inward = mode == Round::toward_zero || mode == Round::down;
      const bool up = mode == Round::up || (mode == Round::nearest_away && p.against_mid >= 0) ||
                      (mode == Round::nearest_even && (p.against_mid > 0 || (p.against_mid == 0 && p.lo % 2 == 1)));
      const bool expected = std::isinf(x) || (!inward && (p.lo != p.hi && up ? p.hi : p.lo) > r.max_code);
      if (expected && std::isfinite(x)) ++finite;
      EXPECT_EQ(overflowing(f, mode).contains(x), expected) << r.name << ' ' << oracle::name(mode) << ' ' << x;
    }
  });
  EXPECT_GT(finite, 0);
}

// The set in stochastic mode: x is in it if some random number takes it there, and carries are monotone in the number.
class StochasticSet : public testing::TestWithParam<oracle::Row> {};

TEST_P(StochasticSet, HoldsWhatSomeNumberTakesThere) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  for (int k : {1, 4, r.k}) {
    const auto most = static_cast<std::uint32_t>((std::uint64_t{1} << k) - 1);
    oracle::all_inputs(r, [&](double x) {
      if (std::isnan(x)) return;
      const oracle::Place p = oracle::place(r, x);
      for (Overflow policy : oracle::kPolicies) {
        const double least = oracle::decode(r, oracle::encode(r, p, Round::stochastic, policy, 0, k));
        const double other = oracle::decode(r, oracle::encode(r, p, Round::stochastic, policy, most, k));
        for (std::uint64_t c = 0; c < std::uint64_t{1} << r.bits; ++c) {
          const double o = decode(f, c);
          if (std::isnan(o)) continue;
          const Interval i = preimage(f, o, Round::stochastic, policy, k);
          if (i.contains(x) != (o == least || o == other))
            FAIL() << r.name << " k " << k << std::hexfloat << " x " << x << " o " << o << " set " << i.lo << ' '
                   << i.hi;
        }
      }
    });
  }
}

std::string row_name(const testing::TestParamInfo<oracle::Row>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Rows, Rounding, testing::ValuesIn(oracle::rows()), row_name);
INSTANTIATE_TEST_SUITE_P(Rows, StochasticRounding,
                         testing::ValuesIn(oracle::rows_where([](const auto& r) { return !oracle::is_e8m0(r); })),
                         row_name);
INSTANTIATE_TEST_SUITE_P(UpTo8Bits, StochasticSet, testing::ValuesIn(oracle::rows_where([](const auto& r) {
                           return !oracle::is_e8m0(r) && oracle::width(r) <= 8;
                         })),
                         row_name);

TEST(RoundingPaths, FastPathEqualsTheGeneralRoutine) {
  std::uint64_t state = 7;
  for (const Format* f : all_formats()) {
    if (f->specials == Specials::scale) continue;
    for (int i = 0; i < 200000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Exponents around the range of the format, mantissas short enough that ties are frequent.
      const int e = f->emin() - 4 + static_cast<int>((state >> 33) % static_cast<unsigned>(f->emax() - f->emin() + 8));
      const int length = static_cast<int>(state >> 20 & 63);
      const std::uint64_t mantissa = (state * state) >> 12 & ~((std::uint64_t{1} << (length < 52 ? length : 51)) - 1);
      const double x = std::copysign((1 + static_cast<double>(mantissa) * pow2(-52)) * pow2(e), state >> 63 ? -1.0 : 1);
      const double fast = round_to(*f, x);
      ASSERT_TRUE(oracle::same(fast, detail::round_general(*f, x, Round::nearest_even, Overflow::by_format, 0, 0)))
          << f->name << ' ' << std::hexfloat << x;
    }
  }
}

TEST(RoundingPaths, HardwareFloatAgrees) {
  const oracle::Row& r = oracle::row("fp32");
  long cases = 0;
  oracle::all_inputs(r, [&](double x) {
    if (std::isnan(x)) return;
    ++cases;
    ASSERT_TRUE(oracle::same(round_to(formats::fp32, x), static_cast<double>(static_cast<float>(x)))) << x;
  });
  EXPECT_GT(cases, 100000);
}

TEST(RoundingPaths, TheFloatingPointEnvironmentDoesNotMatter) {
  const auto digest = [] {
    std::uint64_t h = 14695981039346656037u;
    for (const char* n : {"fp32", "fp16", "bf16", "e4m3", "e2m1", "mxint8"}) {
      const Format& f = format(n);
      std::uint64_t state = 3;
      for (int i = 0; i < 20000; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double x = std::bit_cast<double>((state & 0x801FFFFFFFFFFFFF) | (state % 64 + 990) << 52);
        for (Round mode : {Round::nearest_even, Round::nearest_away, Round::toward_zero, Round::up, Round::down})
          h = (h ^ std::bit_cast<std::uint64_t>(round_to(f, x, mode)) ^ encode(f, x, mode)) * 1099511628211u;
      }
    }
    return h;
  };
  const std::uint64_t expected = digest();
  for (int environment : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(environment), 0);
    const std::uint64_t got = digest();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(got, expected) << "environment " << environment;
  }
}

}  // namespace
}  // namespace assay

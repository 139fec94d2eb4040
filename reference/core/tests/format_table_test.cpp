// Every code of every format against the decode rule and the counts of the master table.
#include <gtest/gtest.h>

#include <set>

#include "reference/core/error.hpp"
#include "reference/core/tests/format_inputs.hpp"

namespace assay {
namespace {

class FormatTable : public testing::TestWithParam<oracle::Row> {};

TEST_P(FormatTable, ParametersAreThoseOfThePage) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  EXPECT_EQ(f.bits, r.bits);
  EXPECT_EQ(f.max_code(), r.max_code);
  EXPECT_EQ(f.u(), r.u);
  EXPECT_EQ(f.max_finite(), r.max);
  EXPECT_EQ(f.min_normal(), r.min_normal);
  EXPECT_EQ(f.min_subnormal(), r.min_subnormal);
  EXPECT_EQ(f.has_negative_zero(), oracle::has_negative_zero(r));
  EXPECT_EQ(f.nan_code, r.nan_result << r.low);
  if (!f.fixed_point()) {
    EXPECT_EQ(pow2(-f.p()), r.u);
    EXPECT_EQ(std::ilogb(f.max_finite()), f.emax());
    EXPECT_EQ(std::ilogb(f.min_normal()), f.emin());
  }
}

class FormatCodes : public testing::TestWithParam<oracle::Row> {};

TEST_P(FormatCodes, DecodeAndComeBack) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  long infinities = 0, nans = 0, finite = 0;
  std::set<double> distinct;
  double lowest = 0;
  for (std::uint64_t c = 0; c < std::uint64_t{1} << oracle::width(r); ++c) {
    const std::uint64_t code = c << r.low, junk = (c * 2654435761u) & ((std::uint64_t{1} << r.low) - 1);
    const double v = decode(f, code);
    ASSERT_TRUE(oracle::same(v, oracle::decode(r, c))) << r.name << " code " << c << " decodes to " << v;
    ASSERT_TRUE(oracle::same(decode(f, code | junk), v)) << r.name << ": low bits of " << c << " are not ignored";
    if (std::isnan(v)) {
      ++nans;
      ASSERT_EQ(encode(f, v), f.nan_code);
      continue;
    }
    std::isinf(v) ? ++infinities : ++finite;
    ASSERT_EQ(encode(f, v), code) << r.name << " value " << v;
    if (std::isinf(v)) continue;
    distinct.insert(v);
    lowest = std::min(lowest, v);
    for (Round mode : oracle::modes(r))
      for (Overflow policy : oracle::kPolicies)
        ASSERT_EQ(encode(f, v, mode, policy), code) << r.name << " value " << v << ' ' << oracle::name(mode);
  }
  EXPECT_EQ(infinities, r.inf_codes);
  EXPECT_EQ(nans, r.nan_codes);
  EXPECT_EQ(finite, r.finite_codes);
  EXPECT_EQ(static_cast<long>(distinct.size()), r.distinct);
  EXPECT_EQ(f.lowest(), oracle::is_e8m0(r) ? pow2(-127) : lowest);
}

TEST_P(FormatTable, UlpIsTheDistanceToTheNextValue) {
  const oracle::Row& r = GetParam();
  const Format& f = format(r.name);
  long checked = 0;
  oracle::all_inputs(r, [&](double x) {
    const oracle::Place p = oracle::place(r, std::fabs(x));
    double expected =
        r.max == r.min_subnormal
            ? 1
            : oracle::to_double(oracle::minus(oracle::value(r, r.max_code), oracle::value(r, r.max_code - 1)));
    if (oracle::is_e8m0(r)) expected = pow2(127);
    if (std::isfinite(x) && p.lo <= r.max_code && r.max_code > 1)
      expected = oracle::to_double(oracle::minus(oracle::value(r, p.lo + 1), oracle::value(r, p.lo)));
    ++checked;
    if (ulp(f, x) != expected) ADD_FAILURE() << r.name << ": ulp(" << x << ") = " << ulp(f, x) << " not " << expected;
  });
  EXPECT_GT(checked, 10);
}

std::string row_name(const testing::TestParamInfo<oracle::Row>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Rows, FormatTable, testing::ValuesIn(oracle::rows()), row_name);
INSTANTIATE_TEST_SUITE_P(UpTo19Bits, FormatCodes,
                         testing::ValuesIn(oracle::rows_where([](const auto& r) { return oracle::width(r) <= 19; })),
                         row_name);

// The processor's own float and double are the second opinion for the wide rows.
TEST(FormatTable32, DecodesAsTheHardwareFloat) {
  for (std::uint32_t top = 0; top < 1u << 16; ++top)
    for (std::uint32_t low : {0u, 1u, 0x7FFFu, 0x8000u, 0xFFFFu, top * 2654435761u >> 16}) {
      const std::uint32_t code = top << 16 | low;
      const auto expected = static_cast<double>(std::bit_cast<float>(code));
      ASSERT_TRUE(oracle::same(decode(formats::fp32, code), expected)) << code;
      if (!std::isnan(expected)) {
        ASSERT_EQ(encode(formats::fp32, expected), code);
      }
    }
}

TEST(FormatTable64, DoubleIsItself) {
  std::uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double x = std::bit_cast<double>(i < 5000 ? state >> 12 : state);  // the first ones subnormal or tiny
    for (Round mode : oracle::modes(oracle::row("fp32")))
      ASSERT_TRUE(oracle::same(round_to(formats::fp64, x, mode), x)) << x;
    if (!std::isnan(x)) {
      ASSERT_EQ(encode(formats::fp64, x), std::bit_cast<std::uint64_t>(x));
    }
  }
  EXPECT_EQ(formats::fp64.max_finite(), std::numeric_limits<double>::max());
  EXPECT_EQ(formats::fp64.min_normal(), std::numeric_limits<double>::min());
  EXPECT_EQ(formats::fp64.min_subnormal(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(formats::fp64.u(), pow2(-53));
  EXPECT_EQ(decode(formats::fp64, encode(formats::fp64, -0.0)), 0.0);
}

TEST(FormatTable64, LongIntegers) {
  const Format& f = formats::int64;
  EXPECT_EQ(decode(f, encode(f, -9223372036854775808.0)), -9223372036854775808.0);
  EXPECT_EQ(encode(f, -1), ~std::uint64_t{0});
  EXPECT_EQ(encode(f, 1e30, Round::nearest_even), 0x7FFFFFFFFFFFFFFFu);
  EXPECT_EQ(encode(f, -1e30, Round::nearest_even), 0x8000000000000000u);
  EXPECT_EQ(encode(f, 2.5, Round::nearest_even), 2u);
  EXPECT_EQ(encode(f, std::numeric_limits<double>::quiet_NaN(), Round::nearest_even), 0x8000000000000000u);
  EXPECT_THROW(decode(f, 0x7FFFFFFFFFFFFFFF), Error);
  EXPECT_EQ(f.max_finite(), 9223372036854774784.0);
  EXPECT_EQ(f.lowest(), -9223372036854775808.0);
}

TEST(FormatTable, EveryFormatIsTested) {
  std::set<std::string_view> names;
  for (const Format* f : all_formats()) names.insert(f->name);
  EXPECT_EQ(names.size(), all_formats().size());
  EXPECT_EQ(names.size(), oracle::rows().size() + 2);  // fp64 and int64 have tests of their own
  for (const oracle::Row& r : oracle::rows()) EXPECT_TRUE(names.count(r.name)) << r.name;
}

template <class Call>
std::string message(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(FormatErrors, SayWhatIsWrong) {
  EXPECT_NE(message([] { format("e4m2"); }).find("fp64 fp32 tf32 fp16 bf16"), std::string::npos);
  EXPECT_NE(message([] { format("e4m2"); }).find("'e4m2'"), std::string::npos);
  EXPECT_NE(message([] { encode(formats::e4m3, 1.1); }).find("value of e4m3"), std::string::npos);
  EXPECT_NE(message([] { encode(formats::e2m1, std::nan("")); }).find("value of e2m1"), std::string::npos);
  EXPECT_NE(message([] { encode(formats::e4m3, HUGE_VAL); }).find("value of e4m3"), std::string::npos);
  EXPECT_NE(message([] { encode(formats::e8m0, -2.0); }).find("value of e8m0"), std::string::npos);
  EXPECT_NE(message([] { decode(formats::e2m1, 16); }).find("code of e2m1"), std::string::npos);
  EXPECT_NE(message([] { round_to(formats::e8m0, 1); }).find("rounding mode of e8m0"), std::string::npos);
  EXPECT_NE(message([] { preimage(formats::e8m0, 1); }).find("rounding mode of e8m0"), std::string::npos);
  EXPECT_NE(message([] { preimage(formats::bf16, 1.01); }).find("value of bf16"), std::string::npos);
  const auto stochastic = [](std::uint32_t random, int k) {
    return message([=] { round_to(formats::fp16, 1, Round::stochastic, Overflow::saturate, random, k); });
  };
  EXPECT_NE(stochastic(1u << 13, 0).find("13 bits, random 8192"), std::string::npos);
  EXPECT_NE(stochastic(0, 33).find("33 bits"), std::string::npos);
  EXPECT_NE(stochastic(0, -1).find("-1 bits"), std::string::npos);
  EXPECT_EQ(stochastic(0xFFFFFFFF, 32), "no error");
}

}  // namespace
}  // namespace assay

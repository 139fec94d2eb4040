#include "reference/core/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reference/core/philox.hpp"
#include "reference/core/tests/kernels_testing.hpp"

namespace assay {
namespace {

using testing::bits;

// The known answers that Random123 publishes (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ((PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), philox4x32({0, 0, 0, 0}, {0, 0}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ((PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}), philox4x32({f, f, f, f}, {f, f}));
  EXPECT_EQ((PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}),
            philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}));
}

TEST(Philox, CoordinatesAreCheckedAndTold) {
  EXPECT_THROW(PhiloxElement(1, 0, {0, -1}), Error);
  EXPECT_THROW(PhiloxElement(1, 0, {Index{1} << 32, 0}), Error);
  EXPECT_NO_THROW(PhiloxElement(1, 0, {(Index{1} << 32) - 1, 0}));
  // Row and column are words of the counter; a leading coordinate is not mixed up with them.
  EXPECT_EQ(philox4x32({5, 6, 7, 8}, {9, 1}), PhiloxElement(0x100000009, 7, {5, 6}).words(8));
  std::set<PhiloxCounter> seen;
  for (const Shape& at : {Shape{}, Shape{1}, Shape{1, 0}, Shape{0, 1, 0}, Shape{1, 0, 0}, Shape{0, 0, 1},
                          Shape{0, 0, 1, 0}, Shape{0, 1, 0, 0}, Shape{1, 0, 0, 0}})
    EXPECT_TRUE(seen.insert(PhiloxElement(3, 2, at).words(0)).second) << to_string(at);
}

TEST(Profile, NamesAndTheirErrors) {
  EXPECT_EQ(19u, all_profiles().size());
  for (const Profile p : all_profiles()) EXPECT_EQ(p, profile(name(p)));
  try {
    profile("nomral");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ("'nomral'", e.found);
    EXPECT_NE(std::string::npos, e.expected.find("normal, uniform"));
  }
  EXPECT_THROW(fill(Profile::normal, {2, -1}, 1, 0), Error);
}

TEST(Profile, CuttingAShapeKeepsTheRest) {
  for (const Profile p : all_profiles()) {
    if (p == Profile::nan_tail) continue;  // depends on the number of columns, as documented
    const Tensor<double> whole = fill(p, {3, 4, 5, 6}, 42, 1), part = fill(p, {2, 3, 4, 5}, 42, 1);
    for (Index a = 0; a < 2; ++a)
      for (Index b = 0; b < 3; ++b)
        for (Index c = 0; c < 4; ++c)
          for (Index d = 0; d < 5; ++d)
            ASSERT_EQ(bits(whole.at_flat(((a * 4 + b) * 5 + c) * 6 + d)),
                      bits(part.at_flat(((a * 3 + b) * 4 + c) * 5 + d)))
                << name(p);
  }
}

TEST(Profile, SeedAndTensorAndBatchMatter) {
  const auto equal = [](const Tensor<double>& x, const Tensor<double>& y) {
    for (Index i = 0; i < x.size(); ++i)
      if (bits(x.at_flat(i)) != bits(y.at_flat(i))) return false;
    return true;
  };
  for (const Profile p : all_profiles()) {
    const Tensor<double> x = fill(p, {2, 3, 8}, 1, 0);
    EXPECT_TRUE(equal(x, fill(p, {2, 3, 8}, 1, 0))) << name(p);
    EXPECT_FALSE(equal(x, fill(p, {2, 3, 8}, 2, 0))) << name(p);
    EXPECT_FALSE(equal(x, fill(p, {2, 3, 8}, 1 + (std::uint64_t{1} << 32), 0))) << name(p);
    EXPECT_FALSE(equal(x, fill(p, {2, 3, 8}, 1, 1))) << name(p);
    bool batches_differ = false;
    for (Index i = 0; i < 24; ++i) batches_differ |= bits(x.at_flat(i)) != bits(x.at_flat(i + 24));
    EXPECT_EQ(p != Profile::constant && p != Profile::equal_rows, batches_differ) << name(p);
  }
}

// P(|mean of n deviates| > 6 / sqrt(n)) < 2e-9, and so on: six standard deviations each. Seeds are fixed, so a pass is
// a pass for ever.
TEST(Profile, NormalDeviatesAreNormal) {
  const Index n = 200000;
  const Tensor<double> z = fill(Profile::normal, {n / 100, 100}, 7, 3);
  double sum = 0, squares = 0, cubes = 0, within = 0, product = 0;
  for (Index i = 0; i < n; ++i) {
    const double v = z.at_flat(i);
    sum += v;
    squares += v * v;
    cubes += v * v * v;
    within += std::fabs(v) < 1.0;
    if (i > 0) product += v * z.at_flat(i - 1);
  }
  const double m = static_cast<double>(n), six = 6 / std::sqrt(m);
  EXPECT_LT(std::fabs(sum / m), six);
  EXPECT_LT(std::fabs(squares / m - 1), six * std::sqrt(2));
  EXPECT_LT(std::fabs(cubes / m), six * std::sqrt(15));
  EXPECT_LT(std::fabs(within / m - 0.682689492), six * 0.4655);
  EXPECT_LT(std::fabs(product / m), six);
}

TEST(Profile, EachIsWhatItSays) {
  const Index rows = 64, cols = 40;
  const auto all = [&](Profile p, auto holds) {
    const Tensor<double> x = fill(p, {rows, cols}, 5, 2);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j)
        EXPECT_TRUE(holds(x.at_flat(i * cols + j), j)) << name(p) << " " << i << " " << j;
    return x;
  };
  const auto distinct = [](const Tensor<double>& x) {
    std::set<std::uint64_t> values;
    for (Index i = 0; i < x.size(); ++i) values.insert(bits(x.at_flat(i)));
    return values.size();
  };
  EXPECT_EQ(17u, distinct(all(Profile::small_integers,
                              [](double x, Index) { return std::fabs(x) <= 8 && x == std::nearbyint(x); })));
  EXPECT_EQ(34u, distinct(all(Profile::powers_of_two,
                              [](double x, Index) { return std::fabs(x) <= 256 && std::fabs(x) >= 1.0 / 256; })));
  EXPECT_EQ(4u, distinct(all(Profile::few_distinct, [](double x, Index) { return x == -1 || (x >= 0.5 && x <= 2); })));
  EXPECT_EQ(1u, distinct(all(Profile::constant, [](double x, Index) { return std::isfinite(x); })));
  all(Profile::uniform, [](double x, Index) { return x >= -1 && x < 1; });
  all(Profile::positive, [](double x, Index) { return x >= 0.125 && x < 2; });
  all(Profile::huge_logits, [](double x, Index) { return std::fabs(x) <= 1e4; });
  all(Profile::nan_tail, [&](double x, Index j) { return std::isnan(x) == (j >= 30); });
  const Tensor<double> up = all(Profile::ascending, [](double x, Index j) { return std::floor(8 * x) == j; });
  for (Index j = 1; j < cols; ++j) EXPECT_LT(up.at_flat(j - 1), up.at_flat(j));
  // Every tie is a midpoint of one of the significand widths: p + 1 bits, the last one set.
  all(Profile::ties, [](double x, Index) {
    int e;
    const double fraction = std::frexp(std::fabs(x), &e);
    for (const int p : {2, 3, 4, 8, 11}) {
      const double scaled = std::ldexp(fraction, p + 1);
      if (scaled == std::floor(scaled) && std::fmod(scaled, 2.0) == 1.0) return e >= -1 && e <= 3;
    }
    return false;
  });
  const Tensor<double> pairs = all(Profile::cancelling, [](double x, Index) { return std::isfinite(x); });
  for (Index i = 0; i < pairs.size(); i += 2)
    EXPECT_LE(std::fabs(pairs.at_flat(i) + pairs.at_flat(i + 1)), std::fabs(pairs.at_flat(i)) / 16);
  Index inf_rows = 0, minus_zero = 0, plus_zero = 0, odd = 0;
  const Tensor<double> gone = fill(Profile::neg_inf, {rows, cols}, 5, 2);
  for (Index i = 0; i < rows; ++i) {
    Index n = 0;
    for (Index j = 0; j < cols; ++j) n += gone.at_flat(i * cols + j) == -HUGE_VAL;
    EXPECT_GT(n, 0);
    inf_rows += n == cols;
  }
  EXPECT_GT(inf_rows, 4);
  EXPECT_LT(inf_rows, 32);
  const Tensor<double> zeros = fill(Profile::signed_zeros, {rows, cols}, 5, 2);
  const Tensor<double> odds = fill(Profile::specials, {rows, cols}, 5, 2, &formats::fp16);
  for (Index i = 0; i < zeros.size(); ++i) {
    plus_zero += bits(zeros.at_flat(i)) == bits(0.0);
    minus_zero += bits(zeros.at_flat(i)) == bits(-0.0);
    odd += !std::isfinite(odds.at_flat(i)) || std::fabs(odds.at_flat(i)) == 65504 || odds.at_flat(i) == 0;
  }
  EXPECT_NEAR(static_cast<double>(plus_zero), 853, 6 * 24);  // 2560 / 3, six standard deviations
  EXPECT_NEAR(static_cast<double>(minus_zero), 853, 6 * 24);
  EXPECT_NEAR(static_cast<double>(odd), 320, 6 * 17);
}

TEST(Profile, ValuesAreInTheFormat) {
  for (const Format* f : {&formats::fp32, &formats::bf16, &formats::fp16, &formats::e4m3, &formats::e2m1})
    for (const Profile p : all_profiles()) {
      const Tensor<double> exact = fill(p, {9, 16}, 3, 1), x = fill(p, {9, 16}, 3, 1, f);
      Index changed = 0;
      for (Index i = 0; i < x.size(); ++i) {
        EXPECT_EQ(bits(round_to(*f, x.at_flat(i))), bits(x.at_flat(i))) << name(p) << " " << f->name;
        if (p != Profile::tiny && p != Profile::specials) {
          EXPECT_EQ(bits(round_to(*f, exact.at_flat(i))), bits(x.at_flat(i))) << name(p) << " " << f->name;
        }
        changed += bits(exact.at_flat(i)) != bits(x.at_flat(i));
      }
      if (p == Profile::normal) {
        EXPECT_GT(changed, 100);
      }
    }
  // Below the normal numbers, but not all zero.
  const Tensor<double> x = fill(Profile::tiny, {50, 50}, 3, 1, &formats::bf16);
  Index subnormal = 0;
  for (Index i = 0; i < x.size(); ++i)
    subnormal += x.at_flat(i) != 0 && std::fabs(x.at_flat(i)) < formats::bf16.min_normal();
  EXPECT_GT(subnormal, 250);
}

TEST(Profile, EmptyAndScalarShapes) {
  for (const Profile p : all_profiles()) {
    EXPECT_EQ(0, fill(p, {0, 4}, 1, 0).size());
    EXPECT_EQ(0, fill(p, {4, 0}, 1, 0).size());
    EXPECT_EQ(0, fill(p, {0, 0, 3}, 1, 0).size());
    EXPECT_EQ(1, fill(p, {}, 1, 0).size());
    EXPECT_EQ(5, fill(p, {5}, 1, 0).size());
  }
}

}  // namespace
}  // namespace assay

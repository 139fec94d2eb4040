#include "reference/core/choice.hpp"

#include <gtest/gtest.h>

#include "reference/core/contract.hpp"

namespace assay {
namespace {

Bound within(double value, double error) {
  Bound x(value);
  x.b = x.w = error;
  return x;
}

TEST(Choice, ExactScoresDecideExactly) {
  const Vector<Bound> s{1, 3, 2, 3};
  EXPECT_EQ(inadmissible_argmax(s, 1), "");
  EXPECT_EQ(inadmissible_argmax(s, 3), "") << "a tie may go either way";
  EXPECT_NE(inadmissible_argmax(s, 2), "");
  EXPECT_EQ(inadmissible_top_k(s, {3, 1}), "");
  EXPECT_NE(inadmissible_top_k(s, {3, 2}), "");
  EXPECT_EQ(inadmissible_top_k(s, {3, 2, 1}), "") << "the order within the chosen is free";
  EXPECT_EQ(inadmissible_top_k(s, {}), "");
}

TEST(Choice, ErrorsAllowTheFlipTheyCanCauseAndNoOther) {
  const Vector<Bound> s{within(1, 0.1), within(1.15, 0.1), within(1.3, 0.1)};
  EXPECT_EQ(inadmissible_argmax(s, 1), "");
  EXPECT_NE(inadmissible_argmax(s, 0), "") << "1.1 at most, against 1.2 at least";
  EXPECT_EQ(inadmissible_top_k(s, {0, 2}), "");
}

TEST(Choice, TheOwnChoiceIsTheLargestWithTheSmallerIndexFirst) {
  const double nan = __builtin_nan("");
  const Vector<double> s{1, nan, 3, 2, 3};
  EXPECT_EQ(top_k(s, 0), (std::vector<Index>{}));
  EXPECT_EQ(top_k(s, 3), (std::vector<Index>{2, 4, 3}));
  EXPECT_EQ(top_k(s, 5), (std::vector<Index>{2, 4, 3, 0, 1}));
  EXPECT_THROW(top_k(s, 6), Error);
  EXPECT_THROW(top_k(s, -1), Error);
}

TEST(Choice, TheOnlyChoiceIsTheOneThatNoErrorCanChange) {
  const Vector<Bound> s{within(1, 0.1), within(1.15, 0.1), within(3, 0.1)};
  EXPECT_TRUE(only_top_k(s, {2}));
  EXPECT_FALSE(only_top_k(s, {2, 1})) << "0 may be larger than 1";
  EXPECT_FALSE(only_top_k(s, {1}));
  EXPECT_FALSE(only_top_k(Vector<Bound>{2, 2}, {0})) << "a tie";
  EXPECT_TRUE(only_top_k(s, {0, 1, 2}));
}

TEST(Choice, BadChoicesAreNamed) {
  const Vector<Bound> s{1, __builtin_nan(""), 2};
  EXPECT_NE(inadmissible_argmax(s, 1), "") << "NaN over a number";
  EXPECT_EQ(inadmissible_argmax(s, 2), "");
  EXPECT_NE(inadmissible_top_k(s, {2, 2}).find("twice"), std::string::npos);
  EXPECT_THROW(inadmissible_argmax(s, 3), Error);
  EXPECT_THROW(inadmissible_argmax(s, -1), Error);
}

}  // namespace
}  // namespace assay

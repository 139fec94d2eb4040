#include <gtest/gtest.h>

#include <cstring>

#include "reference/core/math.hpp"
#include "reference/core/readings/count.hpp"
#include "reference/core/readings/flow.hpp"

namespace assay {
namespace {

bool same_bits(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; }

TEST(Flow, FunctionsKeepTheTokensAndTheBitsOfDouble) {
  for (int i = 1; i < 1000; ++i) {
    const double x = i / 37.0;
    const Flow f(x, 5);
    for (const Flow& y : {exp(f), exp2(f), log(f), sqrt(f)}) EXPECT_EQ(y.tokens, 5u);
    EXPECT_TRUE(same_bits(exp(f).v, math::exp(x)));
    EXPECT_TRUE(same_bits(exp2(f).v, math::exp2(x)));
    EXPECT_TRUE(same_bits(log(f).v, math::log(x)));
    EXPECT_TRUE(same_bits(sqrt(f).v, math::sqrt(x)));
  }
}

TEST(Flow, ArithmeticJoinsTokens) {
  const Flow x(2, 1), y(3, 4), constant(7);
  for (const Flow& z : {x + y, x - y, x * y, x / y, max(x, y)}) EXPECT_EQ(z.tokens, 5u);
  EXPECT_EQ((-x * constant).tokens, 1u);
  EXPECT_EQ((x * Flow(0)).tokens, 1u);  // times zero is still a dependence: 0 NaN = NaN
}

TEST(Count, TalliesEachKindOnce) {
  tally() = {};
  const Count x(2), y(3);
  const Count z = sqrt(exp(x) + exp2(y)) * log(y) / max(x, y) - x;
  EXPECT_TRUE(same_bits(z.v, math::sqrt(math::exp(2) + math::exp2(3)) * math::log(3) / 3 - 2));
  EXPECT_EQ(tally().add, 2);
  EXPECT_EQ(tally().multiply, 1);
  EXPECT_EQ(tally().divide, 1);
  EXPECT_EQ(tally().function, 4);
  EXPECT_EQ(tally().compare, 1);
}

}  // namespace
}  // namespace assay

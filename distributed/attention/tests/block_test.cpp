// The merge of two parts and the sink at the edges of their domain: nothing seen, NaN, infinite logits.
#include "distributed/attention/block.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "distributed/attention/ring.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

constexpr double none = -std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// One row of one head, dv = 2.
RingPart<double> part(double lse, double o0, double o1) {
  RingPart<double> p{Tensor<double>(Shape{1, 1, 1, 2}), Tensor<double>(Shape{1, 1, 1})};
  p.lse.data()[0] = lse;
  p.o.data()[0] = o0;
  p.o.data()[1] = o1;
  return p;
}

RingPart<double> merged(RingPart<double> a, const RingPart<double>& b) {
  merge_part(a, b);
  return a;
}

TEST(Merge, NothingSeenIsTheUnitWhateverItsOutput) {
  const RingPart<double> some = part(0.5, 3, -4), empty = part(none, nan, nan);
  for (const RingPart<double>& y : {merged(part(0.5, 3, -4), empty), merged(part(none, nan, nan), some)}) {
    EXPECT_EQ(0.5, y.lse.data()[0]);
    EXPECT_EQ(3, y.o.data()[0]);
    EXPECT_EQ(-4, y.o.data()[1]);
  }
  EXPECT_EQ(none, merged(part(none, 0, 0), empty).lse.data()[0]);
  EXPECT_EQ(0, merged(part(none, 0, 0), empty).o.data()[0]);
}

TEST(Merge, EqualPartsCountHalf) {
  const RingPart<double> y = merged(part(7000, 1, 5), part(7000, 3, -5));
  EXPECT_EQ(7000 + std::log(2.0), y.lse.data()[0]);
  EXPECT_EQ(2, y.o.data()[0]);
  EXPECT_EQ(0, y.o.data()[1]);
}

TEST(Merge, TheLargerLeads) {
  for (const RingPart<double>& y :
       {merged(part(7000, 1, 5), part(-7000, 3, 3)), merged(part(-7000, 3, 3), part(7000, 1, 5))}) {
    EXPECT_EQ(7000, y.lse.data()[0]);
    EXPECT_EQ(1, y.o.data()[0]);
    EXPECT_EQ(5, y.o.data()[1]);
  }
}

TEST(Merge, NaNStays) {
  for (const RingPart<double>& y : {merged(part(nan, 1, 1), part(2, 1, 1)), merged(part(2, 1, 1), part(nan, 1, 1))}) {
    EXPECT_TRUE(std::isnan(y.lse.data()[0]));
    EXPECT_TRUE(std::isnan(y.o.data()[0]));
  }
}

/// One rank, two tokens, one head; the second query sees nothing.
RingResult<double> with_sink(double g) {
  RingShard<double> s{Tensor<double>(Shape{1, 2, 1, 1}, 0.0), Tensor<double>(Shape{1, 2, 1, 1}, 0.0),
                      Tensor<double>(Shape{1, 2, 1, 1}, 6.0), Tensor<unsigned char>(Shape{1, 2, 2}), Vector<double>(1)};
  const unsigned char keep[] = {1, 1, 0, 0};
  std::copy_n(keep, 4, s.mask.data());
  s.sink[0] = g;
  RingPlan plan;
  plan.tokens = {{0, 1}};
  plan.rule.causal = false;
  RingResult<double> y;
  testing::on_ranks(1, [&](Communicator& c) { y = ring_forward(c, plan, s); });
  return y;
}

TEST(Sink, JoinsOnce) {
  const RingResult<double> y = with_sink(0);  // two keys and the sink, all of logit 0
  EXPECT_DOUBLE_EQ(4, y.o.data()[0]);
  EXPECT_DOUBLE_EQ(std::log(2.0), y.lse.data()[0]);
  EXPECT_DOUBLE_EQ(std::log(3.0), y.lse_sink.data()[0]);
  EXPECT_EQ(0, y.o.data()[1]);  // only the sink is seen
  EXPECT_EQ(none, y.lse.data()[1]);
  EXPECT_EQ(0, y.lse_sink.data()[1]);
}

TEST(Sink, OfMinusInfinityIsNoSink) {
  const RingResult<double> y = with_sink(none);
  EXPECT_DOUBLE_EQ(6, y.o.data()[0]);
  EXPECT_DOUBLE_EQ(std::log(2.0), y.lse_sink.data()[0]);
  EXPECT_EQ(0, y.o.data()[1]);
  EXPECT_EQ(none, y.lse_sink.data()[1]);
}

TEST(Sink, OfALargeLogitTakesAll) {
  const RingResult<double> y = with_sink(7000);
  EXPECT_EQ(0, y.o.data()[0]);
  EXPECT_EQ(7000, y.lse_sink.data()[0]);
}

TEST(Sink, OfNaNReachesTheRowsThatSeeIt) {
  const RingResult<double> y = with_sink(nan);
  EXPECT_TRUE(std::isnan(y.o.data()[0]));
  EXPECT_TRUE(std::isnan(y.lse_sink.data()[0]));
}

}  // namespace
}  // namespace assay

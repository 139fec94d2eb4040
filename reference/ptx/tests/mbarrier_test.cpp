// mbarrier: random operations against a model that keeps the whole history; and setmaxnreg's pool.
#include "reference/ptx/mbarrier.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/ptx/setmaxnreg.hpp"
#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

using Fault = MbarrierFault;

// The history: per phase the arrivals that it needs, lists of what came. A phase is over when they are complete.
TEST(MbarrierModel, RandomOperations) {
  testing::Random r{81};
  long completions = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const auto count = static_cast<std::int64_t>(1 + r.below(6));
    Mbarrier b;
    b.init(count);
    ASSERT_EQ(b.fault, Fault::none);
    std::int64_t needed = count, drops = 0;
    std::vector<std::int64_t> arrivals, announced, came;
    std::uint64_t over = 0;
    bool seen = true;
    const auto total = [](const std::vector<std::int64_t>& v) {
      std::int64_t s = 0;
      for (std::int64_t x : v) s += x;
      return s;
    };
    for (int step = 0; step < 40 && needed > 0; ++step) {
      const std::int64_t left = needed - total(arrivals);
      const auto bytes = static_cast<std::int64_t>(16 * (1 + r.below(4)));
      Mbarrier::Token token{over, left};
      Fault expected = Fault::none;
      switch (r.below(5)) {
        case 0: {
          if (left == 0) continue;  // bytes are missing
          const auto k = static_cast<std::int64_t>(1 + r.below(static_cast<std::uint64_t>(left)));
          const bool drop = r.below(4) == 0;
          token = b.arrive(k, drop);
          expected = seen ? Fault::none : Fault::unobserved;
          arrivals.push_back(k);
          if (drop) drops += k;
          break;
        }
        case 1:
          if (left == 0) continue;
          token = b.arrive_expect(bytes);
          expected = seen ? Fault::none : Fault::unobserved;
          arrivals.push_back(1), announced.push_back(bytes);
          break;
        case 2:
          b.expect(bytes);
          announced.push_back(bytes);
          break;
        case 3:
          b.complete(bytes);
          came.push_back(bytes);
          break;
        default:
          if (over > 0) seen = true;
          EXPECT_EQ(b.test_parity(static_cast<std::uint32_t>(over & 1) ^ 1), true);
          EXPECT_FALSE(b.test_parity(static_cast<std::uint32_t>(over & 1)));
          EXPECT_FALSE(b.test({over, 0}));
          ASSERT_EQ(b.fault, Fault::none);
          continue;
      }
      ASSERT_EQ(b.fault, expected);
      ASSERT_TRUE(token.phase == over && token.pending == left);
      if (total(arrivals) == needed && total(announced) == total(came)) {
        ++over, ++completions;
        needed -= drops;
        drops = 0, seen = false;
        arrivals.clear(), announced.clear(), came.clear();
        ASSERT_EQ(b.pending, needed);
      }
      ASSERT_EQ(b.phase, over);
    }
  }
  EXPECT_GT(completions, 1000);
}

TEST(MbarrierModel, FreshBarrierAndParity) {
  Mbarrier b;
  b.init(1);
  EXPECT_TRUE(b.test_parity(1));  // the phase before the first counts as over
  EXPECT_FALSE(b.test_parity(0));
  const auto token = b.arrive();
  EXPECT_TRUE(b.test_parity(0));
  EXPECT_TRUE(b.test(token));
  EXPECT_EQ(b.fault, Fault::none);
  b.arrive();
  EXPECT_EQ(b.fault, Fault::none);
  EXPECT_FALSE(b.test_parity(0));  // two phases later the parity is the same as at the start
  b.test(token);
  EXPECT_EQ(b.fault, Fault::stale_token);
  b.test({3, 0});
  EXPECT_EQ(b.fault, Fault::stale_token);
}

TEST(MbarrierModel, Faults) {
  Mbarrier b;
  b.init(0);
  EXPECT_EQ(b.fault, Fault::count_range);
  b.init(1 << 20);
  EXPECT_EQ(b.fault, Fault::count_range);
  b.init((1 << 20) - 1);
  EXPECT_EQ(b.fault, Fault::none);
  b.arrive(0);
  EXPECT_EQ(b.fault, Fault::count_range);
  b.init(2);
  b.arrive(3);
  EXPECT_EQ(b.fault, Fault::too_many);
  b.expect(Mbarrier::limit);
  EXPECT_EQ(b.fault, Fault::none);
  b.expect(1);
  EXPECT_EQ(b.fault, Fault::bytes_range);
  b.init(2);
  b.complete(Mbarrier::limit);
  EXPECT_EQ(b.fault, Fault::none);
  b.complete(1);
  EXPECT_EQ(b.fault, Fault::bytes_range);
  b.init(2);
  b.arrive(1, false, true);
  EXPECT_EQ(b.fault, Fault::none);
  b.arrive(1, false, true);
  EXPECT_EQ(b.fault, Fault::completes);
  b.init(1);
  b.arrive();
  b.arrive();
  EXPECT_EQ(b.fault, Fault::unobserved);
  b.init(1);
  b.arrive();
  EXPECT_FALSE(b.test_parity(1));  // whoever waits for the phase to come has not seen the one before
  b.arrive();
  EXPECT_EQ(b.fault, Fault::unobserved);
  b.init(3);
  b.arrive(2);
  b.arrive(2);
  EXPECT_EQ(b.fault, Fault::too_many);
}

// Bytes before or after they are announced; an arrival alone ends the phase too early.
TEST(MbarrierModel, OrderOfBytes) {
  for (bool before : {false, true}) {
    Mbarrier b;
    b.init(2);
    b.arrive();
    if (before) b.complete(64);
    b.arrive_expect(64);
    EXPECT_EQ(b.phase, before ? 1U : 0U);
    if (!before) b.complete(64);
    EXPECT_EQ(b.phase, 1U);
  }
  Mbarrier b;
  b.init(1);
  b.arrive();
  b.expect(64);
  EXPECT_EQ(b.phase, 1U);
  b.complete(64);
  EXPECT_EQ(b.phase, 1U);
}

TEST(RegisterPools, WarpSpecialised) {
  RegisterPool pool;
  int producer = 168, first = 168, second = 168;
  EXPECT_EQ(pool.increase(first, 240), Registers::blocked);
  EXPECT_EQ(first, 168);
  EXPECT_EQ(pool.decrease(producer, 24), Registers::done);
  EXPECT_EQ(pool.free, 128 * 144);
  EXPECT_EQ(pool.increase(first, 240), Registers::done);
  EXPECT_EQ(pool.increase(second, 240), Registers::done);
  EXPECT_EQ(pool.free, 0);
  EXPECT_EQ(128 * (producer + first + second), 64512);
  EXPECT_EQ(pool.increase(first, 248), Registers::blocked);
  EXPECT_EQ(pool.decrease(producer, 32), Registers::undefined);
  EXPECT_EQ(pool.increase(first, 232), Registers::undefined);
  for (int n : {16, 23, 25, 28, 264, 0, -8}) {
    EXPECT_EQ(pool.decrease(first, n), Registers::undefined) << n;
    int few = 8;
    EXPECT_EQ(pool.increase(few, n), Registers::undefined) << n;
  }
  EXPECT_TRUE(is_register_count(24) && is_register_count(256));
}

}  // namespace
}  // namespace assay::ptx

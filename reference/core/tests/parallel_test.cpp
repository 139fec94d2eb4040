#include "reference/core/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace assay {
namespace {

TEST(Parallel, CoversEachElementOnceInRangesOfTheGrain) {
  for (const Index n : {0, 1, 5, 64, 1000})
    for (const Index grain : {-1, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
      std::atomic<int> odd_ranges = 0;
      parallel_for(n, grain, [&](Index first, Index last) {
        const Index g = grain < 1 ? 1 : grain;
        if (first % g != 0 || (last != n && last - first != g)) ++odd_ranges;
        for (Index i = first; i < last; ++i) ++hits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(0, odd_ranges);
      for (const auto& h : hits) ASSERT_EQ(1, h) << n << " " << grain;
    }
}

TEST(Parallel, UsesMoreThanOneThread) {
  if (thread_count() == 1) GTEST_SKIP() << "one thread only";
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  // Two ranges that wait for each other: only two threads can end this early.
  parallel_for(2, 1, [&](Index, Index) {
    ++inside;
    for (int i = 0; i < 20000 && !met; ++i) {
      if (inside == 2) met = true;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  EXPECT_TRUE(met);
}

TEST(Parallel, AnExceptionReachesTheCallerAndThePoolLives) {
  for (int round = 0; round < 20; ++round) {
    try {
      parallel_for(100, 1, [](Index first, Index) {
        if (first == 37) throw Error("planted", "nothing", "37");
      });
      FAIL() << "no exception";
    } catch (const Error& e) {
      EXPECT_EQ("37", e.found);
    }
    std::atomic<Index> total = 0;
    parallel_for(100, 7, [&](Index first, Index last) { total += last - first; });
    EXPECT_EQ(100, total);
  }
}

TEST(Parallel, NestedCallsRunOnTheirOwnThread) {
  std::atomic<int> strangers = 0;
  std::atomic<Index> total = 0;
  parallel_for(8, 1, [&](Index, Index) {
    const std::thread::id self = std::this_thread::get_id();
    parallel_for(50, 5, [&](Index first, Index last) {
      if (std::this_thread::get_id() != self) ++strangers;
      total += last - first;
    });
  });
  EXPECT_EQ(0, strangers);
  EXPECT_EQ(400, total);
}

TEST(Parallel, CallersFromManyThreads) {
  std::atomic<Index> total = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        parallel_for(64, 4, [&](Index first, Index last) { total += last - first; });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(4 * 200 * 64, total);
}

}  // namespace
}  // namespace assay

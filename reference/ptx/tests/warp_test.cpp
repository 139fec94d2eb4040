// Warp instructions against scans over all lanes.
#include "reference/ptx/warp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

// The CUDA function: the warp is cut into segments of `width` lanes; c = (32 - width) << 8 | (up ? 0 : 31).
TEST(WarpShuffle, SegmentsOfEveryWidth) {
  for (int width : {1, 2, 4, 8, 16, 32})
    for (int by = 0; by < 64; ++by)
      for (int lane = 0; lane < 32; ++lane) {
        const int start = lane / width * width, b = by % 32, at = lane - start;
        const auto c = static_cast<std::uint32_t>((32 - width) << 8);
        const auto check = [&](Shuffle mode, std::uint32_t clamp, int to) {  // to: place in the segment
          const Source s = shuffle_source(mode, lane, static_cast<std::uint32_t>(by), c | clamp | 0xffffe000);
          const bool inside = to >= 0 && to < width;
          EXPECT_EQ(s.lane, inside ? start + to : lane)
              << static_cast<int>(mode) << ' ' << width << ' ' << by << ' ' << lane;
          EXPECT_EQ(s.in_range, inside);
        };
        check(Shuffle::up, 0, at - b);
        check(Shuffle::down, 31, at + b);
        check(Shuffle::idx, 31, b % width);
        // Towards a lower segment the exclusive or reads beyond its own.
        const Source s = shuffle_source(Shuffle::bfly, lane, static_cast<std::uint32_t>(by), c | 31);
        EXPECT_EQ(s.in_range, (lane ^ b) < start + width);
        EXPECT_EQ(s.lane, s.in_range ? lane ^ b : lane);
      }
}

// All (mode, c, b, lane): the text of the ISA in terms of the two limits of a segment.
TEST(WarpShuffle, EveryClampAndSegment) {
  for (int clamp = 0; clamp < 32; ++clamp)
    for (int segment = 0; segment < 32; ++segment)
      for (int b = 0; b < 32; ++b)
        for (int lane = 0; lane < 32; ++lane) {
          int most = 0, least = 0;
          for (int bit = 1; bit < 32; bit *= 2) {
            const bool keep = (segment & bit) != 0;
            most += keep ? lane & bit : clamp & bit;
            least += keep ? lane & bit : 0;
          }
          const int to[] = {lane - b, lane + b, lane ^ b, least + (b & (31 - segment))};
          const auto c = static_cast<std::uint32_t>(segment << 8 | clamp);
          for (int mode = 0; mode < 4; ++mode) {
            const bool ok = mode == 0 ? to[mode] >= most : to[mode] <= most;
            const Source s = shuffle_source(static_cast<Shuffle>(mode), lane, static_cast<std::uint32_t>(b), c);
            ASSERT_TRUE(s.in_range == ok && s.lane == (ok ? to[mode] : lane))
                << mode << ' ' << clamp << ' ' << segment << ' ' << b << ' ' << lane;
          }
        }
}

TEST(WarpShuffle, OnRegisters) {
  Reg32 a, b, c;
  for (int i = 0; i < 32; ++i) a[i] = static_cast<std::uint32_t>(100 + i), b[i] = 1, c[i] = 31;
  Mask p = 0x80000001, undefined = 0;
  Reg32 d = a;
  shuffle(Shuffle::down, d, p, d, b, c, 0x0000ffff, undefined);  // in place
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(d[i], i < 16 ? 101U + static_cast<unsigned>(i) : 100U + static_cast<unsigned>(i));
  EXPECT_EQ(p, 0x8000ffffU);
  Reg32 e = a;
  Mask q = 0, none = 0;
  shuffle(Shuffle::up, e, q, e, b, Reg32{}, full_mask, none);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(e[i], i == 0 ? 100U : 99U + static_cast<unsigned>(i));
  EXPECT_EQ(undefined, 0x8000U);  // lane 15 reads lane 16, which takes no part
  shuffle(Shuffle::down, d, p, a, b, c, full_mask, undefined);
  EXPECT_EQ(p, 0x7fffffffU);
  EXPECT_EQ(d[31], 131U);
  EXPECT_EQ(undefined, 0U);
}

TEST(WarpShuffle, FiveButterfliesAddAll) {
  testing::Random r{21};
  Reg32 x;
  std::uint32_t sum = 0;
  for (int i = 0; i < 32; ++i) sum += x[i] = static_cast<std::uint32_t>(r());
  for (std::uint32_t by = 16; by > 0; by /= 2) {
    Reg32 b, c, d;
    for (int i = 0; i < 32; ++i) b[i] = by, c[i] = 31;
    Mask p = 0, undefined = 0;
    shuffle(Shuffle::bfly, d, p, x, b, c, full_mask, undefined);
    for (int i = 0; i < 32; ++i) x[i] += d[i];
  }
  for (int i = 0; i < 32; ++i) EXPECT_EQ(x[i], sum);
}

TEST(WarpVotes, AgainstCounting) {
  testing::Random r{22};
  for (int turn = 0; turn < 20000; ++turn) {
    const Mask members = static_cast<Mask>(r() & (turn % 2 != 0 ? r() & r() : ~0ull)) | 1u << r.below(32);
    const Mask p = turn % 5 == 0   ? members | static_cast<Mask>(r())
                   : turn % 5 == 1 ? ~members & static_cast<Mask>(r())
                                   : static_cast<Mask>(r());
    int in = 0, yes = 0;
    Mask votes = 0;
    for (int i = 0; i < 32; ++i) {
      if (!has(members, i)) continue;
      ++in;
      if (has(p, i)) ++yes, votes |= 1u << i;
    }
    ASSERT_EQ(vote_all(p, members), yes == in);
    ASSERT_EQ(vote_any(p, members), yes > 0);
    ASSERT_EQ(vote_uni(p, members), yes == 0 || yes == in);
    ASSERT_EQ(ballot(p, members), votes);
    ASSERT_TRUE(has(members, elected(members)));
    for (int i = 0; i < elected(members); ++i) ASSERT_FALSE(has(members, i));
  }
}

template <class T>
void match() {
  testing::Random r{23};
  for (int turn = 0; turn < 2000; ++turn) {
    Lanes<T> a;
    const std::uint64_t kinds = 1 + r.below(4);
    for (int i = 0; i < 32; ++i) a[i] = static_cast<T>(r.below(kinds) << (8 * sizeof(T) - 2));
    const Mask members = static_cast<Mask>(r() | r()) | 1u << r.below(32);
    std::map<T, Mask> groups;
    for (int i = 0; i < 32; ++i)
      if (has(members, i)) groups[a[i]] |= 1u << i;
    for (int i = 0; i < 32; ++i)
      if (has(members, i)) {
        ASSERT_EQ(match_any(a.lane.data(), members, i), groups[a[i]]);
      }
    ASSERT_EQ(match_all(a.lane.data(), members), groups.size() == 1 ? members : 0);
  }
}
TEST(WarpMatch, AgainstGroups) {
  match<std::uint32_t>();
  match<std::uint64_t>();
}

TEST(WarpReduce, IntegersAndFloats) {
  testing::Random r{24};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int turn = 0; turn < 3000; ++turn) {
    Reg32 a, f;
    const float choices[] = {nan, -0.0F, 0.0F, 1.0F, -2.0F, -nan, 3.0F, -std::numeric_limits<float>::infinity()};
    for (int i = 0; i < 32; ++i) {
      a[i] = static_cast<std::uint32_t>(r());
      f[i] = std::bit_cast<std::uint32_t>(choices[r.below(turn % 3 == 0 ? 3 : 8)]);
    }
    const Mask members = (turn % 2 == 0 ? 0 : static_cast<Mask>(r() & r())) | 1u << r.below(32) | 1u << r.below(32);
    std::uint64_t sum = 0;
    std::uint32_t all = ~0u, any = 0, odd = 0;
    std::set<std::uint32_t> u;
    std::set<std::int32_t> s;
    std::vector<float> numbers, magnitudes;
    bool some_nan = false;
    for (int i = 0; i < 32; ++i) {
      if (!has(members, i)) continue;
      sum += a[i], all &= a[i], any |= a[i], odd ^= a[i];
      u.insert(a[i]), s.insert(static_cast<std::int32_t>(a[i]));
      const float x = f32(f[i]);
      if (x != x)
        some_nan = true;
      else
        numbers.push_back(x), magnitudes.push_back(std::fabs(x));
    }
    const auto* p = a.lane.data();
    using U = std::uint32_t;
    ASSERT_EQ(reduce<U>(p, members, [](U x, U y) { return x + y; }), static_cast<U>(sum));
    ASSERT_EQ(reduce<U>(p, members, [](U x, U y) { return x & y; }), all);
    ASSERT_EQ(reduce<U>(p, members, [](U x, U y) { return x | y; }), any);
    ASSERT_EQ(reduce<U>(p, members, [](U x, U y) { return x ^ y; }), odd);
    ASSERT_EQ(reduce<U>(p, members, [](U x, U y) { return std::min(x, y); }), *u.begin());
    ASSERT_EQ(reduce<std::int32_t>(p, members, [](std::int32_t x, std::int32_t y) { return std::max(x, y); }),
              *s.rbegin());
    for (bool abs : {false, true}) {
      auto& list = abs ? magnitudes : numbers;
      std::sort(list.begin(), list.end(),
                [](float x, float y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); });
      for (bool is_max : {false, true})
        for (bool keep : {false, true}) {
          const U expected =
              list.empty() || (keep && some_nan) ? 0x7fffffff : std::bit_cast<U>(is_max ? list.back() : list.front());
          ASSERT_EQ(reduce_f32(f.lane.data(), members, is_max, abs, keep), expected);
        }
    }
  }
}

}  // namespace
}  // namespace assay::ptx

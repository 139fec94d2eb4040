// Clusters: every CTA of grids of all shapes, numbered by counting.
#include "reference/ptx/cluster.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace assay::ptx {
namespace {

using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
Key key(const Dim& d) { return {d.x, d.y, d.z}; }

TEST(Clusters, CutTheGrid) {
  for (const Dim& cluster : {Dim{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 2}, {3, 2, 1}, {1, 2, 3}}) {
    const Dim grid{cluster.x * 2, cluster.y * 3, cluster.z * 2};
    ASSERT_TRUE(divides(cluster, grid));
    std::map<Key, std::set<std::uint32_t>> ranks;
    for (std::uint32_t z = 0; z < grid.z; ++z)
      for (std::uint32_t y = 0; y < grid.y; ++y)
        for (std::uint32_t x = 0; x < grid.x; ++x) {
          const Dim cta{x, y, z}, id = cluster_of(cta, cluster), place = place_in_cluster(cta, cluster);
          EXPECT_EQ(Dim({id.x * cluster.x + place.x, id.y * cluster.y + place.y, id.z * cluster.z + place.z}), cta);
          const std::uint32_t rank = rank_in_cluster(place, cluster);
          EXPECT_LT(rank, cluster.size());
          EXPECT_EQ(place_of_rank(rank, cluster), place);
          EXPECT_TRUE(ranks[key(id)].insert(rank).second);
        }
    EXPECT_EQ(ranks.size(), 12U);
    // x counts fastest.
    for (std::uint32_t rank = 0, z = 0; z < cluster.z; ++z)
      for (std::uint32_t y = 0; y < cluster.y; ++y)
        for (std::uint32_t x = 0; x < cluster.x; ++x) EXPECT_EQ(rank_in_cluster({x, y, z}, cluster), rank++);
  }
  EXPECT_FALSE(divides({2, 1, 1}, {3, 1, 1}) || divides({1, 2, 1}, {2, 3, 1}) || divides({1, 1, 2}, {2, 2, 3}));
  EXPECT_TRUE(peer(4) == 5 && peer(5) == 4);
  EXPECT_TRUE(in_multicast(0x8001, 15) && in_multicast(0x8001, 0) && !in_multicast(0x8001, 1) &&
              !in_multicast(0xffff, 16));
}

TEST(Clusters, MapaKeepsTheOffset) {
  const SharedWindow w{0x7010000, 0x40000};
  const std::uint64_t a = w.start + 3 * w.stride + 0x1234;
  EXPECT_EQ(w.rank(a), 3U);
  EXPECT_EQ(w.mapa(a, 3), a);
  for (std::uint32_t to = 0; to < 16; ++to) {
    EXPECT_EQ(w.rank(w.mapa(a, to)), to);
    EXPECT_EQ(w.offset(w.mapa(a, to)), 0x1234U);
  }
}

TEST(Clusters, BarrierWaitsForAllThatLive) {
  ClusterBarrier b{0, 3, 0};
  const std::uint64_t first = b.arrive();
  EXPECT_FALSE(b.over(first));
  b.arrive();
  EXPECT_FALSE(b.over(first));
  const std::uint64_t third = b.arrive();
  EXPECT_TRUE(b.over(first) && b.over(third));
  const std::uint64_t second_phase = b.arrive();
  EXPECT_EQ(second_phase, 1U);
  b.arrive();
  EXPECT_FALSE(b.over(second_phase));
  b.leave();  // the third thread ends without arriving
  EXPECT_TRUE(b.over(second_phase));
  b.leave();
  b.leave();
  EXPECT_EQ(b.phase, 2U);
}

}  // namespace
}  // namespace assay::ptx

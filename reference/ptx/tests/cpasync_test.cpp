// Groups of copies against lists of them.
#include "reference/ptx/cpasync.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace assay::ptx {
namespace {

TEST(CopyGroups, AreListsOfCopies) {
  unsigned state = 7;
  for (int round = 0; round < 200; ++round) {
    CopyGroups groups;
    std::vector<std::vector<int>> open(1);  // copies of each group, the last one not closed
    std::vector<std::uint32_t> group_of;
    for (int step = 0; step < 40; ++step) {
      state = state * 1664525u + 1013904223u;
      if ((state >> 24 & 1) != 0) {
        open.back().push_back(static_cast<int>(group_of.size()));
        group_of.push_back(groups.current());
      } else {
        open.emplace_back();
        groups.commit();
      }
      for (std::uint32_t newest = 0; newest < 5; ++newest) {
        // wait_group: of the closed groups all but the newest ones.
        std::vector<bool> awaited(group_of.size(), false);
        for (std::size_t g = 0; g + 1 + newest < open.size(); ++g)
          for (const int copy : open[g]) awaited[static_cast<std::size_t>(copy)] = true;
        for (std::size_t copy = 0; copy < group_of.size(); ++copy)
          EXPECT_EQ(awaited[copy], groups.awaited(group_of[copy], newest));
      }
    }
  }
}

TEST(Copied, ZerosBehindTheSource) {
  const unsigned char source[] = {1, 2, 3};
  EXPECT_EQ(3, copied(source, 3, 2));
  EXPECT_EQ(0, copied(source, 3, 3));
  EXPECT_EQ(0, copied<unsigned char>(nullptr, 0, 0));
}

}  // namespace
}  // namespace assay::ptx

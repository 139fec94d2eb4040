#include "distributed/communicator/order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "distributed/communicator/tests/order_oracle.hpp"
#include "reference/core/error.hpp"

namespace assay {
namespace {

/// A text is a tree; its children are unordered, so the longer or smaller one comes first.
std::string join(std::string a, std::string b) {
  if (a.size() < b.size() || (a.size() == b.size() && b < a)) std::swap(a, b);
  return "(" + a + b + ")";
}

std::string tree(CombineOrder order, int n, int chunk) {
  std::vector<std::string> x;
  for (int r = 0; r < n; ++r) x.push_back(std::string(1, static_cast<char>('a' + r)));
  const std::vector<Merge> nodes = merges(order, n, chunk);
  for (const Merge& m : nodes)
    x[static_cast<std::size_t>(m.into)] =
        join(x[static_cast<std::size_t>(m.into)], x[static_cast<std::size_t>(m.from)]);
  return nodes.empty() ? x[0] : x[static_cast<std::size_t>(nodes.back().into)];
}

TEST(CombineOrder, IsThatOfTheAlgorithm) {
  for (const CombineOrder order : all_orders())
    for (int n = 1; n <= 17; ++n)
      for (int chunk = 0; chunk < n; ++chunk) {
        std::vector<std::string> x;
        for (int r = 0; r < n; ++r) x.push_back(std::string(1, static_cast<char>('a' + r)));
        EXPECT_EQ(testing::acted_out<std::string>(order, x, chunk, join), tree(order, n, chunk))
            << name(order) << " n=" << n << " chunk=" << chunk;
        EXPECT_EQ(static_cast<std::size_t>(n - 1), merges(order, n, chunk).size());
      }
}

TEST(CombineOrder, SmallTreesByHand) {
  EXPECT_EQ("(((ab)c)d)", tree(CombineOrder::ascending, 4, 2));
  EXPECT_EQ("(((cd)a)b)", tree(CombineOrder::ring, 4, 1));  // chunk 1 starts at rank 2 and ends at rank 1
  EXPECT_EQ("((ab)(cd))", tree(CombineOrder::balanced_tree, 4, 0));
  EXPECT_EQ("((ab)(cd))", tree(CombineOrder::doubling, 4, 0));
  EXPECT_EQ("((ac)(bd))", tree(CombineOrder::halving, 4, 0));
  EXPECT_EQ("(((ab)(cd))e)", tree(CombineOrder::balanced_tree, 5, 0));
  EXPECT_EQ("(((ab)c)(de))", tree(CombineOrder::doubling, 5, 0));
  EXPECT_EQ("(((ab)d)(ce))", tree(CombineOrder::halving, 5, 0));
}

TEST(CombineOrder, AllFiveDifferWhereTheyCan) {
  std::set<std::string> trees;
  for (const CombineOrder order : all_orders()) trees.insert(tree(order, 5, 2));
  EXPECT_EQ(all_orders().size(), trees.size());
}

TEST(CombineOrder, Depth) {
  EXPECT_EQ(0, depth({}, 1));
  EXPECT_EQ(6, depth(merges(CombineOrder::ascending, 7, 0), 7));
  EXPECT_EQ(6, depth(merges(CombineOrder::ring, 7, 3), 7));
  EXPECT_EQ(3, depth(merges(CombineOrder::balanced_tree, 7, 0), 7));
  EXPECT_EQ(3, depth(merges(CombineOrder::doubling, 8, 0), 8));
  EXPECT_EQ(3, depth(merges(CombineOrder::halving, 6, 0), 6));
}

TEST(CombineOrder, OfNoRanksIsRefused) { EXPECT_THROW(merges(CombineOrder::ring, 0, 0), Error); }

}  // namespace
}  // namespace assay

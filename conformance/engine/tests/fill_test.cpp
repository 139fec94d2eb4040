#include "conformance/engine/fill.hpp"

#include <gtest/gtest.h>

#include <set>

#include "reference/core/error.hpp"

// Index inputs are valid by construction, in every pattern; tested on the pages that have some.
namespace assay {
namespace {

Call call_of(const char* concept_id, const std::string& text) {
  const Space space(page(concept_id));
  return make_call(Case::parse(space, text), parse_contract("fp32"));
}

std::vector<Index> values(const Call& call, const char* name) {
  std::vector<Index> all;
  for (Index i = 0; i < call[name].size(); ++i) all.push_back(static_cast<Index>(call[name].at_flat(i)));
  return all;
}

const char* const paged_sizes = "B=3 Sq=1 P=4 maxblk=3 Hkv=1 g=1 d=4 dv=4 Npages=";

TEST(Fill, LengthsKeepTheirPattern) {
  std::set<Index> seen;
  for (int seed = 0; seed < 50; ++seed) {
    const std::string of = paged_sizes + ("9 seed=" + std::to_string(seed)) + " lens_is=";
    for (const Index n : values(call_of("attention.paged", of + "random"), "lens")) {
      EXPECT_TRUE(n >= 0 && n <= 12) << n;
      seen.insert(n);
    }
    EXPECT_EQ(values(call_of("attention.paged", of + "full"), "lens"), (std::vector<Index>{12, 12, 12}));
    EXPECT_EQ(values(call_of("attention.paged", of + "zero"), "lens"), (std::vector<Index>{0, 0, 0}));
    EXPECT_EQ(values(call_of("attention.paged", of + "some_zero"), "lens")[2], 0);
    for (const Index n : values(call_of("attention.paged", of + "whole"), "lens")) EXPECT_EQ(n % 4, 0);
  }
  EXPECT_EQ(seen.size(), 13u);  // every length is drawn
}

TEST(Fill, PagesAreScatteredAndSharedOnlyWhereTheyMustBe) {
  for (int seed = 0; seed < 50; ++seed) {
    const std::string rest = " seed=" + std::to_string(seed) + " block_table_is=";
    const auto all = values(call_of("attention.paged", paged_sizes + ("9" + rest) + "scattered"), "block_table");
    EXPECT_EQ(std::set<Index>(all.begin(), all.end()).size(), 9u);
    for (const Index page : all) EXPECT_TRUE(page >= 0 && page < 9) << page;
    for (const Index page : values(call_of("attention.paged", paged_sizes + ("2" + rest) + "scattered"), "block_table"))
      EXPECT_TRUE(page >= 0 && page < 2) << page;
    const auto shared = values(call_of("attention.paged", paged_sizes + ("9" + rest) + "shared"), "block_table");
    for (std::size_t i = 3; i < shared.size(); ++i) EXPECT_EQ(shared[i], shared[i - 3]);
  }
  EXPECT_EQ(values(call_of("attention.paged", paged_sizes + std::string("9 block_table_is=in_order")), "block_table"),
            (std::vector<Index>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Fill, EndsOfSequencesCoverThePackedRows) {
  bool empty = false;
  for (int seed = 0; seed < 50; ++seed)
    for (const char* pattern : {"random", "even", "first", "last"}) {
      const auto ends =
          values(call_of("attention.varlen",
                         "Tq=7 Tk=3 ends=5 Hkv=1 g=1 d=4 dv=4 seed=" + std::to_string(seed) + " cu_q_is=" + pattern),
                 "cu_q");
      ASSERT_EQ(ends.size(), 5u);
      EXPECT_EQ(ends.front(), 0);
      EXPECT_EQ(ends.back(), 7);
      for (std::size_t i = 1; i < ends.size(); ++i) {
        EXPECT_LE(ends[i - 1], ends[i]);
        empty = empty || (pattern == std::string("random") && ends[i - 1] == ends[i]);
      }
    }
  EXPECT_TRUE(empty);  // sequences without a row are drawn
}

TEST(Fill, AnotherSeedOfARowIsAsValid) {
  // What universal.rows_independent puts together: row 0 of one seed, the others of another.
  const Call one = call_of("attention.paged", paged_sizes + std::string("9 seed=1")),
             two = call_of("attention.paged", paged_sizes + std::string("9 seed=2"));
  EXPECT_NE(values(one, "block_table"), values(two, "block_table"));
  EXPECT_EQ(one["lens"].shape(), two["lens"].shape());
}

}  // namespace
}  // namespace assay

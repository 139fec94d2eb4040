#include "vectors/plan.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "conformance/engine/case.hpp"

namespace assay::vectors {
namespace {

TEST(Plan, NamesOfCases) {
  EXPECT_EQ(name_of_case("T=3 n=70"), "t3_n70");
  EXPECT_EQ(name_of_case("T=3 n=70 mask=given mask_is=empty_rows"), "t3_n70_mask_given_mask_is_empty_rows");
  EXPECT_EQ(name_of_case("T=0 n_in=4 shift=-8 eps=1e-05"), "t0_n_in_4_shift_m8_eps_1em05");
  EXPECT_EQ(name_of_case("d=2 eps=0.01 seed=12"), "d2_eps_0p01_seed_12");
}

TEST(Plan, EveryPageWithADefinitionHasItsCorners) {
  int concepts = 0;
  for (const Page& page : pages()) {
    if (!has_vectors(page)) continue;
    ++concepts;
    std::set<std::string> cases, ids, files;
    for (const Plan& plan : plan_vectors(page)) {
      cases.insert(plan.spelling + "|" + plan.family->contract);
      EXPECT_TRUE(ids.insert(plan.id()).second) << plan.id();
      EXPECT_TRUE(files.insert(plan.file()).second) << plan.file();
      EXPECT_TRUE(std::regex_match(plan.id(), std::regex("[a-z0-9_]+(\\.[a-z0-9_]+)*"))) << plan.id();
      EXPECT_TRUE(plan.file().starts_with(page.chapter + "/")) << plan.file();
    }
    const Space space(page);
    for (const std::string& corner : page.cases.corners) {
      for (const Family& family : families())
        EXPECT_TRUE(cases.count(Case::parse(space, corner).spell() + "|" + family.contract)) << page.id << corner;
    }
    EXPECT_GT(cases.size(), page.cases.corners.size() * families().size()) << "no random case of " << page.id;
  }
  EXPECT_GE(concepts, 3);
}

}  // namespace
}  // namespace assay::vectors

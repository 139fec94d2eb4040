#include "conformance/engine/run.hpp"

#include <gtest/gtest.h>

#include "conformance/engine/planted.hpp"
#include "conformance/engine/tests/fake_target.hpp"

namespace assay {
namespace {

RunOptions options(const char* tier_name = "default") {
  RunOptions o;
  o.tier_of = tier(tier_name);
  o.fingerprints = false;
  return o;
}

/// A claim of our own on a page of the tree.
Result ask(Property property, Target& target, const RunOptions& o = options()) {
  const Claim& known = claim("softmax.safe.accuracy");
  return run_claim({"softmax.safe.own", property, known.spec, known.page}, *known.page, target, parse_contract("fp64"),
                   o);
}

TEST(Run, AClaimWrittenToFailFails) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.require(false, "written to fail"); }, target);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failure.what, "written to fail");
}

TEST(Run, AClaimThatComparesNothingFails) {
  FakeTarget target;
  const Result r = ask([](Check&) {}, target);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failure.what, "the property compared nothing");
}

TEST(Run, AClaimThatIsNeverOfferedHasNotPassed) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.need("log_p"); }, target);
  EXPECT_EQ(r.verdict, Result::Verdict::not_offered);
  EXPECT_EQ(r.reason, "output log_p");
}

TEST(Run, ShrinksToTheSmallestCase) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.require(check.c["T"] < 2 || check.c["n"] < 17, "small"); }, target);
  EXPECT_EQ(r.failing_case, "T=2 n=17");
}

TEST(Run, OptionsThatTheTargetLacksAreNotDrawn) {
  FakeTarget target;  // sink=logit is not offered
  const Result r = ask([](Check& check) { check.require(check.c["sink"] == 0, "no sink"); }, target);
  EXPECT_EQ(r.verdict, Result::Verdict::passed);
  EXPECT_EQ(r.drawn.count("sink=logit"), 0U);
  EXPECT_GT(r.drawn.at("empty_row=uniform"), 0);
}

TEST(Run, AnOptionValueThatWasNeverDrawnBreaksTheClaim) {
  FakeTarget target;
  RunOptions o = options();
  o.tier_of.cases = 1;
  Page few = page("softmax.safe");
  few.cases.corners.clear();
  const Claim& known = claim("softmax.safe.accuracy");
  const Property property = [](Check& check) { check.nothing_to_compare(); };
  const Result r =
      run_claim({"softmax.safe.own", property, known.spec, known.page}, few, target, parse_contract("fp64"), o);
  EXPECT_EQ(r.verdict, Result::Verdict::broken);
  EXPECT_NE(r.reason.find("was never drawn"), std::string::npos) << r.reason;
}

TEST(Run, SeedsMatterAndRepeat) {
  FakeTarget target;
  RunOptions o = options("quick");
  const auto drawn = [&](std::uint64_t seed) {
    o.seed = seed;
    return ask([](Check& check) { check.nothing_to_compare(); }, target, o).drawn;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(Suite, ShardsArePartsOfTheWhole) {
  FakeTarget target;
  SuiteOptions o;
  const std::size_t whole = plan(o, target).size();
  std::size_t parts = 0;
  o.shards = 3;
  for (o.shard = 0; o.shard < 3; ++o.shard) parts += plan(o, target).size();
  EXPECT_EQ(parts, whole);
  EXPECT_GT(whole, 10U);
}

TEST(Suite, GlobsThatMatchNothingAreErrors) {
  FakeTarget target;
  SuiteOptions o;
  o.concept_glob = "nothing.*";
  EXPECT_THROW(plan(o, target), Error);
  o.concept_glob = "*";
  o.claim_glob = "softmax.safe.nothing";
  EXPECT_THROW(plan(o, target), Error);
}

PlantedCell cell(const BugSpec& bug) {
  const Claim& c = claim("softmax.safe.accuracy");
  return {c.page, &bug, &c, {"fp32", "structured"}};
}

TEST(Planted, ABugDies) {
  const Kill k = run_cell(cell(page("softmax.safe").bugs.at(1)), options());
  EXPECT_EQ(k.bug, "finite_mask");
  EXPECT_TRUE(k.dead);
  EXPECT_FALSE(k.inert);
}

TEST(Planted, ABugThatItsClaimDoesNotSeeSurvives) {
  PlantedCell c = cell(page("softmax.safe").bugs.at(1));
  c.claim = &claim("softmax.safe.range");
  const Kill k = run_cell(c, options());
  EXPECT_FALSE(k.dead);
  EXPECT_FALSE(k.inert) << "its outputs differ from the honest subject's";
}

TEST(Planted, ABugThatChangesNoBitIsNone) {
  const Claim& c = claim("softmax.safe.single");  // one column: there is no slice, nor a sum that could stagnate
  for (const BugSpec& bug : page("softmax.safe").bugs) {
    if (bug.name != "bf16_reduction") continue;
    const Kill k = run_cell({c.page, &bug, &c, {"fp32", "structured"}}, options());
    EXPECT_FALSE(k.dead);
    EXPECT_TRUE(k.inert) << k.what;
  }
}

}  // namespace
}  // namespace assay

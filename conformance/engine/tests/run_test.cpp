#include "conformance/engine/run.hpp"

#include <gtest/gtest.h>

#include "conformance/engine/planted.hpp"
#include "conformance/engine/tests/fake_target.hpp"
#include "reference/core/profile.hpp"
#include "spec/compiler/vocabulary.hpp"

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

TEST(Run, ARequirementSaysWhatItGot) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.require(false, "written to fail", 0.5); }, target);
  EXPECT_EQ(r.failure.got, "0.5");
}

TEST(Run, AClaimOnTargetThatNeverRunsItIsBroken) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.require(true, "compared, but not the target's answer"); }, target);
  EXPECT_EQ(r.verdict, Result::Verdict::broken);
  EXPECT_EQ(r.reason, "no case ran the target, though the claim is on: target");
}

TEST(Run, AClaimOnDefinitionHasNoTarget) {
  FakeTarget target;
  const Claim& known = claim("softmax.safe.grad_sum0");
  ASSERT_EQ(known.spec->on, "definition");
  const Property property = [](Check& check) { check.run(check.call()); };
  const Result r = run_claim({"softmax.safe.own", property, known.spec, known.page}, *known.page, target,
                             parse_contract("fp64"), options());
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failure.what.rfind("error: a claim on: definition asks for the target: expected on: target", 0), 0U)
      << r.failure.what;
}

TEST(Run, AClaimThatIsNeverOfferedHasNotPassed) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.need("log_p"); }, target);
  EXPECT_EQ(r.verdict, Result::Verdict::not_offered);
  EXPECT_EQ(r.reason, "output log_p");
}

TEST(Run, AWrongContractIsNamed) {
  // The subject does not round p, and is judged as one that does.
  const auto target = make_target("subject:bf16 p=bf16");
  const Claim& known = claim("softmax.online.accuracy");
  RunOptions o = options();
  o.fingerprints = true;
  const Result r = run_claim(known, *known.page, *target, parse_contract("bf16 p=bf16"), o);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_NE(r.fingerprint.find("contract field p=fp32: p is not rounded"), std::string::npos) << r.fingerprint;
}

TEST(Run, ShrinksToTheSmallestCase) {
  FakeTarget target;
  const Result r = ask([](Check& check) { check.require(check.c["T"] < 2 || check.c["n"] < 17, "small"); }, target);
  EXPECT_EQ(r.failing_case, "T=2 n=17");
}

TEST(Run, ATargetsOwnCornersAreAskedToo) {
  FakeTarget target(wrong_p(200));  // wider than any case of the page
  const auto accuracy = [&target](const char* id = "softmax.safe.accuracy") {
    const Claim& known = claim("softmax.safe.accuracy");
    const Property p_is_right = [](Check& check) { check.accurate(check.call(), check.run(check.call()), "p"); };
    return run_claim({id, p_is_right, known.spec, known.page}, *known.page, target, parse_contract("fp64"), options());
  };
  EXPECT_EQ(Result::Verdict::passed, accuracy().verdict);
  target.own_corners = {"T=1 n=200"};
  const Result r = accuracy();
  EXPECT_EQ(Result::Verdict::failed, r.verdict);
  EXPECT_NE(std::string::npos, r.failing_case.find("n=200")) << r.failing_case;
  EXPECT_EQ(Result::Verdict::passed, accuracy("softmax.safe.sum1").verdict);  // an engine that asked this too is slow
}

TEST(Run, OptionsThatTheTargetLacksAreNotDrawn) {
  FakeTarget target;  // sink=logit is not offered
  const Result r = ask(
      [](Check& check) {
        check.run(check.call());
        check.require(check.c["sink"] == 0, "no sink");
      },
      target);
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

TEST(Run, PrintsTheCaseAsItWasRun) {
  FakeTarget target;
  const Property raises = [](Check& check) {
    if (check.c["T"] == 0) check.with("T", 2);
    check.require(check.c["T"] == 0, "written to fail");
  };
  const Result r = ask(raises, target);
  ASSERT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failing_case.rfind("T=2 ", 0), 0U) << r.failing_case;
  RunOptions again = options();
  again.only_case = r.failing_case;
  const Result replayed = ask(raises, target, again);
  EXPECT_EQ(replayed.verdict, Result::Verdict::failed);
  EXPECT_EQ(replayed.failing_case, r.failing_case);
}

TEST(Run, PrintsTheCaseAsDrawnWhereTheOtherDoesNotFail) {
  FakeTarget target;
  const Property raises = [](Check& check) {
    const bool empty = check.c["T"] == 0;
    check.with("T", 2);
    check.require(!empty, "written to fail");
  };
  const Result r = ask(raises, target);
  ASSERT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failing_case.rfind("T=0 ", 0), 0U) << r.failing_case;
  RunOptions again = options();
  again.only_case = r.failing_case;
  EXPECT_EQ(ask(raises, target, again).verdict, Result::Verdict::failed);
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

/// The bugs of a page, changed for the length of a test.
struct Bugs {
  std::vector<BugSpec>& now = const_cast<Page&>(page("softmax.safe")).bugs;
  std::vector<BugSpec> kept = now;
  Bugs() = default;
  ~Bugs() { now = kept; }
  Bugs(const Bugs&) = delete;
  Bugs& operator=(const Bugs&) = delete;
};

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

TEST(Planted, ABugThatTheSubjectNeverAsksFor) {
  Bugs bugs;
  bugs.now.push_back({"mispelt", "s", "e", "accuracy", {"here"}, {{"fp32", "structured"}}, ""});
  const Kill k = run_cell(cell(bugs.now.back()), options());
  EXPECT_TRUE(k.inert);
  EXPECT_NE(k.what.find("subject/softmax.cpp never asks s.bug(\"mispelt\")"), std::string::npos) << k.what;
}

TEST(Planted, ASubjectThatAsksForABugOfNoPage) {
  Bugs bugs;
  std::erase_if(bugs.now, [](const BugSpec& b) { return b.name == "finite_mask"; });
  const Claim& c = claim("softmax.safe.accuracy");
  const auto target = make_target("subject:fp32");
  const Result r = run_claim(c, *c.page, *target, parse_contract("fp32"), options("quick"));
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failure.what.rfind("error: the subject of softmax asks for a bug that is not on the op's page", 0), 0U)
      << r.failure.what;
  EXPECT_NE(r.failure.what.find("found finite_mask"), std::string::npos) << r.failure.what;
}

TEST(Planted, AClaimOnDefinitionsCatchesNoBug) {
  Bugs bugs;
  bugs.now.at(0).caught_by = "universal.flow";
  EXPECT_THROW(planted_cells("softmax.safe"), Error);
}

TEST(Pages, ProfilesAreThoseOfTheReference) {
  spec::Words names;
  for (const Profile p : all_profiles()) names.emplace_back(name(p));
  EXPECT_EQ(spec::value_profiles(), names);
}

TEST(Planted, ABugThatChangesNoBitIsNone) {
  const Claim& c = claim("softmax.safe.single");  // one column: there is no slice, nor a sum that could stagnate
  for (const BugSpec& bug : page("softmax.safe").bugs) {
    if (bug.name != "bf16_reduction") continue;
    const Kill k = run_cell({c.page, &bug, &c, {"fp32", "structured"}}, options());
    EXPECT_FALSE(k.dead);
    EXPECT_TRUE(k.inert) << k.what;
    EXPECT_EQ(k.what.find("never asks"), std::string::npos) << k.what;
  }
}

}  // namespace
}  // namespace assay

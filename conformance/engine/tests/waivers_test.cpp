#include "conformance/engine/waivers.hpp"

#include <gtest/gtest.h>

#include "conformance/engine/tests/fake_target.hpp"

namespace assay {
namespace {

constexpr auto waived = Result::Verdict::waived, failed = Result::Verdict::failed, passed = Result::Verdict::passed;

Waiver waiver(const std::string& claim, const std::string& cases = "") {
  Waiver w;
  w.claim = claim;
  w.cases = cases;
  w.tracker = "lib#1";
  w.reason = "known";
  return w;
}

struct Outcome {
  std::vector<Result> results;
  std::vector<WaiverState> states;
  Result::Verdict verdict(const std::string& id) const {
    for (const Result& r : results) {
      if (r.claim == id) return r.verdict;
    }
    throw Error("no result", id);
  }
};

Outcome run(FakeTarget& target, const std::string& claim_glob = "*", const std::string& tier_name = "default") {
  SuiteOptions options;
  options.claim_glob = claim_glob;
  options.run.tier_of = tier(tier_name);
  options.run.fingerprints = false;
  options.today = "2027-01-01";
  Outcome o;
  o.results = run_suite(
      options, target, [](const Result&, std::size_t, std::size_t) {}, &o.states);
  return o;
}

TEST(Waivers, CoverAFailureAndNothingElse) {
  FakeTarget target(wrong_p(0));
  EXPECT_EQ(run(target).verdict("softmax.safe.accuracy"), failed);
  target.known = {waiver("softmax.safe.accuracy")};
  const Outcome o = run(target);
  EXPECT_EQ(o.verdict("softmax.safe.accuracy"), waived);
  EXPECT_EQ(o.verdict("softmax.safe.sum1"), failed);
  EXPECT_EQ(o.verdict("softmax.safe.lse_bounds"), passed);
  EXPECT_EQ(o.states.at(0).problem, "");
}

TEST(Waivers, FailTheRunWhenTheCasePasses) {
  FakeTarget honest;
  honest.known = {waiver("softmax.safe.accuracy"), waiver("softmax.safe.sum1", "n=3")};
  const Outcome o = run(honest);
  EXPECT_NE(o.states.at(0).problem.find("passes now"), std::string::npos) << o.states[0].problem;
  EXPECT_NE(o.states.at(1).problem.find("passes now"), std::string::npos) << o.states[1].problem;
  // on a handful of cases that proves nothing for a whole claim
  EXPECT_EQ(run(honest, "*", "quick").states.at(0).problem, "");
}

TEST(Waivers, FailTheRunWhenTheyMatchNothing) {
  FakeTarget target;
  target.known = {waiver("softmax.safe.gone"), waiver("softmax.safe.accuracy", "chunk=4")};
  const Outcome o = run(target);
  EXPECT_NE(o.states.at(0).problem.find("matches no claim"), std::string::npos) << o.states[0].problem;
  EXPECT_NE(o.states.at(1).problem.find("chunk=4"), std::string::npos) << o.states[1].problem;
  EXPECT_EQ(run(target, "softmax.safe.sum1").states.at(0).problem, "") << "only a part was run";
}

TEST(Waivers, OfACaseLeaveTheOtherCasesJudged) {
  FakeTarget target(wrong_p(7));
  target.known = {waiver("softmax.safe.accuracy", "n=7")};
  EXPECT_EQ(run(target).verdict("softmax.safe.accuracy"), waived);
  FakeTarget worse([](const Call& call, Answer& a) {
    wrong_p(7)(call, a);
    wrong_p(9)(call, a);
  });
  worse.known = target.known;
  const Outcome o = run(worse);
  EXPECT_EQ(o.verdict("softmax.safe.accuracy"), failed);
  for (const Result& r : o.results) {
    if (r.claim == "softmax.safe.accuracy") {
      EXPECT_NE(r.failing_case.find("n=9"), std::string::npos) << r.failing_case;
    }
  }
}

TEST(Waivers, Expire) {
  FakeTarget target(wrong_p(0));
  target.known = {waiver("softmax.safe.accuracy")};
  target.known[0].expires = "2027-01-01";
  EXPECT_EQ(run(target).verdict("softmax.safe.accuracy"), waived) << "holds on its last day";
  target.known[0].expires = "2026-12-31";
  const Outcome o = run(target);
  EXPECT_EQ(o.verdict("softmax.safe.accuracy"), failed);
  EXPECT_NE(o.states.at(0).problem.find("expired on 2026-12-31"), std::string::npos);
}

TEST(Waivers, AreOfAContract) {
  FakeTarget target(wrong_p(0));
  target.known = {waiver("softmax.safe.accuracy")};
  target.known[0].contract = "fp32";
  const Outcome o = run(target);
  EXPECT_EQ(o.verdict("softmax.safe.accuracy"), failed);
  EXPECT_EQ(o.states.at(0).problem, "");
  EXPECT_NE(o.states.at(0).note.find("fp32"), std::string::npos);
  target.known[0].contract = "fp64";
  EXPECT_EQ(run(target).verdict("softmax.safe.accuracy"), waived);
}

}  // namespace
}  // namespace assay

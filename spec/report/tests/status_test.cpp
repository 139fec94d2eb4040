#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "reference/core/error.hpp"
#include "spec/report/tests/toy.hpp"

namespace assay::spec {
namespace {

Status toy_status(const std::function<void(Lists&, Page&, Facts&)>& edit) {
  Lists lists = toy_lists();
  Page page = toy_page();
  Facts facts = toy_facts();
  edit(lists, page, facts);
  return status(lists, {page}, facts);
}

TEST(Status, CompleteWhenEverythingIsThere) {
  const Status all = toy_status([](Lists&, Page&, Facts&) {});
  ASSERT_EQ(all.concepts.size(), 2u);
  for (const std::string& one : all.concepts[0].missing) ADD_FAILURE() << one;
  EXPECT_FALSE(all.concepts[1].complete());
  EXPECT_TRUE(all.mission[0].complete());
  EXPECT_EQ(all.mission[1].incomplete, std::vector<std::string>{"norm.layer"});
}

// Take away one fact at a time: the concept is incomplete, and the status says why.
TEST(Status, NamesEveryMissingPart) {
  struct Missing {
    std::function<void(Lists&, Page&, Facts&)> edit;
    const char* message;
  };
  const Missing all[] = {
      {[](Lists&, Page&, Facts& f) { f.definitions.clear(); }, "definition: reference/norm/rms.cpp"},
      {[](Lists&, Page&, Facts& f) { f.vectors.clear(); }, "vectors: vectors/norm/rms"},
      {[](Lists&, Page&, Facts& f) { f.subjects.clear(); }, "subject: conformance/norm/subject/rms_norm.cpp"},
      {[](Lists&, Page&, Facts& f) { f.second_opinions = {"softmax"}; },
       "second opinion: conformance/norm/second_opinion/rms_norm.cpp"},
      {[](Lists&, Page&, Facts& f) { f.claims_bound.erase("norm.rms.sign"); },
       "claim norm.rms.sign: no property is bound"},
      {[](Lists&, Page&, Facts& f) { f.claims_ran.erase("norm.rms.sign"); },
       "claim norm.rms.sign: its property did not run"},
      {[](Lists&, Page& p, Facts&) { p.claims.erase(p.claims.begin()); }, "claim norm.rms.sign: not on the page"},
      {[](Lists&, Page&, Facts& f) { f.bugs_planted.clear(); }, "bug rms_norm.eps_outside: not planted"},
      {[](Lists&, Page&, Facts& f) { f.bugs_killed.clear(); }, "bug rms_norm.eps_outside: does not die"},
      {[](Lists&, Page& p, Facts&) { p.bugs.clear(); }, "bug rms_norm.eps_outside: not on the page"},
      {[](Lists&, Page& p, Facts&) { p.wings = {"gpu"}; }, "gpu: a kernel of any architecture"},
      {[](Lists&, Page& p, Facts&) { p.wings = {"distributed"}; }, "distributed: the sharded form"},
      {[](Lists& l, Page&, Facts&) {
         l.changes = {{"claim", "norm.layer.shift", "moved", "norm.rms.shift", "r"}};
       },
       "claim norm.rms.shift: not on the page"},
  };
  for (const Missing& one : all) {
    const ConceptStatus rms = toy_status(one.edit).concepts[0];
    ASSERT_EQ(rms.missing.size(), 1u) << one.message;
    EXPECT_EQ(rms.missing[0].rfind(one.message, 0), 0u) << rms.missing[0];
  }
}

TEST(Status, ChangesAreCountedAndNotAsked) {
  const Status all = toy_status([](Lists& l, Page& p, Facts& f) {
    p.claims.pop_back();
    p.bugs.clear();
    f.claims_bound = f.claims_ran = {"norm.rms.sign"};
    l.changes = {{"claim", "norm.rms.scale", "merged", "norm.rms.sign", "the same"},
                 {"trap", "norm.rms.eps_outside", "dropped", "-", "cannot happen"},
                 {"concept", "norm.layer", "merged", "norm.rms", "one page"}};
  });
  ASSERT_EQ(all.concepts.size(), 1u);
  EXPECT_TRUE(all.concepts[0].complete());
  EXPECT_EQ(all.concepts[0].claims.listed, 2);
  EXPECT_EQ(all.concepts[0].claims.bound, 1);
  EXPECT_EQ(all.concepts[0].claims.changed, 1);
  EXPECT_EQ(all.concepts[0].traps.changed, 1);
  EXPECT_TRUE(all.mission[1].complete());
  EXPECT_NE(status_text(all).find("cannot happen"), std::string::npos);
  EXPECT_NE(status_text(all, "norm.rms").find("the same"), std::string::npos);
}

TEST(Status, WhatNoListHasIsSaid) {
  const Status all = toy_status(
      [](Lists& l, Page&, Facts&) { l.concepts.erase(l.concepts.begin()), l.claims.clear(), l.traps.clear(); });
  const std::string text = status_text(all, "norm.rms");
  EXPECT_NE(text.find("2 (none listed)"), std::string::npos) << text;
  EXPECT_NE(text.find("1 (none listed)"), std::string::npos) << text;
  EXPECT_NE(status_text(all).find("1 of 1 concepts complete, 1 pages, 2 claims bound, 1 bugs die"), std::string::npos)
      << status_text(all);
}

TEST(Status, APageWithoutAnOpNeedsNoSubject) {
  const Status all = toy_status([](Lists&, Page& p, Facts& f) {
    p.has_op = false;
    f.subjects.clear();
    f.second_opinions.clear();
    f.bugs_planted = f.bugs_killed = {"norm.rms.eps_outside"};
  });
  EXPECT_TRUE(all.concepts[0].complete());
  EXPECT_TRUE(status_json(all)["concepts"][0]["subject"].is_null());
}

TEST(Status, JsonHasTheStatedForm) {
  const auto json = status_json(toy_status([](Lists&, Page&, Facts&) {}));
  EXPECT_EQ(
      json["concepts"][0].dump(),
      R"({"id":"norm.rms","complete":true,"page":true,"definition":true,)"
      R"("claims":{"listed":2,"bound":2,"changed":0},"traps":{"listed":1,"planted":1,"dies":1,"changed":0},)"
      R"("subject":true,"vectors":true,"second_opinion":true,"gpu":{"sm_80":false,"sm_90":false},"distributed":false})");
  EXPECT_EQ(json["mission"].dump(), R"([{"item":"A RMS","complete":true},{"item":"A both","complete":false}])");
  EXPECT_TRUE(json["changes"].empty());
}

TEST(Status, TextNamesEveryListedConcept) {
  const std::string text = status_text(status(lists(), pages(), Facts{}));
  for (const ListedConcept& one : lists().concepts) {
    const std::size_t dot = one.id.find('.');
    EXPECT_TRUE(text.find(one.id) != std::string::npos || text.find(one.id.substr(dot + 1)) != std::string::npos)
        << one.id;
  }
  EXPECT_NE(text.find("total: 0 of 300 concepts complete"), std::string::npos);
  EXPECT_THROW(status_text(status(lists(), pages(), Facts{}), "softmax.save"), Error);
}

}  // namespace
}  // namespace assay::spec

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/core/error.hpp"
#include "spec/report/explain.hpp"
#include "spec/report/find.hpp"
#include "spec/report/list.hpp"
#include "spec/report/text.hpp"

namespace assay::spec {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Explain, AConceptWithEverythingOnItsPage) {
  const std::string text = explain("softmax.safe");
  const Page& safe = page("softmax.safe");
  EXPECT_TRUE(has(text, "op softmax(x, mask?, sink?) -> p, log_p, lse"));
  EXPECT_TRUE(has(text, safe.body));
  for (const ClaimSpec& claim : safe.claims) EXPECT_TRUE(has(text, "\n  " + short_name(safe, claim) + " ")) << claim.id;
  for (const BugSpec& bug : safe.bugs) EXPECT_TRUE(has(text, "\n  " + bug.name + " ")) << bug.name;
  for (const std::string& corner : safe.cases.corners) EXPECT_TRUE(has(text, corner)) << corner;
}

TEST(Explain, EveryIdOfEveryPage) {
  for (const Page& one : pages()) {
    EXPECT_TRUE(has(explain(one.id), one.title));
    EXPECT_EQ(explain_json(one.id)["body"], one.body);
    if (one.has_op) {
      EXPECT_TRUE(has(explain(one.op.name), "op " + one.op.name + "("));
    }
    for (const ClaimSpec& claim : one.claims) {
      EXPECT_TRUE(has(explain(claim.id), "claim " + claim.id));
      EXPECT_EQ(explain_json(claim.id)["kind"], claim.kind);
    }
    for (const BugSpec& bug : one.bugs) {
      EXPECT_TRUE(has(explain(bug_id(one, bug.name)), "bug " + bug_id(one, bug.name)));
      // pages that use one op may describe one edit of its subject each in their words: the id with the page is unique
      EXPECT_EQ(explain_json(one.id + "." + bug.name)["effect"], bug.effect);
    }
  }
}

TEST(Explain, WhatIsListedButHasNoPage) {
  EXPECT_TRUE(has(explain("attention.cascade"), "it has no page yet: assay new attention/cascade"));
  EXPECT_TRUE(has(explain("attention.cascade"), "equals_flat"));
  EXPECT_TRUE(has(explain("attention.cascade.equals_flat"), "not on a page yet"));
  EXPECT_TRUE(has(explain("attention.cascade.base2_lse"), "seen in"));
  EXPECT_EQ(explain_json("attention.cascade")["listed_only"], true);
}

TEST(Explain, AnUnknownIdNamesTheNearest) {
  try {
    explain("softmax.safe.sum2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "softmax.safe.sum1")) << error.what();
  }
}

TEST(Explain, AnOpIsAJsonSchemaOfItsCalls) {
  const auto json = explain_json("softmax");
  EXPECT_EQ(json["properties"]["inputs"]["required"].dump(), R"(["x"])");
  EXPECT_EQ(json["properties"]["inputs"]["properties"]["mask"]["when"]["mask"], "given");
  EXPECT_EQ(json["properties"]["options"]["properties"]["empty_row"]["enum"].dump(), R"(["zero","nan","uniform"])");
  EXPECT_EQ(json["x-outputs"]["lse"]["dtype"], "acc");
}

TEST(List, NamesWhatIsThere) {
  EXPECT_EQ(list_json("claims").size(), [] {
    std::size_t n = 0;
    for (const Page& one : pages()) n += one.claims.size();
    return n;
  }());
  EXPECT_TRUE(has(list_text("ops"), "softmax"));
  EXPECT_TRUE(has(list_text("bugs"), "softmax.finite_mask"));
  EXPECT_EQ(list_text("targets", {{{"reference", "the definition"}}, {}}), "reference  the definition\n");
  EXPECT_EQ(list_json("targets", {{{"reference", "it"}}, {}}).dump(), R"([{"target":"reference","says":"it"}])");
  EXPECT_EQ(list_json("contracts", {{}, {{"bf16", "in=bf16"}}}).dump(), R"([{"contract":"bf16","says":"in=bf16"}])");
  EXPECT_EQ(list_json("concepts").size(), pages().size());
  EXPECT_THROW(list_text("claim"), Error);
}

TEST(Text, WrapsAndAligns) {
  EXPECT_EQ(wrap("aa bb cc", 5, 0), "aa bb\ncc");
  EXPECT_EQ(wrap("aa bb cc", 7, 2), "aa bb\n  cc");
  EXPECT_EQ(table({{"a", "x"}, {"µµ", "y"}}, 0), "a   x\nµµ  y\n");
  EXPECT_EQ(width("µx"), 2u);
}

}  // namespace
}  // namespace assay::spec

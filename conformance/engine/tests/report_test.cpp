#include "conformance/engine/report/report.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/engine/tests/fake_target.hpp"

namespace assay {
namespace {

using nlohmann::json;

Result result(const std::string& claim, Result::Verdict verdict) {
  Result r;
  r.concept_id = "softmax.safe";
  r.claim = claim;
  r.target = "fake";
  r.contract = parse_contract("fp32").spell();
  r.verdict = verdict;
  r.cases = verdict == Result::Verdict::not_offered ? 0 : 10;
  r.compared = 100 * r.cases;
  r.drawn["mask=none"] = 7;
  if (verdict == Result::Verdict::failed || verdict == Result::Verdict::waived) {
    r.failure = {"it is <wrong> & \"bad\" \x01\xff", "output p at [0, 1]", "1", "2", "0.5"};
    r.failing_case = "T=1 n=2";
    r.fingerprint = "planted bug x";
    r.says = "it is right";
  }
  if (verdict == Result::Verdict::waived) r.waiver = "lib#1: known";
  if (verdict == Result::Verdict::broken) r.reason = "no case ran";
  return r;
}

Report report(std::vector<Result> results) {
  Report r;
  r.options.target = "plugin:my lib.so";
  r.options.run.tier_of = tier("default");
  r.results = std::move(results);
  return r;
}

const auto passed = result("softmax.safe.a", Result::Verdict::passed);
const auto failed = result("softmax.safe.b", Result::Verdict::failed);
const auto waived = result("universal.memory(softmax)", Result::Verdict::waived);
const auto absent = result("softmax.safe.d", Result::Verdict::not_offered);
const auto broken = result("softmax.safe.e", Result::Verdict::broken);

Kill kill(bool dead, bool inert) {
  Kill k;
  k.concept_id = "softmax.safe";
  k.op = "softmax";
  k.bug = "b";
  k.contract = "fp32";
  k.tier = "generic";
  k.claim = "softmax.safe.a";
  k.dead = dead;
  k.inert = inert;
  return k;
}

TEST(Report, ExitCodes) {
  EXPECT_EQ(exit_code(report({passed})), 0);
  EXPECT_EQ(exit_code(report({passed, waived, absent})), 0);
  EXPECT_EQ(exit_code(report({passed, failed})), 1);
  EXPECT_EQ(exit_code(report({broken, failed})), 1);
  EXPECT_EQ(exit_code(report({passed, broken})), 3);
  EXPECT_EQ(exit_code(report({absent})), 3);
  EXPECT_EQ(exit_code(report({})), 3);
  Report stale = report({passed});
  stale.waivers = {{{}, 0, 1, "passes now", ""}};
  EXPECT_EQ(exit_code(stale), 1);
  Report table = report({});
  table.kills = {kill(true, false)};
  EXPECT_EQ(exit_code(table), 0);
  table.kills.push_back(kill(false, true));
  EXPECT_EQ(exit_code(table), 3);
  table.kills.push_back(kill(false, false));
  EXPECT_EQ(exit_code(table), 1);
}

TEST(Report, AFailureIsToldInOrder) {
  const std::string text = failure_text(report({failed}), failed);
  std::size_t at = 0;
  for (const char* part : {"what", "where", "expected", "got", "allowed", "matches", "case", "again"}) {
    const std::size_t next = text.find(std::string("\n  ") + part, at);
    ASSERT_NE(next, std::string::npos) << part << " is missing or out of order in\n" << text;
    at = next;
  }
  EXPECT_NE(
      text.find("assay run --target 'plugin:my lib.so' --concept softmax.safe --claim softmax.safe.b --case 'T=1 n=2'"),
      std::string::npos)
      << text;
  EXPECT_NE(again(report({waived}), waived).find("--claim universal.memory --case"), std::string::npos);
}

TEST(Report, Quotes) {
  EXPECT_EQ(shell_quoted("subject:bf16"), "subject:bf16");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(Report, SaysWhatTheTargetLacks) {
  SuiteOptions options;
  const auto lines = not_offered(options, FakeTarget());
  EXPECT_EQ(lines.at(0), "softmax: output log_p, sink=logit");
  EXPECT_TRUE(lines.at(1).starts_with("op")) << lines[1];
  EXPECT_NE(lines.at(1).find("rms_norm"), std::string::npos);
  EXPECT_EQ(lines.back(), "a remark");
}

TEST(Report, SaysWhenMoreIsJudgedThanTheTierAllows) {
  EXPECT_EQ(summary_text(report({passed}), false).find("more than"), std::string::npos);
  Result many = passed;
  many.compared = 80000001;
  EXPECT_NE(summary_text(report({many}), false).find("80000001 elements were judged, more than the 4e+07"),
            std::string::npos)
      << summary_text(report({many}), false);
}

TEST(Report, SaysWhenAPlantedBugSurvives) {
  Report r = report({passed});
  r.options.target = "planted:softmax.finite_mask@fp32";
  EXPECT_NE(summary_text(r, false).find("SURVIVES"), std::string::npos);
  EXPECT_EQ(exit_code(r), 0);
  r.results.push_back(failed);
  EXPECT_NE(summary_text(r, false).find("is caught by 1 of 2 claims"), std::string::npos);
}

TEST(Report, ShowsDrawnValuesOnRequest) {
  EXPECT_NE(summary_text(report({passed, failed}), true).find("mask=none                        14"),
            std::string::npos);
  EXPECT_EQ(summary_text(report({passed}), false).find("mask=none"), std::string::npos);
}

/// Enough of JSON Schema for report.schema.json: type, const, enum, required, properties, additionalProperties, items,
/// minimum, $ref.
void validate(const json& schema, const json& root, const json& value, const std::string& at) {
  if (schema.contains("$ref")) {
    const std::string ref = schema["$ref"];
    validate(root["$defs"][ref.substr(ref.rfind('/') + 1)], root, value, at);
  }
  if (schema.contains("const")) {
    EXPECT_EQ(value, schema["const"]) << at;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end()) << at << value;
  }
  if (schema.contains("minimum")) {
    EXPECT_GE(value.get<double>(), schema["minimum"].get<double>()) << at;
  }
  const std::string type = schema.value("type", "");
  if (type == "string") {
    EXPECT_TRUE(value.is_string()) << at;
  }
  if (type == "number") {
    EXPECT_TRUE(value.is_number()) << at;
  }
  if (type == "integer") {
    EXPECT_TRUE(value.is_number_integer()) << at;
  }
  if (type == "array") {
    ASSERT_TRUE(value.is_array()) << at;
    for (std::size_t i = 0; i < value.size(); ++i)
      validate(schema["items"], root, value[i], at + "/" + std::to_string(i));
  }
  if (type != "object") return;
  ASSERT_TRUE(value.is_object()) << at;
  for (const json& key : schema.value("required", json::array())) {
    EXPECT_TRUE(value.contains(key.get<std::string>())) << at << " lacks " << key;
  }
  for (const auto& [key, member] : value.items()) {
    const json properties = schema.value("properties", json::object());
    if (properties.contains(key)) {
      validate(properties[key], root, member, at + "/" + key);
    } else {
      const json more = schema.value("additionalProperties", json(true));
      EXPECT_NE(more, json(false)) << at << ": unknown key " << key;
      if (more.is_object()) validate(more, root, member, at + "/" + key);
    }
  }
}

TEST(Report, JsonFollowsItsSchema) {
  std::ifstream in("conformance/engine/report.schema.json");
  ASSERT_TRUE(in) << "run from the root of the source tree";
  const json schema = json::parse(in);
  Report r = report({passed, failed, waived, absent, broken});
  r.kills = {kill(true, false), kill(false, true), kill(false, false)};
  r.waivers = {{{}, 0, 1, "passes now", ""}};
  r.not_offered = {"op x"};
  const json j = json::parse(json_text(r));
  validate(schema, schema, j, "");
  EXPECT_EQ(j["counts"]["failed"], 1);
  EXPECT_EQ(j["results"][1]["failure"]["case"], "T=1 n=2");
  EXPECT_EQ(j["planted"][1]["verdict"], "no_bug");
}

TEST(Report, JunitIsWellFormed) {
  Report r = report({passed, failed, waived, absent, broken});
  r.kills = {kill(false, true), kill(false, false)};
  r.waivers = {{{}, 0, 1, "passes now", ""}};
  const std::string x = junit_text(r);
  EXPECT_NE(x.find("tests=\"8\" failures=\"3\" errors=\"2\" skipped=\"2\""), std::string::npos) << x;
  EXPECT_NE(x.find("it is &lt;wrong&gt; &amp; &quot;bad&quot; ??"), std::string::npos) << x;
  std::vector<std::string> open;  // tags nest
  for (std::size_t at = x.find('<'); at != std::string::npos; at = x.find('<', at + 1)) {
    const std::string tag = x.substr(at + 1, x.find('>', at) - at - 1);
    if (tag[0] == '?') continue;
    const std::string name = tag.substr(tag[0] == '/', tag.find(' ') - (tag[0] == '/'));
    if (tag[0] != '/') {
      open.push_back(name);
    } else {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), name);
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
  for (const char ch : x) EXPECT_TRUE(ch == '\n' || (ch >= 0x20 && ch < 0x7f));
}

}  // namespace
}  // namespace assay

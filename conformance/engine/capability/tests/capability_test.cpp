#include "conformance/engine/capability/capability.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/engine/capability/keys.hpp"
#include "conformance/engine/worker/tests/request.hpp"

namespace assay::test {
namespace {

const char* const good = R"(library: oneDNN
plugin: onednn.so
version: "2.6.3"
vendor: Intel
url: https://example.org
ops:
  softmax:
    contracts:
      - in=fp32 acc=fp32 out=fp32
      - { contract: "in=bf16 acc=fp32 out=bf16", ask: true }
    outputs: [p, log_p]
    options: { mask: [none], eps: { min: 0.0, max: 1.0 } }
    strides: row_strided
    alignment: 64
    max_sizes: { T: 4096 }
    deterministic: false
    order: any
  linear: { contracts: [fp32], outputs: [y] }
waivers:
  - { claim: softmax.safe.*, case: "T=3", tracker: "oneDNN#123", reason: known, expires: 2027-06-30 }
)";

std::string mistake(const std::string& text) {
  try {
    parse_capability(text, "dir/lib.yaml");
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

// `good` with one line replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

#define EXPECT_MISTAKE(text, what) EXPECT_NE(mistake(text).find(what), std::string::npos) << mistake(text)

TEST(Capability, ReadsWhatIsOffered) {
  const Capability c = parse_capability(good, "dir/lib.yaml");
  EXPECT_EQ(c.library, "oneDNN");
  EXPECT_EQ(c.plugin, "dir/onednn.so");
  ASSERT_EQ(c.ops.size(), 2u);
  const OpOffer& s = *c.find("softmax");
  EXPECT_EQ(s.line, 7);
  ASSERT_EQ(s.contracts.size(), 2u);
  EXPECT_FALSE(s.contracts[0].ask);
  EXPECT_TRUE(s.contracts[1].ask);
  EXPECT_TRUE(s.offers_output("log_p"));
  EXPECT_FALSE(s.offers_output("lse"));
  EXPECT_TRUE(s.offers_option("mask", "none", 0, true));
  EXPECT_FALSE(s.offers_option("mask", "given", 1, false));
  EXPECT_TRUE(s.offers_option("eps", "1e-05", 1e-5, false));
  EXPECT_FALSE(s.offers_option("eps", "2", 2, true));
  EXPECT_TRUE(s.offers_option("sink", "none", 0, true));  // not listed: the default only
  EXPECT_FALSE(s.offers_option("sink", "logit", 1, false));
  EXPECT_EQ(s.strides, StrideClass::row_strided);
  EXPECT_EQ(s.alignment, 64u);
  EXPECT_EQ(s.max_sizes.at("T"), 4096);
  EXPECT_FALSE(s.deterministic);
  EXPECT_EQ(s.order, "any");
  EXPECT_EQ(c.find("linear")->strides, StrideClass::dense);
  EXPECT_EQ(c.find("rms_norm"), nullptr);
  ASSERT_EQ(c.waivers.size(), 1u);
  EXPECT_EQ(c.waivers[0].tracker, "oneDNN#123");
  EXPECT_FALSE(c.waivers[0].expired("2027-06-30"));
  EXPECT_TRUE(c.waivers[0].expired("2027-07-01"));
}

TEST(Capability, MistakesHaveLines) {
  EXPECT_MISTAKE(with("    strides: row_strided", "    stride: row_strided"),
                 "dir/lib.yaml:13: ops.softmax.stride: unknown key");
  EXPECT_MISTAKE(with("row_strided", "padded"),
                 ":13: ops.softmax.strides: expected one of dense, row_strided, any, found \"padded\"");
  EXPECT_MISTAKE(with("alignment: 64", "alignment: 48"), ":14: ops.softmax.alignment: expected a power of two");
  EXPECT_MISTAKE(with("deterministic: false", "deterministic: no"),
                 ":16: ops.softmax.deterministic: expected one of true, false");
  EXPECT_MISTAKE(with("    outputs: [p, log_p]\n", ""), "ops.softmax.outputs: required key is missing");
  EXPECT_MISTAKE(with("outputs: [p, log_p]", "outputs: []"), ":11: ops.softmax.outputs: expected at least one");
  EXPECT_MISTAKE(with("vendor: Intel", "library: twice"), ":4: library: key given twice");
  EXPECT_MISTAKE(with("mask: [none]", "mask: none"), ":12: ops.softmax.options.mask: expected a list");
  EXPECT_MISTAKE(with("max: 1.0", "max: -1.0"), "min is larger than max");
  EXPECT_MISTAKE(with("T: 4096", "T: 0"), ":15: ops.softmax.max_sizes.T: expected >= 1");
  EXPECT_MISTAKE(with("ask: true", "ask: maybe"), ":10: ops.softmax.contracts.ask");
  EXPECT_MISTAKE(with("- in=fp32 acc=fp32 out=fp32", "- in=bf16 acc=fp32 out=bf16"), "contract given twice");
  EXPECT_MISTAKE(with(", tracker: \"oneDNN#123\"", ""), ":20: waivers.tracker: required key is missing");
  EXPECT_MISTAKE(with("oneDNN#123", "ask Bob"), "expected PROJECT#NUMBER or a URL");
  EXPECT_MISTAKE(with("2027-06-30", "next week"), "expected a date");
  EXPECT_MISTAKE(with("claim: softmax.safe.*, ", ""), "waivers.claim: required key is missing");
  EXPECT_MISTAKE("library: x\nplugin: y\nops: {}\n", "expected at least one op");
  EXPECT_MISTAKE("- 1\n", "expected a mapping with the keys");
  EXPECT_MISTAKE("", "expected a mapping with the keys");
  // All at once.
  const std::string both =
      mistake(with("alignment: 64\n    max_sizes: { T: 4096 }", "alignment: 3\n    max_sizes: { T: 0 }"));
  EXPECT_NE(both.find(":14:"), std::string::npos);
  EXPECT_NE(both.find(":15:"), std::string::npos);
}

TEST(Capability, RefusesHostileFiles) {
  EXPECT_MISTAKE(std::string(100000, '['), "dir/lib.yaml:1:");
  EXPECT_MISTAKE("a: " + std::string(9, '[') + std::string(9, ']'), "nesting deeper than 8");
  EXPECT_MISTAKE("a: &a [1, 2]\nb: *a\n", "dir/lib.yaml:1: capability files do not have an anchor");
  EXPECT_MISTAKE("<<: *a\n", "dir/lib.yaml:1");
  EXPECT_MISTAKE(std::string((1 << 20) + 1, '#'), "too long");
  EXPECT_MISTAKE(std::string("library: a\0b", 12), "is not text");
  EXPECT_MISTAKE("--- {a: 1}\n--- {b: 2}\n", "several documents");
  EXPECT_MISTAKE("library: \"open\nplugin", "not YAML");
  std::string many = "ops: [";
  for (int i = 0; i < 20001; ++i) many += "1,";
  EXPECT_MISTAKE(many + "1]", "more than 20000 values");
  EXPECT_THROW(read_capability("nowhere.yaml"), Error);
  EXPECT_THROW(read_capability("/"), Error);
}

// Every prefix of a good file, and the file with each byte replaced: an error or a file that reads, never anything
// else.
TEST(Capability, SurvivesDamage) {
  const std::string text = good;
  int accepted = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    accepted += mistake(text.substr(0, i)) == "accepted";
    for (const char c : {'{', ':', '\n', '\xff', '"', '*', '&', '!', '-'}) {
      std::string damaged = text;
      damaged[i] = c;
      accepted += mistake(damaged) == "accepted";
    }
  }
  EXPECT_GT(accepted, 0);  // damage inside free text
}

TEST(Capability, FindsTheFileOfAPlugin) {
  EXPECT_EQ(capability_path("build/lib/onednn.so"), "build/lib/onednn.yaml");
  EXPECT_EQ(capability_path("a.so.d/libfoo.so.1"), "a.so.d/libfoo.yaml");
  EXPECT_EQ(capability_path("foo"), "foo.yaml");
}

TEST(Capability, AsksThePlugin) {
  Worker worker(program());
  Capability c = parse_capability(good, "dir/lib.yaml");
  c.plugin = std::string(ASSAY_TEST_PLUGINS) + "/assay_test_misbehaving.so";
  const std::vector<Offered> all = ask(c, worker);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].offered);
  EXPECT_FALSE(all[1].offered);
  EXPECT_EQ(all[1].reason, "this CPU has no bf16");
  c.plugin = "nowhere.so";
  EXPECT_THROW(ask(c, worker), Error);
}

void compare(const nlohmann::json& schema, const std::string& record) {
  std::set<std::string> properties, required(schema.at("required").begin(), schema.at("required").end());
  for (const auto& item : schema.at("properties").items()) properties.insert(item.key());
  const spec::Keys& keys = capability_keys(record);
  std::set<std::string> known(keys.required.begin(), keys.required.end());
  EXPECT_EQ(required, known) << record;
  known.insert(keys.optional.begin(), keys.optional.end());
  EXPECT_EQ(properties, known) << record;
  EXPECT_FALSE(schema.at("additionalProperties").get<bool>()) << record;
}

TEST(Capability, SchemaSaysTheSame) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tools/plugins/capability.schema.json");
  const nlohmann::json schema = nlohmann::json::parse(file);
  compare(schema, "file");
  for (const char* record : {"op", "contract", "range", "waiver"}) compare(schema.at("$defs").at(record), record);
  const auto& op = schema.at("$defs").at("op").at("properties");
  EXPECT_EQ(op.at("strides").at("enum").get<spec::Words>(), stride_words());
  EXPECT_EQ(op.at("order").at("enum").get<spec::Words>(), order_words());
}

}  // namespace
}  // namespace assay::test

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spec/compiler/compile.hpp"
#include "spec/compiler/files.hpp"

namespace assay::spec {
namespace {

using Json = nlohmann::json;

Json schema() { return Json::parse(read_file(std::string(ASSAY_SOURCE_DIR) + "/spec/page.schema.json")); }

Words sorted(Words words) {
  std::sort(words.begin(), words.end());
  return words;
}

// The schema documents the compiler: the same keys, the same required ones, the same fixed lists.
TEST(Schema, HasTheKeysOfTheCompiler) {
  const Json all = schema();
  for (const std::string record : {"page", "op", "input", "output", "option", "cases", "claim", "bug"}) {
    const Json& object = record == "page" ? all : all["$defs"][record];
    Words keys;
    for (const auto& item : object["properties"].items()) keys.push_back(item.key());
    Words expected = keys_of(record).required;
    expected.insert(expected.end(), keys_of(record).optional.begin(), keys_of(record).optional.end());
    EXPECT_EQ(sorted(keys), sorted(expected)) << record;
    EXPECT_EQ(sorted(object["required"].get<Words>()), sorted(keys_of(record).required)) << record;
    EXPECT_EQ(object["additionalProperties"], false) << record;
  }
}

TEST(Schema, HasTheListsOfTheCompiler) {
  const Json defs = schema()["$defs"];
  EXPECT_EQ(defs["output"]["properties"]["decision"]["enum"].get<Words>(), decision_rules());
  EXPECT_EQ(defs["claim"]["properties"]["kind"]["enum"].get<Words>(), claim_kinds());
  EXPECT_EQ(defs["claim"]["properties"]["on"]["enum"].get<Words>(), claim_subjects());
  EXPECT_EQ(defs["dtype"]["enum"].get<Words>(), tensor_types());
  EXPECT_EQ(defs["bug"]["properties"]["dies"]["propertyNames"]["enum"].get<Words>(), bug_contracts());
  EXPECT_EQ(defs["bug"]["properties"]["dies"]["additionalProperties"]["enum"].get<Words>(), bug_tiers());
  EXPECT_EQ(defs["cases"]["properties"]["profiles"]["items"]["enum"].get<Words>(), value_profiles());
  EXPECT_EQ(schema()["properties"]["wings"]["items"]["enum"].get<Words>(), wings());
}

}  // namespace
}  // namespace assay::spec

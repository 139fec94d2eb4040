#include "vectors/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/core/error.hpp"

namespace assay::vectors {
namespace {

using Json = nlohmann::ordered_json;

std::size_t violations(const char* schema, const char* value) {
  return schema_violations(Json::parse(schema), Json::parse(value)).size();
}

// Each keyword, with a value that keeps it and one that breaks it.
TEST(Schema, EachKeywordFires) {
  const struct {
    const char *schema, *good, *bad;
  } rows[] = {{R"({"type": "integer"})", "3", "3.5"},
              {R"({"type": "number"})", "3.5", "\"x\""},
              {R"({"type": "boolean"})", "true", "1"},
              {R"({"const": "a"})", "\"a\"", "\"b\""},
              {R"({"enum": ["a", "b"]})", "\"b\"", "\"c\""},
              {R"({"pattern": "^[a-z]+$"})", "\"ab\"", "\"a-b\""},
              {R"({"minimum": 1})", "1", "0"},
              {R"({"exclusiveMinimum": 1})", "2", "1"},
              {R"({"required": ["a"]})", R"({"a": 1})", "{}"},
              {R"({"properties": {"a": {"type": "string"}}})", R"({"a": "x"})", R"({"a": 1})"},
              {R"({"properties": {"a": {}}, "additionalProperties": false})", R"({"a": 1})", R"({"b": 1})"},
              {R"({"additionalProperties": {"type": "string"}})", R"({"a": "x"})", R"({"a": 1})"},
              {R"({"propertyNames": {"pattern": "^a"}})", R"({"ab": 1})", R"({"b": 1})"},
              {R"({"items": {"type": "string"}})", R"(["a"])", R"(["a", 1])"},
              {R"({"minItems": 1})", "[1]", "[]"},
              {R"({"uniqueItems": true})", "[1, 2]", "[1, 1]"},
              {R"({"$ref": "#/$defs/d", "$defs": {"d": {"const": 1}}})", "1", "2"}};
  for (const auto& row : rows) {
    EXPECT_EQ(violations(row.schema, row.good), 0U) << row.schema << " " << row.good;
    EXPECT_EQ(violations(row.schema, row.bad), 1U) << row.schema << " " << row.bad;
  }
}

TEST(Schema, SaysNothingThatIsNotChecked) {
  EXPECT_THROW(violations(R"({"maximum": 3})", "2"), Error);
  EXPECT_THROW(violations(R"({"type": "text"})", "2"), Error);
}

TEST(Schema, NamesThePlace) {
  const auto found = schema_violations(Json::parse(manifest_schema()),
                                       Json::parse(R"({"assay": "vectors 1", "z": 8, "contracts": {}, "flags": {},
     "counts": {"vectors": 0, "bytes": 1, "concepts": {}}, "vectors": [{"id": "a-b"}]})"));
  std::string all;
  for (const std::string& f : found) all += f + "\n";
  EXPECT_NE(all.find("/counts/vectors: expected at least 1, found '0'"), std::string::npos) << all;
  EXPECT_NE(all.find("/vectors/0/id: expected text like"), std::string::npos) << all;
  EXPECT_NE(all.find("/vectors/0: expected the key \"sha256\""), std::string::npos) << all;
}

}  // namespace
}  // namespace assay::vectors

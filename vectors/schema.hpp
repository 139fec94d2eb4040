#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace assay::vectors {

/// The text of vectors/manifest.schema.json as it was when assay was built.
const std::string& manifest_schema();

/// Where `value` breaks a JSON Schema, a line each; empty if it does not. Of JSON Schema (draft 2020-12) what the
/// manifest's schema uses: type, const, enum, pattern, properties, required, additionalProperties, propertyNames,
/// items, minItems, uniqueItems, minimum, exclusiveMinimum, $ref into $defs. Throws Error on any other keyword: a
/// schema says nothing that is not checked.
std::vector<std::string> schema_violations(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& value);

}  // namespace assay::vectors

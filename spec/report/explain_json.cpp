#include <nlohmann/json.hpp>

#include "spec/json.hpp"
#include "spec/report/explain.hpp"
#include "spec/report/find.hpp"

namespace assay::spec {
namespace {

using Json = nlohmann::ordered_json;

Json tensor_schema(const TensorSpec& tensor) {
  Json json = {{"description", tensor.says}, {"shape", tensor.shape}, {"dtype", tensor.dtype}};
  if (!tensor.when_option.empty()) json["when"] = {{tensor.when_option, tensor.when_value}};
  if (!tensor.decision.empty()) json["decision"] = tensor.decision;
  return json;
}

Json option_schema(const OptionSpec& option) {
  if (option.numeric())
    return {{"description", option.says},
            {"type", "number"},
            {"default", option.numbers.front()},
            {"examples", option.numbers}};
  return {{"description", option.says}, {"enum", option.names}, {"default", option.names.front()}};
}

// What a call must have; x-outputs: what it returns. A tensor is described by its symbolic shape and type, not by its
// content.
Json op_schema(const Page& page) {
  Json inputs = Json::object(), required = Json::array(), outputs = Json::object(), options = Json::object();
  for (const TensorSpec& tensor : page.op.inputs) {
    inputs[tensor.name] = tensor_schema(tensor);
    if (tensor.when_option.empty()) required.push_back(tensor.name);
  }
  for (const TensorSpec& tensor : page.op.outputs) outputs[tensor.name] = tensor_schema(tensor);
  for (const OptionSpec& option : page.op.options) options[option.name] = option_schema(option);
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", page.op.name},
               {"description", page.title + " (" + page.path + ")"},
               {"type", "object"},
               {"required", {"inputs"}}};
  json["properties"] = Json::object();
  json["properties"]["inputs"] = {
      {"type", "object"}, {"additionalProperties", false}, {"required", required}, {"properties", inputs}};
  json["properties"]["options"] = {{"type", "object"}, {"additionalProperties", false}, {"properties", options}};
  json["x-outputs"] = outputs;
  if (!page.op.rows.empty()) json["x-rows"] = page.op.rows;
  return json;
}

Json listed_json(const Found& found) {
  if (found.listed_claim)
    return {{"claim", found.listed_claim->id},
            {"kind", found.listed_claim->kind},
            {"on", found.listed_claim->on},
            {"says", found.listed_claim->says},
            {"listed_only", true}};
  if (found.listed_trap)
    return {{"bug", found.listed_trap->id()},
            {"says", found.listed_trap->says},
            {"seen", found.listed_trap->seen},
            {"listed_only", true}};
  Json claims = Json::array(), traps = Json::array();
  for (const ListedClaim& claim : lists().claims)
    if (claim.concept_id == found.listed_concept->id) claims.push_back(claim.id);
  for (const ListedTrap& trap : lists().traps)
    if (trap.concept_id == found.listed_concept->id) traps.push_back(trap.id());
  return {{"concept", found.listed_concept->id}, {"claims", claims}, {"bugs", traps}, {"listed_only", true}};
}

}  // namespace

nlohmann::ordered_json explain_json(const std::string& id) {
  const Found found = find(id);
  if (!found.page) return listed_json(found);
  const Page& page = *found.page;
  Json json = Json::object();
  if (found.whole_page) {
    json = page_to_json(page);
    json["body"] = page.body;
    return json;
  }
  if (found.op) return op_schema(page);
  const Json all = page_to_json(page);
  if (found.claim) {
    json = {{"claim", found.claim->id}, {"page", page.id}};
    json.update(all["claims"][short_name(page, *found.claim)]);
  }
  if (found.bug) {
    Json bug = {{"bug", bug_id(page, found.bug->name)}, {"page", page.id}};
    bug.update(all["bugs"][found.bug->name]);
    // An id may name both; then the bug stands inside the claim's record.
    if (found.claim)
      json["bug_of_this_name"] = bug;
    else
      json = bug;
  }
  return json;
}

}  // namespace assay::spec

#include "spec/json.hpp"

#include <nlohmann/json.hpp>

namespace assay::spec {
namespace {

using Json = nlohmann::ordered_json;

Json shape_to_json(const std::vector<std::string>& shape) {
  Json list = Json::array();
  for (const std::string& size : shape) {
    if (size.find_first_not_of("0123456789") == std::string::npos)
      list.push_back(std::stoll(size));
    else
      list.push_back(size);
  }
  return list;
}

Json tensors_to_json(const std::vector<TensorSpec>& tensors) {
  Json map = Json::object();
  for (const TensorSpec& tensor : tensors) {
    Json one = {{"shape", shape_to_json(tensor.shape)}, {"dtype", tensor.dtype}};
    if (!tensor.when_option.empty()) one["when"] = {{tensor.when_option, tensor.when_value}};
    if (!tensor.decision.empty()) one["decision"] = tensor.decision;
    if (!tensor.fill.empty()) one["fill"] = {{tensor.fill, tensor.fill_of}};
    one["says"] = tensor.says;
    map[tensor.name] = one;
  }
  return map;
}

Json ranges_to_json(const std::vector<Range>& ranges) {
  Json map = Json::object();
  for (const Range& range : ranges) map[range.name] = {range.low, range.high};
  return map;
}

Json cases_to_json(const CaseSpec& cases) {
  Json json = {{"sizes", ranges_to_json(cases.sizes)}};
  for (const Product& product : cases.products) {
    Json& factors = json[product.sum ? "sums" : "products"][product.name];
    for (const std::string& factor : product.of) {
      const bool number = factor.find_first_not_of("0123456789") == std::string::npos;
      factors.push_back(number ? Json(std::stoll(factor)) : Json(factor));
    }
  }
  if (!cases.also.empty()) json["also"] = ranges_to_json(cases.also);
  if (!cases.profiles.empty()) json["profiles"] = cases.profiles;
  if (!cases.corners.empty()) json["corners"] = cases.corners;
  return json;
}

Json bug_to_json(const BugSpec& bug) {
  Json dies = Json::object();
  for (const DiesAt& death : bug.dies) dies[death.contract] = death.tier;
  Json json = {{"says", bug.says}, {"effect", bug.effect}, {"seen", bug.seen}, {"caught_by", bug.caught_by}};
  json["dies"] = dies;
  if (!bug.extra.empty()) json["extra"] = bug.extra;
  return json;
}

}  // namespace

Json op_to_json(const OpSpec& op) {
  Json json = {{"name", op.name}};
  if (!op.rows.empty()) json["rows"] = op.rows;
  json["inputs"] = tensors_to_json(op.inputs);
  json["outputs"] = tensors_to_json(op.outputs);
  if (!op.options.empty()) json["options"] = Json::object();
  for (const OptionSpec& option : op.options) {
    Json one = Json::object();
    if (option.numeric())
      one["numbers"] = option.numbers;
    else
      one["values"] = option.names;
    one["says"] = option.says;
    json["options"][option.name] = one;
  }
  return json;
}

Json page_to_json(const Page& page) {
  Json json = {{"id", page.id}, {"title", page.title}, {"source", page.source}, {"wings", page.wings}};
  if (page.has_op) json["op"] = op_to_json(page.op);
  if (!page.uses.empty()) json["uses"] = page.uses;
  json["cases"] = cases_to_json(page.cases);
  json["claims"] = Json::object();
  for (const ClaimSpec& claim : page.claims) {
    Json one = {{"kind", claim.kind}, {"on", claim.on}, {"says", claim.says}};
    if (!claim.extra.empty()) one["extra"] = claim.extra;
    json["claims"][claim.id.substr(page.id.size() + 1)] = one;
  }
  if (!page.bugs.empty()) json["bugs"] = Json::object();
  for (const BugSpec& bug : page.bugs) json["bugs"][bug.name] = bug_to_json(bug);
  return json;
}

}  // namespace assay::spec

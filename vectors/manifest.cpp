#include "vectors/manifest.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reference/core/contract.hpp"
#include "reference/core/error.hpp"
#include "reference/core/file_io.hpp"
#include "vectors/flags.hpp"
#include "vectors/schema.hpp"

namespace assay::vectors {
namespace {

using Json = nlohmann::ordered_json;

/// Everything but the list of vectors, as it follows from them.
Json summary(const std::vector<Entry>& entries) {
  Json contracts = Json::object(), flags = Json::object(), concepts = Json::object();
  std::set<std::string> contract_names, flag_names;
  std::map<std::string, int> count;
  std::int64_t bytes = 0;
  for (const Entry& e : entries) {
    contract_names.insert(e.covers.begin(), e.covers.end());
    flag_names.insert(e.flags.begin(), e.flags.end());
    ++count[e.concept_id];
    bytes += e.bytes;
  }
  for (const std::string& name : contract_names) contracts[name] = parse_contract(name).spell();
  for (const std::string& name : flag_names) {
    const Flag f = describe_flag(name);
    flags[name] = {
        {"kind", f.kind}, {"says", f.says}, {"effect", f.effect}, {"seen", f.seen}, {"caught_by", f.caught_by}};
  }
  for (const auto& [name, n] : count) concepts[name] = n;
  return {{"assay", "vectors 1"},
          {"z", vector_z()},
          {"contracts", contracts},
          {"flags", flags},
          {"counts", {{"vectors", entries.size()}, {"bytes", bytes}, {"concepts", concepts}}}};
}

Json to_json(const Entry& e) {
  return {{"id", e.id},         {"concept", e.concept_id}, {"claim", e.claim},       {"op", e.op},
          {"case", e.spelling}, {"seed", e.seed},          {"contract", e.contract}, {"covers", e.covers},
          {"file", e.file},     {"bytes", e.bytes},        {"sha256", e.sha256},     {"flags", e.flags}};
}

Entry from_json(const Json& j) {
  return {j["id"],       j["concept"], j["claim"], j["op"],    j["case"],   j["seed"],
          j["contract"], j["covers"],  j["file"],  j["bytes"], j["sha256"], j["flags"]};
}

/// The lines "name": value of an object, one a line.
std::string lines(const Json& object) {
  std::string text;
  for (const auto& item : object.items())
    text += (text.empty() ? "\n    " : ",\n    ") + Json(item.key()).dump() + ": " + item.value().dump();
  return "{" + text + "\n  }";
}

}  // namespace

std::string manifest_text(const std::vector<Entry>& entries) {
  const Json s = summary(entries);
  std::string text = "{\n  \"assay\": " + s["assay"].dump() + ",\n  \"z\": " + s["z"].dump() +
                     ",\n  \"contracts\": " + lines(s["contracts"]) + ",\n  \"flags\": " + lines(s["flags"]) +
                     ",\n  \"counts\": " + lines(s["counts"]) + ",\n  \"vectors\": [";
  for (std::size_t i = 0; i < entries.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + to_json(entries[i]).dump();
  return text + "\n  ]\n}\n";
}

std::vector<Entry> read_manifest(const std::filesystem::path& path, std::vector<std::string>& problems) {
  const std::string origin = path.string();
  const Bytes bytes = read_bytes(path);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& e) {
    throw Error(origin + ": not JSON", "a manifest", e.what());
  }
  const auto broken = schema_violations(Json::parse(manifest_schema()), json);
  for (const std::string& b : broken) problems.push_back(origin + ": schema: " + b);
  if (!broken.empty()) return {};

  std::vector<Entry> entries;
  std::set<std::string> ids, files;
  for (const Json& line : json["vectors"]) {
    entries.push_back(from_json(line));
    if (!ids.insert(entries.back().id).second) problems.push_back(origin + ": id twice: " + entries.back().id);
    if (!files.insert(entries.back().file).second) problems.push_back(origin + ": file twice: " + entries.back().file);
  }
  try {
    if (manifest_text(entries) == text) return entries;
    const Json s = summary(entries);
    for (const char* key : {"z", "contracts", "flags", "counts"}) {
      if (json[key] != s[key])
        problems.push_back(origin + ": " + key + " do not follow from the list of vectors and the pages: expected " +
                           printable(s[key].dump()) + ", found " + printable(json[key].dump()));
    }
    if (problems.empty()) problems.push_back(origin + ": not the text that generate writes, though the same data");
  } catch (const Error& e) {  // a contract or flag that nothing describes
    problems.push_back(origin + ": " + e.what());
  }
  return entries;
}

}  // namespace assay::vectors

#include "conformance/engine/capability/capability.hpp"

#include <algorithm>
#include <regex>

#include "conformance/engine/capability/keys.hpp"
#include "conformance/engine/capability/strict_yaml.hpp"
#include "spec/compiler/reader.hpp"

namespace assay {
namespace {

using spec::Reader;

const YAML::Node* get(const std::map<std::string, YAML::Node>& fields, const char* key) {
  const auto at = fields.find(key);
  return at == fields.end() ? nullptr : &at->second;
}

std::string optional_text(Reader& reader, const std::map<std::string, YAML::Node>& fields, const char* key,
                          const std::string& where) {
  const YAML::Node* node = get(fields, key);
  return node ? reader.text(*node, where + key) : "";
}

bool truth(Reader& reader, const YAML::Node& node, const std::string& where) {
  return reader.one_of(node, where, {"true", "false"}) == "true";
}

std::vector<ContractOffer> read_contracts(Reader& reader, const YAML::Node& node, const std::string& where) {
  std::vector<ContractOffer> list;
  if (!reader.is_sequence(node, where)) return list;
  for (const auto& item : node) {
    ContractOffer offer;
    if (item.IsMap()) {
      const auto fields = reader.fields(item, where, capability_keys("contract"));
      if (const auto* text = get(fields, "contract")) offer.contract = reader.text(*text, where + ".contract");
      if (const auto* ask = get(fields, "ask")) offer.ask = truth(reader, *ask, where + ".ask");
    } else {
      offer.contract = reader.text(item, where);
    }
    for (const ContractOffer& other : list)
      if (other.contract == offer.contract) reader.mistake(item, where, "contract given twice: " + offer.contract);
    list.push_back(offer);
  }
  if (list.empty()) reader.mistake(node, where, "expected at least one contract");
  return list;
}

OptionOffer read_option(Reader& reader, const YAML::Node& node, const std::string& where) {
  OptionOffer offer;
  if (node.IsMap()) {
    const auto fields = reader.fields(node, where, capability_keys("range"));
    offer.range = true;
    if (const auto* min = get(fields, "min")) offer.min = reader.number(*min, where + ".min");
    if (const auto* max = get(fields, "max")) offer.max = reader.number(*max, where + ".max");
    if (offer.min > offer.max) reader.mistake(node, where, "min is larger than max");
    return offer;
  }
  offer.values = reader.texts(node, where);
  if (offer.values.empty()) reader.mistake(node, where, "expected at least one value, or a range {min, max}");
  return offer;
}

OpOffer read_op(Reader& reader, const spec::Entry& entry) {
  const std::string where = "ops." + entry.name;
  OpOffer op;
  op.op = entry.name;
  op.line = reader.line(entry.key);
  const auto fields = reader.fields(entry.value, where, capability_keys("op"));
  if (const auto* node = get(fields, "contracts")) op.contracts = read_contracts(reader, *node, where + ".contracts");
  if (const auto* node = get(fields, "outputs")) {
    op.outputs = reader.texts(*node, where + ".outputs");
    if (op.outputs.empty()) reader.mistake(*node, where + ".outputs", "expected at least one output");
  }
  if (const auto* node = get(fields, "options"))
    for (const spec::Entry& option : reader.entries(*node, where + ".options"))
      op.options[option.name] = read_option(reader, option.value, where + ".options." + option.name);
  if (const auto* node = get(fields, "strides")) {
    const std::string word = reader.one_of(*node, where + ".strides", stride_words());
    op.strides = word == "any"           ? StrideClass::any
                 : word == "row_strided" ? StrideClass::row_strided
                                         : StrideClass::dense;
  }
  if (const auto* node = get(fields, "alignment")) {
    const long long a = reader.integer(*node, where + ".alignment");
    if (a < 1 || a > 4096 || (a & (a - 1)) != 0)
      reader.mistake(*node, where + ".alignment", "expected a power of two up to 4096, found " + std::to_string(a));
    op.alignment = static_cast<std::size_t>(std::max<long long>(a, 0));
  }
  if (const auto* node = get(fields, "max_sizes"))
    for (const spec::Entry& size : reader.entries(*node, where + ".max_sizes", true)) {
      op.max_sizes[size.name] = reader.integer(size.value, where + ".max_sizes." + size.name);
      if (op.max_sizes[size.name] < 1) reader.mistake(size.value, where + ".max_sizes." + size.name, "expected >= 1");
    }
  if (const auto* node = get(fields, "deterministic"))
    op.deterministic = truth(reader, *node, where + ".deterministic");
  if (const auto* node = get(fields, "order")) op.order = reader.one_of(*node, where + ".order", order_words());
  op.note = optional_text(reader, fields, "note", where + ".");
  return op;
}

Waiver read_waiver(Reader& reader, const YAML::Node& node) {
  static const std::regex tracker("[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?#[0-9]+|https?://[^ ]+"),
      date("20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"), claim("[a-z0-9_.*?]+");
  Waiver w;
  w.line = reader.line(node);
  const auto fields = reader.fields(node, "waivers", capability_keys("waiver"));
  w.claim = optional_text(reader, fields, "claim", "waivers.");
  w.contract = optional_text(reader, fields, "contract", "waivers.");
  w.cases = optional_text(reader, fields, "case", "waivers.");
  w.tracker = optional_text(reader, fields, "tracker", "waivers.");
  w.reason = optional_text(reader, fields, "reason", "waivers.");
  w.expires = optional_text(reader, fields, "expires", "waivers.");
  if (!w.claim.empty() && !std::regex_match(w.claim, claim))
    reader.mistake(node, "waivers.claim", "expected a claim id or a glob, found " + spec::quoted(w.claim));
  if (!w.tracker.empty() && !std::regex_match(w.tracker, tracker))
    reader.mistake(node, "waivers.tracker", "expected PROJECT#NUMBER or a URL, found " + spec::quoted(w.tracker));
  if (!w.expires.empty() && !std::regex_match(w.expires, date))
    reader.mistake(node, "waivers.expires", "expected a date like 2027-06-30, found " + spec::quoted(w.expires));
  return w;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

Capability parse_capability(const std::string& text, const std::string& path) {
  const YAML::Node root = strict_yaml(text, path, "capability files");
  Reader reader(path, 1);
  Capability c;
  c.path = path;
  const auto fields = reader.fields(root, "", capability_keys("file"));
  c.library = optional_text(reader, fields, "library", "");
  c.plugin = optional_text(reader, fields, "plugin", "");
  c.version = optional_text(reader, fields, "version", "");
  c.vendor = optional_text(reader, fields, "vendor", "");
  c.url = optional_text(reader, fields, "url", "");
  if (c.plugin.find('\n') != std::string::npos) reader.mistake(root, "plugin", "expected a file name");
  if (!c.plugin.empty() && c.plugin.front() != '/') c.plugin = folder_of(path) + c.plugin;
  if (const auto* node = get(fields, "ops"))
    for (const spec::Entry& entry : reader.entries(*node, "ops")) c.ops.push_back(read_op(reader, entry));
  if (const auto* node = get(fields, "waivers"); node && reader.is_sequence(*node, "waivers"))
    for (const auto& item : *node) c.waivers.push_back(read_waiver(reader, item));
  if (fields.count("ops") && c.ops.empty() && reader.mistakes().empty())
    reader.mistake(root, "ops", "expected at least one op");
  std::string all;
  for (const spec::Mistake& mistake : reader.mistakes()) all += (all.empty() ? "" : "\n") + mistake.text();
  if (!all.empty()) throw Error(all);
  return c;
}

Capability read_capability(const std::string& path) {
  return parse_capability(read_text(path, "capability file", "a YAML file beside the plugin"), path);
}

}  // namespace assay

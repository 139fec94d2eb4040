#include "conformance/engine/capability/capability.hpp"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "conformance/engine/capability/keys.hpp"
#include "spec/compiler/reader.hpp"

namespace assay {
namespace {

using spec::Reader;

constexpr std::size_t kMaxBytes = 1 << 20, kMaxNodes = 20000, kMaxDepth = 8;

// A first pass over the events of the parser, before anything is built from them.
class Gatekeeper : public YAML::EventHandler {
 public:
  explicit Gatekeeper(std::string path) : path_(std::move(path)) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "several documents in one file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { node(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "an alias (*name)"); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string&) override {
    node(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    enter(mark, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    enter(mark, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void enter(const YAML::Mark& mark, YAML::anchor_t anchor) {
    node(mark, anchor);
    if (++depth_ > kMaxDepth) refuse(mark, "nesting deeper than " + std::to_string(kMaxDepth));
  }
  void node(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "an anchor (&name)");
    if (++nodes_ > kMaxNodes) refuse(mark, "more than " + std::to_string(kMaxNodes) + " values");
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) {
    throw Error(path_ + ":" + std::to_string(mark.line + 1) + ": capability files do not have " + what);
  }
  std::string path_;
  std::size_t depth_ = 0, nodes_ = 0, documents_ = 0;
};

YAML::Node load(const std::string& text, const std::string& path) {
  if (text.size() > kMaxBytes)
    throw Error(path + ": capability file is too long", "at most 1 MiB", std::to_string(text.size()) + " bytes");
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 127)
      throw Error(path + ": capability file is not text", "printable characters",
                  "byte " + std::to_string(c) + " at " + std::to_string(i));
  }
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Gatekeeper gatekeeper(path);
    while (parser.HandleNextDocument(gatekeeper)) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw Error(path + ":" + std::to_string(e.mark.line + 1) + ": not YAML: " + e.msg);
  }
}

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
  const YAML::Node root = load(text, path);
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
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("capability file cannot be read", "a YAML file beside the plugin", "'" + path + "'");
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_capability(text, path);
}

}  // namespace assay

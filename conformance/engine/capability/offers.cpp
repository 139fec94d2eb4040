#include <algorithm>
#include <map>

#include "conformance/engine/capability/capability.hpp"
#include "conformance/engine/capability/keys.hpp"

namespace assay {

const spec::Keys& capability_keys(const std::string& record) {
  static const std::map<std::string, spec::Keys> keys = {
      {"file", {{"library", "plugin", "ops"}, {"version", "vendor", "url", "waivers"}}},
      {"op",
       {{"contracts", "outputs"}, {"options", "strides", "alignment", "max_sizes", "deterministic", "order", "note"}}},
      {"contract", {{"contract"}, {"ask"}}},
      {"range", {{"min", "max"}, {}}},
      {"waiver", {{"claim", "tracker", "reason"}, {"contract", "case", "expires"}}},
  };
  return keys.at(record);
}

const spec::Words& stride_words() {
  static const spec::Words words = {"dense", "row_strided", "any"};
  return words;
}

const spec::Words& order_words() {
  static const spec::Words words = {"contiguous", "oblivious", "any"};
  return words;
}

bool OpOffer::offers_output(const std::string& name) const {
  return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
}

bool OpOffer::offers_option(const std::string& name, const std::string& value, double number, bool is_default) const {
  const auto at = options.find(name);
  if (at == options.end()) return is_default;
  if (at->second.range) return number >= at->second.min && number <= at->second.max;
  const auto& values = at->second.values;
  return std::find(values.begin(), values.end(), value) != values.end();
}

const OpOffer* Capability::find(const std::string& op) const {
  for (const OpOffer& offer : ops)
    if (offer.op == op) return &offer;
  return nullptr;
}

std::string capability_path(const std::string& plugin) {
  const auto slash = plugin.rfind('/');
  const auto from = slash == std::string::npos ? 0 : slash + 1;
  const auto dot = plugin.find(".so", from);
  return plugin.substr(0, dot == std::string::npos ? plugin.size() : dot) + ".yaml";
}

std::vector<Offered> ask(const Capability& capability, Worker& worker) {
  const std::string target = "plugin:" + capability.plugin;
  PluginInfo info;
  const Reply loaded = worker.load(target, &info);
  if (loaded.kind != Reply::Kind::ok)
    throw Error(std::string(capability.library) + ": " + to_string(loaded.kind) + ": " + loaded.message);
  std::vector<Offered> all;
  for (const OpOffer& op : capability.ops)
    for (const ContractOffer& c : op.contracts) {
      all.push_back({op.op, c.contract, true, ""});
      if (!c.ask) continue;
      if (!info.can_be_asked)
        throw Error(capability.path + ":" + std::to_string(op.line) + ": `ask: true` needs a plugin that can be asked",
                    "symbol assay_plugin_offers in " + capability.plugin, "none");
      const Reply reply = worker.offers(target, op.op, c.contract);
      if (reply.kind != Reply::Kind::ok && reply.kind != Reply::Kind::unsupported)
        throw Error(capability.library + ", asked for " + op.op + " under " + c.contract + ": " +
                    to_string(reply.kind) + ": " + reply.message);
      all.back().offered = reply.kind == Reply::Kind::ok;
      all.back().reason = reply.kind == Reply::Kind::ok ? "" : reply.message;
    }
  return all;
}

}  // namespace assay

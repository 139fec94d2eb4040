#include "conformance/engine/target_plugin.hpp"

#include <algorithm>
#include <filesystem>

#include "conformance/engine/capability/capability.hpp"
#include "conformance/engine/memory.hpp"

namespace assay {
namespace {

class PluginTarget : public Target {
 public:
  PluginTarget(std::string name, const std::string& file)
      : name_(std::move(name)),
        plugin_("plugin:" + std::filesystem::absolute(file).string()),
        capability_(read_capability(capability_path(file))) {
    std::erase_if(capability_.ops, [this](const OpOffer& offer) {
      const bool known =
          std::any_of(pages().begin(), pages().end(), [&](const Page& p) { return p.has_op && p.op.name == offer.op; });
      if (!known) unknown_.push_back("op " + offer.op + ": assay has no page for it, so it is not judged");
      return !known;
    });
    for (const OpOffer& op : capability_.ops) check_names(op);
    if (capability_.ops.empty())
      throw Error("capability file offers no op that assay knows", "an op of `assay list ops`", capability_.path);
    offered_ = ask(capability_, worker_);
  }

  std::string name() const override { return name_; }

  std::vector<Contract> contracts(const OpSpec& op) const override {
    std::vector<Contract> list;
    const OpOffer* offer = capability_.find(op.name);
    for (const Offered& o : offered_) {
      if (o.op != op.name || !o.offered) continue;
      Contract c = parse_contract(o.contract);
      if (!offer->order.empty()) c = parse_contract(o.contract + " order=" + offer->order);
      list.push_back(c);
    }
    return list;
  }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> lines = unknown_;
    for (const Offered& o : offered_) {
      if (!o.offered) lines.push_back(o.op + " under " + o.contract + ": not on this machine (" + o.reason + ")");
    }
    return lines;
  }

  std::vector<Waiver> waivers() const override { return capability_.waivers; }

  bool offers_output(const OpSpec& op, const std::string& output) const override {
    const OpOffer* offer = capability_.find(op.name);
    return offer != nullptr && offer->offers_output(output);
  }

  bool offers_option(const OpSpec& op, std::size_t option, int value) const override {
    const OpOffer* offer = capability_.find(op.name);
    if (offer == nullptr) return false;
    const OptionSpec& o = op.options[option];
    const double number = o.numeric() ? o.numbers[static_cast<std::size_t>(value)] : value;
    return offer->offers_option(o.name, o.numeric() ? spell_number(number) : o.names[static_cast<std::size_t>(value)],
                                number, value == 0);
  }

  bool sees_memory() const override { return true; }

  Answer run(const Call& call, const Layout& layout) override {
    const OpOffer* offer = capability_.find(call.op->name);
    if (offer == nullptr) return lacks("op " + call.op->name);
    for (const auto& [size, most] : offer->max_sizes) {
      if (call.size(size) > most) return lacks("size " + size + " above " + std::to_string(most));
    }
    for (std::size_t i = 0; i < call.options.size(); ++i) {
      const OptionSpec& o = call.op->options[i];
      const bool standard = o.numeric() ? call.options[i] == o.numbers[0] : call.options[i] == 0;
      if (!offer->offers_option(o.name, call.option_text(i), call.options[i], standard))
        return lacks("option " + o.name + "=" + call.option_text(i));
    }
    if (layout.strided && offer->strides == StrideClass::dense) return lacks("strided tensors");
    std::vector<std::string> outputs;
    for (const TensorSpec& spec : call.op->outputs) {
      if (offer->offers_output(spec.name) && exists(spec, *call.op, call.options)) outputs.push_back(spec.name);
    }
    if (outputs.empty()) return lacks("any output of " + call.op->name);
    Request request = make_request(plugin_, call, outputs, layout);
    request.alignment = offer->alignment;
    return read_reply(worker_.call(request), request, call);
  }

 private:
  static Answer lacks(const std::string& what) { return {Answer::Kind::unsupported, what, {}, {}, {}, {}}; }

  /// The names in a capability file are those of the page.
  static void check_names(const OpOffer& offer) {
    const OpSpec& op = page_of_op(offer.op).op;
    for (const std::string& output : offer.outputs) {
      if (std::none_of(op.outputs.begin(), op.outputs.end(), [&](const TensorSpec& t) { return t.name == output; })) {
        throw Error("capability file offers an output that op " + op.name + " does not have", "an output of its page",
                    output);
      }
    }
    for (const auto& [name, values] : offer.options) {
      if (std::none_of(op.options.begin(), op.options.end(),
                       [&, &key = name](const OptionSpec& o) { return o.name == key; })) {
        throw Error("capability file offers an option that op " + op.name + " does not have", "an option of its page",
                    name);
      }
    }
  }

  std::string name_, plugin_;
  Capability capability_;
  std::vector<Offered> offered_;
  std::vector<std::string> unknown_;
  Worker worker_;
};

}  // namespace

std::unique_ptr<Target> plugin_target(const std::string& name, const std::string& file) {
  return std::make_unique<PluginTarget>(name, file);
}

}  // namespace assay

#include "conformance/engine/target.hpp"

#include <sstream>

#include "conformance/engine/eval.hpp"
#include "conformance/engine/memory.hpp"
#include "conformance/engine/programs.hpp"
#include "conformance/engine/subject.hpp"
#include "conformance/engine/target_plugin.hpp"

namespace assay {
namespace {

/// The definition itself, in double.
class ReferenceTarget : public Target {
 public:
  std::string name() const override { return "reference"; }
  std::vector<Contract> contracts(const OpSpec& op) const override {
    if (!has_definition(op.name)) return {};
    return {parse_contract("fp64")};
  }
  bool offers_output(const OpSpec&, const std::string&) const override { return true; }
  bool offers_option(const OpSpec&, std::size_t, int) const override { return true; }
  bool sees_memory() const override { return false; }
  bool same_kernel() const override { return true; }
  Answer run(const Call& call, const Layout&) override {
    Answer a;
    try {
      for (const TensorSpec& spec : call.op->inputs) {
        if (!call.inputs.has(spec.name)) continue;
        const Format &expected = format_of(spec, call.contract), &found = *call.inputs.find(spec.name).format;
        if (expected.name != found.name)
          throw Error("tensor " + spec.name + " has the wrong dtype", std::string(expected.name),
                      std::string(found.name));
      }
      const auto outputs = evaluate<double>(call);
      for (const TensorSpec& spec : call.op->outputs) {
        const auto at = outputs.find(spec.name);
        if (at == outputs.end()) continue;
        a.outputs.set(spec.name, at->second, &format_of(spec, call.contract));
      }
    } catch (const Error& e) {
      a.kind = Answer::Kind::refused;
      a.message = e.what();
    }
    return a;
  }
};

/// What is compiled into the worker: a subject, or a subject with one planted bug or one mutation on.
class BuiltinTarget : public Target {
 public:
  /// `only_op` empty: every op that has a subject. `variant`: "" or the bug's name.
  BuiltinTarget(std::string name, std::string kind, std::string only_op, std::string variant,
                const std::string& contract)
      : name_(std::move(name)),
        kind_(std::move(kind)),
        only_op_(std::move(only_op)),
        variant_(std::move(variant)),
        contract_(parse_contract(contract)) {}

  std::string name() const override { return name_; }
  std::vector<Contract> contracts(const OpSpec& op) const override {
    if (subject_of(op.name) == nullptr || (!only_op_.empty() && op.name != only_op_)) return {};
    return {contract_};
  }
  bool offers_output(const OpSpec&, const std::string&) const override { return true; }
  bool offers_option(const OpSpec&, std::size_t, int) const override { return true; }
  bool sees_memory() const override { return true; }
  bool same_kernel() const override { return true; }
  Answer run(const Call& call, const Layout& layout) override {
    std::vector<std::string> outputs;
    for (const TensorSpec& spec : call.op->outputs) {
      if (exists(spec, *call.op, call.options)) outputs.push_back(spec.name);
    }
    const std::string builtin = kind_ + ":" + call.op->name + (variant_.empty() ? "" : "." + variant_);
    Request request = make_request(builtin, call, outputs, layout);
    if (kind_ == "mutant") request.deadline_s = 1;  // a mutant may never end
    const Reply reply = worker_.call(request);
    Answer answer = read_reply(reply, request, call);
    if (answer.kind == Answer::Kind::ok) answer.bugs_asked = bugs_on_pages(reply.note, call.op->name);
    return answer;
  }

 private:
  /// The words of `asked`. Throws Error if one is a bug of no page with this op: it could never be on.
  static std::vector<std::string> bugs_on_pages(const std::string& asked, const std::string& op) {
    std::vector<std::string> bugs;
    std::istringstream words(asked);
    for (std::string word; words >> word; bugs.push_back(word)) {
      bool found = false;
      std::string known;
      for (const Page& p : pages()) {
        if ((p.has_op ? p.op.name : p.uses) != op) continue;
        for (const BugSpec& b : p.bugs) {
          found = found || b.name == word;
          known += (known.empty() ? "" : ", ") + b.name;
        }
      }
      if (!found) throw Error("the subject of " + op + " asks for a bug that is not on the op's page", known, word);
    }
    return bugs;
  }
  std::string name_, kind_, only_op_, variant_;
  Contract contract_;
  Worker worker_;
};

/// "softmax.finite_mask@fp32" -> op, bug, contract.
std::unique_ptr<Target> planted(const std::string& name, const std::string& rest, const std::string& kind) {
  const auto at = rest.find('@');
  const std::string what = rest.substr(0, at);
  const std::string contract = at == std::string::npos ? "fp32" : rest.substr(at + 1);
  if (kind == "planted")
    for (const Page& p : pages())
      for (const BugSpec& b : p.bugs)
        if (runs_programs(p) && p.id + "." + b.name == what) return planted_programs(p, b);
  const auto dot = what.find('.');
  if (dot == std::string::npos) throw Error("cannot read target", kind + ":OP.NAME[@CONTRACT]", name);
  const std::string op = what.substr(0, dot), bug = what.substr(dot + 1);
  if (subject_of(op) == nullptr) throw Error("no subject is registered for this op", "an op with a subject", op);
  if (kind == "planted") {
    std::string known;
    for (const Page& p : pages()) {
      if ((p.has_op ? p.op.name : p.uses) != op) continue;
      for (const BugSpec& b : p.bugs) {
        if (b.name == bug) return std::make_unique<BuiltinTarget>(name, kind, op, bug, contract);
        known += (known.empty() ? "" : ", ") + b.name;
      }
    }
    throw Error("no such planted bug of " + op, known, bug);
  }
  return std::make_unique<BuiltinTarget>(name, kind, op, bug, contract);
}

struct Registered {
  std::string kind, form;
  RegisterTarget::Make make;
};
std::vector<Registered>& registered() {
  static std::vector<Registered> kinds;
  return kinds;
}

}  // namespace

RegisterTarget::RegisterTarget(const char* kind, const char* form, Make make) {
  registered().push_back({kind, form, make});
}

std::unique_ptr<Target> make_target(const std::string& name) {
  const auto colon = name.find(':');
  const std::string kind = name.substr(0, colon), rest = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (name == "reference") return std::make_unique<ReferenceTarget>();
  if (kind == "subject" && !rest.empty()) return std::make_unique<BuiltinTarget>(name, "subject", "", "", rest);
  if ((kind == "planted" || kind == "mutant") && !rest.empty()) return planted(name, rest, kind);
  if (kind == "plugin" && !rest.empty()) return plugin_target(name, rest);
  std::string others;
  for (const Registered& r : registered()) {
    if (r.kind == kind && (!rest.empty() || r.form == name)) return r.make(name);
    others += ", " + r.form;
  }
  throw Error("no such target",
              "reference, subject:CONTRACT, planted:OP.BUG[@CONTRACT], plugin:FILE.so" + others + " or files:DIR",
              name);
}

}  // namespace assay

#include "distributed/target/ranks.hpp"

#include "distributed/communicator/ranks.hpp"
#include "distributed/communicator/watched.hpp"

namespace assay {
namespace {

std::vector<RanksOp>& ops() {
  static std::vector<RanksOp> list;
  return list;
}
const RanksOp* find(const std::string& op) {
  for (const RanksOp& one : ops())
    if (op == one.op) return &one;
  return nullptr;
}

/// The option of a call that has a value this op does not offer; "" if there is none. Where every listed number is
/// offered, so is any other.
std::string not_offered(const RanksOp& op, const Call& call) {
  for (std::size_t i = 0; i < call.options.size(); ++i) {
    const OptionSpec& o = call.op->options[i];
    bool all = true, this_one = false;
    for (int value = 0; value < o.count(); ++value) {
      const bool offered = op.offers(*call.op, i, value);
      all = all && offered;
      const double spelled = o.numeric() ? o.numbers[static_cast<std::size_t>(value)] : value;
      this_one = this_one || (offered && spelled == call.options[i]);
    }
    if (!all && !this_one) return "option " + o.name + "=" + call.option_text(i);
  }
  return "";
}

/// The ranks are threads of this process, as many as a call asks for.
class Threads : public Target {
 public:
  std::string name() const override { return "ranks:threads"; }
  std::vector<Contract> contracts(const OpSpec& op) const override {
    std::vector<Contract> all;
    if (const RanksOp* const one = find(op.name))
      for (const char* contract : one->contracts) all.push_back(parse_contract(contract));
    return all;
  }
  bool offers_output(const OpSpec&, const std::string&) const override { return true; }
  bool offers_option(const OpSpec& op, std::size_t option, int value) const override {
    const RanksOp* const one = find(op.name);
    return one != nullptr && one->offers(op, option, value);
  }
  bool sees_memory() const override { return false; }
  bool same_kernel() const override { return true; }
  bool is_group() const override { return true; }
  Answer run(const Call& call, const Layout& layout) override {
    Answer answer;
    const RanksOp* const one = find(call.op->name);
    if (one == nullptr) return {Answer::Kind::unsupported, "op " + call.op->name, {}, {}, {}, {}};
    const std::string option = not_offered(*one, call);
    if (!option.empty()) return {Answer::Kind::unsupported, option, {}, {}, {}, {}};
    const Group group = [&layout](int n, const std::function<void(Communicator&)>& body) {
      std::vector<std::int64_t> sent(static_cast<std::size_t>(n));
      run_ranks(n, [&](Communicator& of) {
        WatchedTransport watched(of.transport(), layout.delays);
        Communicator ranks(watched);
        body(ranks);
        sent[static_cast<std::size_t>(ranks.rank())] = watched.sent();
      });
      return sent;
    };
    try {
      require_inputs(call);
      one->run(call, group, answer);
    } catch (const Error& e) {
      answer.kind = Answer::Kind::refused;
      answer.message = e.what();
    }
    return answer;
  }
};

std::unique_ptr<Target> make(const std::string& name) {
  if (name != "ranks:threads") throw Error("no such group of ranks", "ranks:threads", name);
  return std::make_unique<Threads>();
}

const RegisterTarget kind("ranks", "ranks:threads", &make);

}  // namespace

RegisterRanksOp::RegisterRanksOp(const RanksOp& op) { ops().push_back(op); }

void require_inputs(const Call& call) {
  for (const TensorSpec& spec : call.op->inputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    const Format &expected = format_of(spec, call.contract), &found = *call.inputs.find(spec.name).format;
    if (expected.name != found.name)
      throw Error("tensor " + spec.name + " has the wrong dtype", std::string(expected.name), std::string(found.name));
  }
}

}  // namespace assay

#include "distributed/target/ranks.hpp"

#include <map>

#include "distributed/communicator/ranks.hpp"
#include "distributed/communicator/watched.hpp"

namespace assay {
namespace {

std::vector<RanksOp>& ops() {
  static std::vector<RanksOp> list;
  return list;
}
std::map<std::string, std::unique_ptr<Target> (*)()>& groups() {
  static std::map<std::string, std::unique_ptr<Target> (*)()> all;
  return all;
}

/// Throws Error if an input that there must be is missing, or has another format than the contract says.
void require_inputs(const Call& call) {
  for (const TensorSpec& spec : call.op->inputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    const Format &expected = format_of(spec, call.contract), &found = *call.inputs.find(spec.name).format;
    if (expected.name != found.name)
      throw Error("tensor " + spec.name + " has the wrong dtype", std::string(expected.name), std::string(found.name));
  }
}

/// The ranks are threads of this process, as many as a call asks for.
class Threads : public GroupTarget {
 public:
  std::string name() const override { return "ranks:threads"; }

 protected:
  void ask(const RanksOp& op, const Call& call, const Layout& layout, Answer& answer) override {
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
    op.run(call, group, answer);
  }
};

std::unique_ptr<Target> make(const std::string& name) {
  std::string names;
  for (const auto& [known, make_it] : groups()) {
    if (known == name) return make_it();
    names += (names.empty() ? "" : ", ") + known;
  }
  throw Error("no such group of ranks", names, name);
}

const RegisterTarget kind("ranks", "ranks:threads", &make);
const RegisterGroup threads("ranks:threads", [] { return std::unique_ptr<Target>(new Threads); });

}  // namespace

RegisterRanksOp::RegisterRanksOp(const RanksOp& op) { ops().push_back(op); }
RegisterGroup::RegisterGroup(const char* name, std::unique_ptr<Target> (*make)()) { groups()[name] = make; }

const RanksOp* ranks_op(const std::string& op) {
  for (const RanksOp& one : ops())
    if (op == one.op) return &one;
  return nullptr;
}

LibraryAllReduce& library_all_reduce() {
  static LibraryAllReduce call;
  return call;
}

std::vector<Contract> GroupTarget::contracts(const OpSpec& op) const {
  std::vector<Contract> all;
  if (const RanksOp* const one = ranks_op(op.name))
    for (const char* contract : one->contracts) all.push_back(parse_contract(contract));
  return all;
}

bool GroupTarget::offers_option(const OpSpec& op, std::size_t option, int value) const {
  const OptionSpec& o = op.options[option];
  const RanksOp* const one = ranks_op(op.name);
  if (!o.numeric() && o.names[static_cast<std::size_t>(value)] == "library" && !has_library()) return false;
  return one != nullptr && one->offers(op, option, value);
}

/// The option of a call that has a value this op does not offer; "" if there is none. Where every listed number is
/// offered, so is any other.
std::string GroupTarget::not_offered(const Call& call) const {
  for (std::size_t i = 0; i < call.options.size(); ++i) {
    const OptionSpec& o = call.op->options[i];
    bool all = true, this_one = false;
    for (int value = 0; value < o.count(); ++value) {
      const bool offered = offers_option(*call.op, i, value);
      all = all && offered;
      const double spelled = o.numeric() ? o.numbers[static_cast<std::size_t>(value)] : value;
      this_one = this_one || (offered && spelled == call.options[i]);
    }
    if (!all && !this_one) return "option " + o.name + "=" + call.option_text(i);
  }
  return "";
}

Answer GroupTarget::run(const Call& call, const Layout& layout) {
  Answer answer;
  const RanksOp* const one = ranks_op(call.op->name);
  if (one == nullptr) return {Answer::Kind::unsupported, "op " + call.op->name, {}, {}, {}, {}};
  const std::string option = not_offered(call);
  if (!option.empty()) return {Answer::Kind::unsupported, option, {}, {}, {}, {}};
  try {
    require_inputs(call);
    ask(*one, call, layout, answer);
  } catch (const Unsupported& e) {
    return {Answer::Kind::unsupported, e.what, {}, {}, {}, {}};
  } catch (const Error& e) {
    answer.kind = Answer::Kind::refused;
    answer.message = e.what();
  }
  return answer;
}

}  // namespace assay

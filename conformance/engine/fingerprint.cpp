#include "conformance/engine/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "conformance/engine/decisions.hpp"
#include "conformance/engine/subject.hpp"
#include "reference/core/verdict.hpp"

namespace assay {
namespace {

/// Whether `o` is what an implementation that computes `b` could return, where the honest one is allowed to stray from
/// y by `allowed`: the allowance of two implementations, scaled with the value.
bool reproduces(double o, double b, const Bound& y, double allowed, const Format& out) {
  if (std::isnan(o) || std::isnan(b)) return std::isnan(o) && std::isnan(b);
  if (std::isinf(o) || std::isinf(b)) return o == b;
  const double scale = y.v != 0 ? std::max(1.0, std::fabs(b / y.v)) : 1.0;
  return std::fabs(o - b) <= 2 * (allowed * scale + ulp(out, std::max(std::fabs(o), std::fabs(b))));
}

/// Whether all outputs of a call are reproduced by `other`, which is itself not what the definition allows.
bool same_outputs(const Observed& seen, const Tensors& other, double z) {
  const auto y = evaluate_under<Bound>(seen.call, decisions_among(*seen.call.op, seen.outputs)).outputs;
  bool wrong = false;
  for (const Named& t : seen.outputs.all()) {
    if (!other.has(t.name) || other[t.name].shape() != t.value.shape()) return false;
    const auto at = y.find(t.name);
    for (Index i = 0, n = t.value.size(); i < n; ++i) {
      const Bound& bound = at->second.at_flat(i);
      const double b = other[t.name].at_flat(i);
      if (!reproduces(t.value.at_flat(i), b, bound, bound.allowed(), *t.format)) return false;
      wrong = wrong || !judge(bound, b, *t.format, seen.call.contract.out_round, z).accepted;
    }
  }
  return wrong;
}

/// Whether all outputs are within the bound of the definition as `call` has it, and not as it was declared.
bool accepted_as(const Observed& seen, const Call& call, double z) {
  const Reading r{&call.contract, false, z};
  const Tensors decisions = decisions_among(*call.op, seen.outputs);
  const auto declared = evaluate_under<Bound>(seen.call, decisions).outputs;
  const ReadingScope scope(r);
  const auto with = evaluate_under<Bound>(call, decisions);
  if (inadmissible(with, decisions)) return false;
  const auto& y = with.outputs;
  bool differs = false;
  for (const Named& t : seen.outputs.all()) {
    const auto at = y.find(t.name);
    if (at == y.end() || at->second.shape() != t.value.shape()) return false;
    for (Index i = 0, n = t.value.size(); i < n; ++i) {
      const double o = t.value.at_flat(i);
      if (!judge(at->second.at_flat(i), o, *t.format, call.contract.out_round, z).accepted) return false;
      const Bound& asked = declared.at(t.name).at_flat(i);
      differs = differs || !judge(asked, o, *t.format, call.contract.out_round, z).accepted;
    }
  }
  return differs;
}

/// What an implementation may store or form otherwise than its contract says; what allows least comes first.
constexpr std::pair<const char*, const char*> kUndeclared[] = {
    {"p=fp32", "p is not rounded"},
    {"p=bf16", "p is stored in bf16"},
    {"p=fp16", "p is stored in fp16"},
    {"s=bf16", "scores are stored in bf16"},
    {"s=fp16", "scores are stored in fp16"},
    {"l=rounded", "the row sum is of rounded p"},
    {"l=unrounded", "the row sum is of unrounded p"},
    {"exponent=fma", "exponents are formed from rounded products"},
    {"exponent=difference", "exponents are formed from a difference"},
    {"p_scale=normalised", "p is divided by its row sum before it is stored"},
    {"p_scale=unnormalised", "p is stored before it is divided"},
    {"tanh=4096", "tanh errs by 2^-11, as tanh.approx does"}};

/// The contract with that field; nothing where it is the same, or says nothing together with the others.
std::optional<Contract> with_field(const Contract& c, const std::string& field) {
  try {
    Contract other = parse_contract(c.spell() + " " + field);
    if (other.spell() == c.spell()) return std::nullopt;
    return other;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Whether the definition accepts the call: a claim may ask for what should be refused.
bool defined(const Call& call) {
  try {
    evaluate<double>(call);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string fingerprint(const std::vector<Observed>& all, double z) {
  std::vector<Observed> failing;
  for (const Observed& seen : all)
    if (defined(seen.call)) failing.push_back(seen);
  if (failing.empty()) return "";
  const OpSpec& op = *failing[0].call.op;
  const Page& page = page_of_op(op.name);
  const Reading r{&failing[0].call.contract, false, z};
  const ReadingScope scope(r);
  std::string best;
  std::size_t best_count = failing.size() / 2;  // most of them
  const auto offer = [&](std::size_t count, const std::string& text) {
    if (count <= best_count) return;
    best_count = count;
    best = fmt::format("{} on {} of {} failing calls", text, count, failing.size());
  };

  for (std::size_t o = 0; o < op.options.size(); ++o) {
    for (int v = 0; v < op.options[o].count(); ++v) {
      const double value = op.options[o].numeric() ? op.options[o].numbers[static_cast<std::size_t>(v)] : v;
      std::size_t count = 0;
      for (const Observed& seen : failing) {
        std::vector<double> options = seen.call.options;
        if (options[o] == value) continue;
        options[o] = value;
        bool possible = true;  // the same inputs must exist under the other value
        for (const TensorSpec& t : op.inputs)
          possible = possible && exists(t, op, options) == seen.call.inputs.has(t.name);
        Call call = seen.call;
        call.options = options;
        try {
          count += possible && accepted_as(seen, call, z);
        } catch (const Error&) {  // the definition refuses these inputs under the other value
        }
      }
      offer(count, fmt::format("option {}={} (declare it, or it is that bug)", op.options[o].name,
                               op.options[o].numeric() ? fmt::format("{}", value)
                                                       : op.options[o].names[static_cast<std::size_t>(v)]));
    }
  }
  for (const auto& [field, says] : kUndeclared) {
    const std::optional<Contract> other = with_field(failing[0].call.contract, field);
    if (!other) continue;
    std::size_t count = 0;
    for (const Observed& seen : failing) {
      Call call = seen.call;
      call.contract = *other;
      count += accepted_as(seen, call, z);
    }
    offer(count, fmt::format("contract field {}: {} (declare it, or it is that bug)", field, says));
  }
  if (subject_of(op.name) == nullptr) return best;
  for (const BugSpec& bug : page.bugs) {
    const auto planted = make_target("planted:" + op.name + "." + bug.name + "@" + failing[0].call.contract.spell());
    std::size_t count = 0;
    for (const Observed& seen : failing) {
      const Answer answer = planted->run(seen.call, {});
      count += answer.kind == Answer::Kind::ok && same_outputs(seen, answer.outputs, z);
    }
    std::string text = fmt::format("planted bug {} ({})", bug.name, bug.says);
    for (std::size_t i = 0; i < bug.seen.size() && i < 2; ++i) text += (i == 0 ? ", seen in " : ", ") + bug.seen[i];
    offer(count, text);
  }
  return best;
}

}  // namespace assay

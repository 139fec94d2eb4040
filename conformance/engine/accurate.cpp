#include <algorithm>
#include <cmath>

#include "conformance/engine/claim.hpp"
#include "conformance/engine/decisions.hpp"
#include "conformance/engine/failure_text.hpp"
#include "reference/core/verdict.hpp"

// The judge of a target's outputs: its decisions first, then the rest under them.
namespace assay {

Evaluation<Bound> Check::under_decisions(const Call& call, const Tensors& outputs) {
  const Tensors decisions = decisions_among(*call.op, outputs);
  Evaluation<Bound> y = evaluate_under<Bound>(call, decisions);
  for (const Named& t : decisions.all()) compared_ += std::max<Index>(1, t.value.size());
  if (const auto wrong = inadmissible(y, decisions))
    fail({wrong->expected.empty() ? "a choice that the scores do not allow: " + wrong->why : wrong->why,
          fmt::format("output {}, row {}", wrong->output, wrong->row), wrong->expected, wrong->found, ""});
  const std::string open = undecided(y, decisions);
  if (!open.empty())
    throw NotOffered{"output " + open + ", without which the rest cannot be judged where scores are as good as equal"};
  return y;
}

void Check::accurate(const Call& call, const Tensors& outputs) {
  if (outputs.all().empty()) fail({"the target returned no output", "", "", "", ""});
  const Reading r{&call.contract, false, z_};
  const ReadingScope scope(r);
  const Evaluation<Bound> y = under_decisions(call, outputs);
  for (const Named& o : outputs.all()) within(call, y, o);
}

void Check::accurate(const Call& call, const Tensors& outputs, const std::string& output) {
  const Reading r{&call.contract, false, z_};
  const ReadingScope scope(r);
  within(call, under_decisions(call, outputs), outputs.find(output));
}

void Check::within(const Call& call, const Evaluation<Bound>& defined, const Named& o) {
  const std::string& output = o.name;
  const auto at = defined.outputs.find(output);
  if (at == defined.outputs.end())
    throw Error("the definition has no such output", "an output of " + call.op->name, output);
  if (defined.scores.count(output) > 0) return;  // a decision: judged
  const Tensor<Bound>& y = at->second;
  if (o.value.shape() != y.shape())
    fail({"wrong shape", "output " + output, to_string(y.shape()), to_string(o.value.shape()), ""});
  for (Index i = 0, n = y.size(); i < n; ++i) {
    const Verdict v = judge(y.at_flat(i), o.value.at_flat(i), *o.format, call.contract.out_round, z_);
    ++compared_;
    const double expected = y.at_flat(i).v;
    if (std::isfinite(expected)) {
      lowest_ = std::min(lowest_, expected);
      highest_ = std::max(highest_, expected);
    }
    if (v.accepted) {
      largest_z_ = std::max(largest_z_, v.z);
      continue;
    }
    if (!call.op->validated && v.distance <= y.at_flat(i).w) {
      ++suspects_;
      continue;
    }
    fail({"not within the bound of the definition", fmt::format("output {} at {}", output, index_text(y.shape(), i)),
          number(y.at_flat(i).v), number(o.value.at_flat(i)),
          fmt::format("{:.3g} from the values that round to it, found {:.3g} ({:.3g} times)", v.allowed, v.distance,
                      v.distance / v.allowed)});
  }
  if (y.size() == 0) {
    ++compared_;
    return;
  }
  if (!call.op->validated) return;
  // What is too small for one element may show in all of them: along the output itself, and in the mean square.
  const Tensor<Bound> bounds = y.clone();
  const Tensor<double> observed = o.value.clone();
  const Aggregate a = judge_aggregate(bounds.data(), observed.data(), y.size(), *o.format, call.contract.out_round, z_);
  if (a.accepted) return;
  const bool gain = !(std::fabs(a.gain) <= a.gain_allowed);
  fail({gain ? "the output as a whole is too large or too small: a systematic error below what one element shows"
             : "the errors as a whole are larger than independent roundings explain",
        "output " + output, "", fmt::format("{:.4g}", gain ? a.gain : a.spread),
        fmt::format("{:.4g}", gain ? a.gain_allowed : a.spread_allowed)});
}

}  // namespace assay

// Claims of spec/attention/sink_logit.md on targets.
#include "conformance/attention/heads.hpp"

namespace assay {
namespace {

Check& sunk(Check& check) { return something(check).with("sink", "given"); }

Call with_sinks(const Call& call, double logit) {
  Call other = call;
  other.set("sink", Tensor<double>(call["sink"].shape(), logit));
  return other;
}

}  // namespace

CLAIM(attention.sink_logit.accuracy) {
  const Call call = check.with("sink", "given").call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.sink_logit.empty_row) {
  for (const char* convention : {"excluded", "included"})
    empty_rows(check.with("sink", "given").with("lse_of_sink", convention));
}

CLAIM(attention.sink_logit.masked_poison) {
  masked_poison(check.with("sink", "given"));
  unseen_has_no_influence(check);
}

CLAIM(attention.sink_logit.minus_inf) {
  const Call call = sunk(check).call();
  if (!call.contract.in->has_infinity()) return check.nothing_to_compare();
  const Call none = check.with("sink", "none").call();
  const Tensors y = check.run(with_sinks(call, -infinity)), z = check.run(none);
  for (const Named& t : y.all()) check.same_bits(t.name + " with a sink of -inf", t.value, z[t.name]);
}

CLAIM(attention.sink_logit.nan_row) {
  nan_rows(check.with("sink", "given"));
  nan_values(check);
}

CLAIM(attention.sink_logit.plus_inf) {
  const Call call = sunk(check).call();
  if (!call.contract.in->has_infinity()) return check.nothing_to_compare();
  const Tensors y = check.run(with_sinks(call, infinity));
  for (Index i = 0, n = y["o"].size(); i < n; ++i)
    check.require(y["o"].at_flat(i) == 0, "O with a sink of +inf is 0", y["o"].at_flat(i));
}

}  // namespace assay

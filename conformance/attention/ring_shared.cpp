#include "conformance/attention/ring.hpp"

#include <cmath>

#include "reference/core/lift.hpp"

namespace assay {

Check& some_tokens(Check& check) {
  for (const char* size : {"B", "c"})
    if (check.c[size] == 0) check.with(size, 1);
  return check;
}

Call unsharded(const Call& call) {
  Call full;
  full.op = &page_of_op("attention").op;
  full.contract = call.contract;
  full.options = unsharded(AttentionRingOptions::from(call.options)).values();
  for (const char* name : {"q", "k", "v", "mask", "sink"})
    if (call.inputs.has(name)) full.inputs.set(name, call[name], call.inputs.find(name).format);
  return full;
}

std::vector<Index> ring_seen(const Call& call, Index b, Index i) {
  const Index S = call.size("S");
  const Mask keep = ring_visible(S, AttentionRingOptions::from(call.options));
  std::vector<Index> seen;
  for (Index j = 0; j < S; ++j) {
    if (keep.data() != nullptr && !keep(i, j)) continue;
    if (call.inputs.has("mask") && call["mask"].at_flat((b * S + i) * S + j) == 0) continue;
    seen.push_back(j);
  }
  return seen;
}

RingCase ring_case(const Call& call) {
  const Eval<Bound> e(call);
  const auto first = [](const Tensor<Bound>& x) { return at_lead(swap_dims(x, 1, 2), {0, 0}); };
  RingCase c{{first(e.tensor("q")), first(e.tensor("k")), first(e.tensor("v")), {}},
             {},
             e.options<AttentionRingOptions>(),
             {}};
  const Index S = c.head.q.rows();
  c.head.keep = ring_visible(S, c.opt);
  if (call.inputs.has("mask")) c.head.keep = both(at_lead(e.mask_tensor("mask"), {0}), c.head.keep);
  if (call.inputs.has("sink")) c.sink = Vector<Bound>(S, e.vector("sink")[0]);
  c.tokens = shards(c.opt.schedule, S, static_cast<Index>(c.opt.ranks));
  return c;
}

Attention<Bound> RingCase::full() const {
  return attention(head.q, head.k, head.v, head.keep, Matrix<Bound>(), sink, unsharded(opt));
}

void agree_within_bounds(Check& check, const std::string& what, const Call& x, const Tensors& of_x, const Call& y,
                         const Tensors& of_y) {
  const ReadingScope scope(Reading{&x.contract, false, 8});
  const auto in_x = check.define<Bound>(x), in_y = check.define<Bound>(y);
  for (const Named& t : of_x.all()) {
    const Tensor<Bound>&a = in_x.at(t.name), &b = in_y.at(t.name);
    for (Index i = 0; i < t.value.size(); ++i) {
      const double p = t.value.at_flat(i), q = of_y[t.name].at_flat(i);
      if (p == q) {
        check.require(true, "equal");
        continue;
      }
      check.at_most(what + ", output " + t.name, std::fabs(p - q),
                    a.at_flat(i).w + b.at_flat(i).w + ulp(*t.format, p) + ulp(*t.format, q));
    }
    if (t.value.size() == 0) check.require(true, "nothing to compare");
  }
}

}  // namespace assay

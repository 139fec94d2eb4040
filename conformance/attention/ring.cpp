#include "conformance/attention/ring.hpp"

#include <algorithm>
#include <array>

#include "conformance/attention/head.hpp"
#include "conformance/engine/adjoint.hpp"

// Claims of spec/attention/ring.md.
namespace assay {
namespace {

template <class T>
void attention_ring_op(Eval<T>& e) {
  const auto opt = e.template options<AttentionRingOptions>();
  const AttentionRingOutputs<T> y = attention_ring<T>(
      {e.tensor("q"), e.tensor("k"), e.tensor("v"), e.mask_tensor("mask"),
       e.has("sink") ? e.vector("sink") : Vector<T>(), e.has("grad_o") ? e.tensor("grad_o") : Tensor<T>()},
      opt);
  e.out("o", y.o);
  e.out("lse", y.lse);
  if (!e.has("grad_o")) return;
  e.out("grad_q", y.grad_q);
  e.out("grad_k", y.grad_k);
  e.out("grad_v", y.grad_v);
}

/// L and row i of the output of a head.
double lse_of(const Tensors& y, Index b, Index h, Index i) {
  const Shape& n = y["lse"].shape();
  return y["lse"].at_flat((b * n[1] + h) * n[2] + i);
}
double o_of(const Tensors& y, Index b, Index h, Index i, Index c) {
  const Shape& n = y["o"].shape();
  return y["o"].at_flat(((b * n[1] + i) * n[2] + h) * n[3] + c);
}

bool contains(const std::vector<Index>& x, Index i) { return std::find(x.begin(), x.end(), i) != x.end(); }

/// Row (entry, token, head) of an output has the same bits in both answers.
void same_row(Check& check, const char* what, const char* output, const Tensors& y, const Tensors& expected,
              const std::array<Index, 3>& row) {
  const Shape& n = expected[output].shape();
  const Index first = ((row[0] * n[1] + row[1]) * n[2] + row[2]) * n[3];
  for (Index c = first; c < first + n[3]; ++c) check.same_bits(what, y[output].at_flat(c), expected[output].at_flat(c));
}

/// Every row of every head.
template <class Body>
void rows(const Call& call, Body body) {
  for (Index b = 0; b < call.size("B"); ++b)
    for (Index i = 0; i < call.size("S"); ++i)
      for (Index h = 0; h < call.size("H"); ++h) body(b, h, i);
}

/// The answer to every output has the same bits.
void same_answer(Check& check, const std::string& what, const Tensors& y, const Tensors& expected) {
  for (const Named& t : expected.all()) check.same_bits("output " + t.name + ", " + what, y[t.name], t.value);
}

}  // namespace

DEFINITION(attention.ring, attention_ring, attention_ring_op)

CLAIM(attention.ring.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.ring.adjoint) {
  some_tokens(check).with("B", 1).with("Hkv", 1).with("g", 1).with("gradient", "none");
  const Call call = check.call();
  const RingCase c = ring_case(call);
  const Attention<Bound> y = c.full();
  const Matrix<Bound> d_o = cotangent(y.o.rows(), y.o.cols());
  const Vector<Bound> lse = c.sink.data() == nullptr ? y.lse : lse_with_sink(y.lse, c.sink);
  const RingGradient<Bound> back =
      ring_backward(c.head, d_o, lse, dot_rows(d_o, y.o), c.tokens, static_cast<Index>(c.opt.start));
  head_adjoint(check, call, d_o, {{"q", back.dq}, {"k", back.dk}, {"v", back.dv}});
}

CLAIM(attention.ring.bwd_equals_full) {
  const Call call = some_tokens(check).with("gradient", "given").call();
  const Tensors y = check.run(call);
  for (const char* output : {"grad_q", "grad_k", "grad_v"}) check.accurate(call, y, output);
}

CLAIM(attention.ring.comm) {
  some_tokens(check).with("start", "0").with("gradient", "none");
  const Call forward = check.call(), both_ways = check.with("gradient", "given").call();
  const auto R = static_cast<Index>(forward.option("ranks"));
  const Index elements =
      forward.size("B") * (forward.size("S") / R) * forward.size("Hkv") * (forward.size("d") + forward.size("dv"));
  const Index hop = elements * forward.contract.in->bits / 8, grads = elements * forward.contract.acc->bits / 8;
  check.run(forward);
  for (const std::int64_t sent : check.sent())
    check.require(sent == (R - 1) * hop, "bytes that a rank sends forward", static_cast<double>(sent));
  check.run(both_ways);
  const Index expected = 2 * (R - 1) * hop + (R > 1 ? R * grads : 0);
  for (const std::int64_t sent : check.sent())
    check.require(sent == expected, "bytes that a rank sends forward and backward", static_cast<double>(sent));
}

CLAIM(attention.ring.empty_row) {
  const Call call = some_tokens(check).with("mask", "given").with("mask_is", "empty_rows").call();
  const Tensors y = check.run(call);
  rows(call, [&](Index b, Index h, Index i) {
    if (!ring_seen(call, b, i).empty()) return;
    check.same_bits("L of a row that sees no key", lse_of(y, b, h, i), -infinity);
    for (Index c = 0; c < call.size("dv"); ++c)
      check.require(o_of(y, b, h, i, c) == 0, "O of a row that sees no key is 0", o_of(y, b, h, i, c));
  });
}

CLAIM(attention.ring.equals_full) {
  const Call call = some_tokens(check).with("gradient", "none").call();
  check.accurate(call, check.run(call));
  // The algorithm itself, step by step in Bound: a head, without the sink, which joins later.
  const RingCase c = ring_case(check.with("sink", "none").call());
  const Attention<Bound> steps = ring_forward(c.head, c.tokens, static_cast<Index>(c.opt.start)), all = c.full();
  check.agree("O, step by step and at once", steps.o, all.o);
  check.agree("L, step by step and at once", steps.lse, all.lse);
}

CLAIM(attention.ring.masked_poison) {
  const Call call = some_tokens(check).call();
  const Index b = check.pick("b", 0, call.size("B") - 1), S = call.size("S"), j = check.pick("key", 0, S - 1);
  const double poison = check.pick("poison", 0, 1) == 0 || !call.contract.in->has_infinity() ? not_a_number : infinity;
  Call poisoned = call;
  for (const char* name : {"k", "v"}) {
    const Tensor<double> x = call[name].clone();
    const Index row = x.size() / (call.size("B") * S);
    for (Index c = 0; c < row; ++c) x.data()[(b * S + j) * row + c] = poison;
    poisoned.set(name, x);
  }
  const Tensors y = check.run(poisoned), clean = check.run(call);
  // Rows of entry b that see the key, and keys that such a row sees: theirs are the gradients that it reaches.
  std::vector<Index> poisoned_rows, reached{j};
  for (Index i = 0; i < S; ++i) {
    const std::vector<Index> seen = ring_seen(call, b, i);
    if (!contains(seen, j)) continue;
    poisoned_rows.push_back(i);
    reached.insert(reached.end(), seen.begin(), seen.end());
  }
  check.nothing_to_compare();
  rows(call, [&](Index a, Index h, Index i) {
    if (a == b && contains(poisoned_rows, i)) return;
    check.same_bits("L of a row that does not see the key", lse_of(y, a, h, i), lse_of(clean, a, h, i));
    same_row(check, "O of a row that does not see the key", "o", y, clean, {a, i, h});
    if (!call.inputs.has("grad_o")) return;
    same_row(check, "dQ of a row that does not see the key", "grad_q", y, clean, {a, i, h});
    if (h >= call.size("Hkv") || (a == b && contains(reached, i))) return;
    same_row(check, "dK of a key that no such row sees", "grad_k", y, clean, {a, i, h});
    same_row(check, "dV of a key that no such row sees", "grad_v", y, clean, {a, i, h});
  });
}

CLAIM(attention.ring.overlap_safe) {
  const Call call = some_tokens(check).call();
  const Tensors y = check.run(call);
  for (const std::uint32_t seed : {1U, 2U}) {
    Layout late;
    late.delays = seed + static_cast<std::uint32_t>(check.pick("delays", 0, 1000));
    same_answer(check, "with messages delayed", check.run(call, late), y);
  }
}

CLAIM(attention.ring.r1) {
  const Call call = some_tokens(check).with("ranks", "1").with("sink", "none").with("gradient", "none").call();
  same_answer(check, "one rank and the local kernel", check.run(call), check.run(unsharded(call)));
}

CLAIM(attention.ring.skip_equals_mask) {
  const Call skipped = some_tokens(check).with("hidden", "skipped").call(),
             merged = check.with("hidden", "merged").call();
  same_answer(check, "hidden blocks skipped and merged", check.run(skipped), check.run(merged));
}

CLAIM(attention.ring.start_offset) {
  const Call here = some_tokens(check).with("start", "0").call();
  const Call there = check.with("start", check.pick("start", 1, 2)).call();
  const Tensors y = check.run(here), z = check.run(there);
  check.accurate(there, z);
  agree_within_bounds(check, "blocks visited in another order", there, z, here, y);
}

}  // namespace assay

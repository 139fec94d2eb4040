#include "reference/attention/split_kv.hpp"

#include "conformance/attention/chunks.hpp"
#include "conformance/attention/heads.hpp"

// Claims of spec/attention/split_kv.md.
namespace assay {
namespace {

/// Few queries over more keys than one tile has: what kernels split.
Check& decode(Check& check) {
  something(check);
  if (check.c["Sq"] > 4) check.with("Sq", 1 + check.c["Sq"] % 4);
  if (check.c["Sk"] < 17) check.with("Sk", 17 + check.c["Sk"] % 16);
  return check;
}

/// The call with its last `keys` keys hidden from batch entry b.
Call hide_tail(const Call& call, Index keys, Index b) {
  Call hidden = call;
  const Tensor<double> mask = call["mask"].clone();
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  for (Index r = b * Sq; r < (b + 1) * Sq; ++r)
    for (Index j = Sk - keys; j < Sk; ++j) mask.data()[r * Sk + j] = 0;
  hidden.set("mask", mask);
  return hidden;
}

/// The call whose k, v and mask have their first `keys` keys alone.
Call first_keys(const Call& call, Index keys) {
  Call part = call;
  for (const char* name : {"k", "v", "mask"}) {
    const Tensor<double>& x = call[name];
    const std::size_t dim = std::string(name) == "mask" ? 2 : 1;
    Shape shape = x.shape();
    shape[dim] = keys;
    part.set(name, Tensor<double>(x.storage(), x.data(), shape, x.strides()).clone());
  }
  return part;
}

void same_rows(Check& check, const Tensors& y, const Tensors& expected, Index b) {
  same_but(check, y, expected, [b](Index a, Index, Index) { return a != b; });
}

Attention<Bound> merged(const std::vector<SoftmaxMean<Bound>>& states) {
  const SoftmaxMean<Bound> y = merge_parts(states, states.at(0).o.rows(), states.at(0).o.cols());
  return {y.o, y.lse};
}

}  // namespace

// ---- on: target

CLAIM(attention.split_kv.accuracy) {
  const Call call = decode(check).call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.split_kv.batch_variance) { alone_is_the_same(check, decode(check).call()); }

CLAIM(attention.split_kv.empty_row) { empty_rows(decode(check)); }

CLAIM(attention.split_kv.empty_split) {
  // More than 16 keys and eight more: those are hidden, or are not there.
  decode(check).with("Sk", 25 + check.c["Sk"] % 8).with("causal", "none").with("window", 0).with("bias", "none");
  const Call full = check.with("mask", "given").call();
  const Index shown = full.size("Sk") - 8;
  Call hidden = full;
  for (Index b = 0; b < full.size("B"); ++b) hidden = hide_tail(hidden, 8, b);
  const Call absent = first_keys(full, shown);
  const Tensors y = check.run(hidden), z = check.run(absent);
  check.accurate(hidden, y);
  if (!check.same_kernel()) return check.accurate(absent, z);
  same_but(check, y, z, [](Index, Index, Index) { return false; });
}

CLAIM(attention.split_kv.fixed_bitwise) {
  if (check.c["B"] < 2) check.with("B", 2);
  const Call call = decode(check).with("mask", "given").call();
  const Index b = check.pick("b", 0, call.size("B") - 1);
  Call other = call;  // the others have fewer keys, and other queries
  const Tensor<double> q = call["q"].clone();
  const Index width = q.size() / call.size("B");
  for (Index a = 0; a < call.size("B"); ++a) {
    if (a == b) continue;
    other = hide_tail(other, check.pick("hidden", 1, call.size("Sk")), a);
    for (Index i = a * width; i < (a + 1) * width; ++i) q.data()[i] = -q.data()[i];
  }
  other.set("q", q);
  same_rows(check, check.run(other), check.run(call), b);
}

CLAIM(attention.split_kv.fixed_plan_deterministic) {
  const Call longer = decode(check).with("Sk", 32).with("mask", "given").with("bias", "none").call();
  const Call call = first_keys(longer, check.pick("keys", 17, 24));
  const Tensors first = check.run(call);
  check.run(longer);
  const Tensors again = check.run(call);
  for (const Named& t : first.all()) check.same_bits(t.name + " after a longer call", again[t.name], t.value);
  check.accurate(call, again);
}

CLAIM(attention.split_kv.masked_poison) {
  masked_poison(decode(check));
  unseen_has_no_influence(check);
}

CLAIM(attention.split_kv.nan_row) {
  nan_rows(decode(check));
  nan_values(check);
}

// ---- on: definition

CLAIM(attention.split_kv.assoc) {
  const Head h = head_of(check);
  const SeenLogits<Bound> in = seen_logits(h);
  std::vector<SoftmaxMean<Bound>> left = split_states(in, random_chunks(check, "splits", in.x.cols()));
  while (left.size() > 1) {  // any two neighbours, until one is left
    const auto k = static_cast<std::size_t>(
        check.pick("pair of " + std::to_string(left.size()), 0, static_cast<std::int64_t>(left.size()) - 2));
    left[k] = softmax_merge(left[k], left[k + 1]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k) + 1);
  }
  agree(check, "a tree of merges", {left[0].o, left[0].lse}, h.run());
}

CLAIM(attention.split_kv.equals_unsplit) {
  const Head h = head_of(check);
  const SeenLogits<Bound> in = seen_logits(h);
  const Index n = in.x.cols();
  const Attention<Bound> y = h.run();
  agree(check, "random boundaries", attention_split(in, random_chunks(check, "splits", n)), y);
  agree(check, "a number of splits", attention_split(in, splits_by_count(n, check.pick("count", 1, 8))), y);
  agree(check, "more splits than keys", attention_split(in, splits_by_count(n, n + 3)), y);
  agree(check, "splits of a size", attention_split(in, splits_by_size(n, check.pick("size", 1, 9))), y);
}

CLAIM(attention.split_kv.n1) {
  // No call says how many splits there are: of the definition in double, one state keeps its bits through the merge.
  const SeenLogits<Bound> in = seen_logits(head_of(check));
  const SeenLogits<double> x{values(in.x), values(in.v)};
  const SoftmaxMean<double> whole = softmax_mean(x.x, x.v, Mask(), Vector<double>());
  const Attention<double> split = attention_split(x, splits_by_count(x.x.cols(), 1));
  check.same_bits("O of one split", split.o, whole.o);
  check.same_bits("L of one split", split.lse, whole.lse);
}

CLAIM(attention.split_kv.perm) {
  const SeenLogits<Bound> in = seen_logits(head_of(check));
  std::vector<SoftmaxMean<Bound>> states = split_states(in, random_chunks(check, "splits", in.x.cols()));
  const Attention<Bound> y = merged(states);
  for (std::size_t k = states.size(); k-- > 1;)
    std::swap(
        states[k],
        states[static_cast<std::size_t>(check.pick("swap " + std::to_string(k), 0, static_cast<std::int64_t>(k)))]);
  agree(check, "splits in another order", merged(states), y);
}

CLAIM(attention.split_kv.workspace) {
  const Head h = head_of(check);
  const SeenLogits<Bound> in = seen_logits(h);
  const Index n = check.pick("count", 1, 8), B = check.c["B"], H = check.c["Hkv"] * check.c["g"];
  Index numbers = 0;
  for (const SoftmaxMean<Bound>& state : split_states(in, splits_by_count(in.x.cols(), n)))
    numbers += state.lse.size() + state.o.rows() * state.o.cols();
  const Index bytes = B * H * numbers * parse_contract("fp32").acc->bits / 8;
  check.require(bytes == n * B * H * check.c["Sq"] * (check.c["dv"] + 1) * 4, "bytes of the workspace", bytes);
}

}  // namespace assay

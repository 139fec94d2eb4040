// Claims of spec/attention/window.md.
#include "reference/attention/window.hpp"
#include "conformance/attention/chunks.hpp"
#include "conformance/attention/heads.hpp"
#include "reference/softmax/merge.hpp"

namespace assay {
namespace {

/// A case with a window: the first of them is none.
Check& windowed(Check& check) {
  if (check.c["window"] == 0) check.with("window", check.pick("window", 1, 3));
  return check;
}

Index window_of(const Call& call) { return static_cast<Index>(call.option("window")); }

/// The tensor [B, Sk, Hkv, width] with rows from..to-1 of its second size, in the order of `order`.
Tensor<double> keys_of(const Tensor<double>& x, const std::vector<Index>& order) {
  Shape n = x.shape();
  const Index Sk = n[1], inner = n[2] * n[3], rows = static_cast<Index>(order.size());
  n[1] = rows;
  const Tensor<double> y(n);
  for (Index b = 0; b < n[0]; ++b)
    for (Index r = 0; r < rows; ++r)
      for (Index c = 0; c < inner; ++c)
        y.data()[(b * rows + r) * inner + c] = x.at_flat((b * Sk + order[static_cast<std::size_t>(r)]) * inner + c);
  return y;
}

}  // namespace

CLAIM(attention.window.accuracy) {
  const Call call = windowed(check).call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.window.count) {
  const Call call = windowed(check).with("causal", "bottom_right").call();
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  const Mask keep = visible(0, Sq, Sq, Sk, AttentionOptions::from(call.options));
  for (Index i = 0; i < Sq; ++i) {
    Index seen = 0;
    for (Index j = 0; j < Sk; ++j) seen += keep(i, j);
    check.require(seen == window_count(i + Sk - Sq, window_of(call)), "keys in the window", static_cast<double>(seen));
  }
  check.nothing_to_compare();
}

CLAIM(attention.window.decompose) {
  something(windowed(check)).with("causal", "bottom_right").with("mask", "none");
  const Head inside = head_of(check);
  Head rest = inside, all = inside;
  const Index Sq = inside.q.rows(), Sk = inside.k.rows();
  rest.keep = beyond_window(Sq, Sk, static_cast<Index>(inside.opt.window));
  all.opt.window = -1;
  all.keep = visible(0, Sq, Sq, Sk, all.opt);
  const Attention<Bound> x = inside.run(), y = rest.run();
  const SoftmaxMean<Bound> both = softmax_merge(SoftmaxMean<Bound>{x.lse, x.o}, SoftmaxMean<Bound>{y.lse, y.o});
  agree(check, "window and remainder merged", {both.o, both.lse}, all.run());
}

CLAIM(attention.window.empty_row) { empty_rows(windowed(check)); }

CLAIM(attention.window.evict) {
  something(windowed(check)).with("causal", "bottom_right");
  const Index W = window_of(check.call()), Sq = check.c["Sq"];
  if (check.c["Sk"] < Sq + W) check.with("Sk", Sq + W);
  const Call call = check.call();
  const Index Sk = call.size("Sk"), oldest = Sk - Sq - W + 1;  // of the first query's window
  const double poison = check.pick("poison", 0, 1) == 0 || !call.contract.in->has_infinity() ? not_a_number : infinity;
  Call poisoned = call;
  for (const char* name : {"k", "v"}) {
    const Tensor<double> x = call[name].clone();
    const Index inner = x.shape()[2] * x.shape()[3];
    for (Index i = 0, n = x.size(); i < n; ++i)
      if (i / inner % Sk < oldest) x.data()[i] = poison;
    poisoned.set(name, x);
  }
  same_but(check, check.run(poisoned), check.run(call), [](Index, Index, Index) { return false; });
}

CLAIM(attention.window.full) {
  Call call = something(check).with("window", 0).call();
  if (call.option("causal") == 2) call.set_option("causal", 0);
  Call wide = call;
  const Index longest = std::max(call.size("Sq"), call.size("Sk"));  // top-left queries may stand beyond the last key
  wide.set_option("window", static_cast<double>(longest + check.pick("more", 0, 2)));
  const Tensors y = check.run(wide), z = check.run(call);
  if (!check.same_kernel()) return check.accurate(call, y);
  for (const Named& t : y.all()) check.same_bits(t.name + " with a window of all keys", t.value, z[t.name]);
}

CLAIM(attention.window.masked_poison) {
  masked_poison(windowed(check));
  unseen_has_no_influence(check);
}

CLAIM(attention.window.nan_row) {
  nan_rows(windowed(check));
  nan_values(check);
}

CLAIM(attention.window.one) {
  something(check).with("mask", "none").with("sink", "none");
  if (check.c.name_of("causal") == "none") check.with("causal", "bottom_right");
  Call call = check.call();
  call.set_option("window", 1);
  const Index Sk = call.size("Sk"), off = call.option("causal") == 1 ? 0 : Sk - call.size("Sq");
  const Tensors y = check.run(call);
  for_each_row(call, [&](Index b, Index h, Index i, const std::vector<Index>&) {
    const Index t = i + off;
    for (Index c = 0; c < call.size("dv"); ++c)
      check.same_bits("O of a window of one key", row_at(y, b, h, i)[c],
                      t < 0 || t >= Sk ? 0 : round_to(*call.contract.out, value_at(call, b, h, t, c)));
  });
}

CLAIM(attention.window.reach) {
  // In Flow a value carries the tokens it depends on: after n layers exactly those of the last n (W - 1) + 1 positions.
  const Index S = check.pick("S", 1, 40), W = check.pick("W", 1, 6), n = check.pick("layers", 1, 4);
  AttentionOptions opt;
  opt.window = static_cast<double>(W);
  Matrix<Flow> x(S, 3);
  for (Index i = 0; i < S; ++i)
    for (Index c = 0; c < 3; ++c)
      x(i, c) = Flow(static_cast<double>((i * 3 + c * 5) % 7 - 3) / 4, std::uint64_t{1} << i);
  const Matrix<Flow> y = window_layers(x, n, opt);
  for (Index t = 0; t < S; ++t)
    for (Index j = 0; j < S; ++j)
      for (Index c = 0; c < 3; ++c)
        check.require(((y(t, c).tokens >> j) & 1) == (j <= t && j >= t - n * (W - 1)),
                      "what depends on a position is within n (W - 1) after it", static_cast<double>(j));
}

CLAIM(attention.window.ring_equals_linear) {
  something(windowed(check)).with("causal", "bottom_right").with("mask", "none").with("bias", "none").with("Sq", 1);
  const Call linear = check.call();
  const Index Sk = linear.size("Sk"), W = window_of(linear);
  std::vector<Index> held(static_cast<std::size_t>(std::min(Sk, W)));
  for (Index j = 0; j < Sk; ++j) held[static_cast<std::size_t>(ring_slot(j, W))] = j;
  Call ring = linear;
  ring.set("k", keys_of(linear["k"], held));
  ring.set("v", keys_of(linear["v"], held));
  check.accurate(linear, check.run(linear));
  check.accurate(linear, check.run(ring));
  // and the definitions: the ring as the page writes it
  const Head h = head_of(check.with("sink", "none"));
  agree(check, "a ring buffer and a linear cache", ring_attention(h.q, h.k, h.v, Sk - 1, h.opt), h.run());
}

CLAIM(attention.window.zero_refused) {
  Call call = check.call();
  call.set_option("window", 0);
  check.require(!check.refusal(call).empty(), "a window of 0 keys is refused");
}

}  // namespace assay

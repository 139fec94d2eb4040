#include "reference/attention/core.hpp"

#include <cmath>

#include "conformance/attention/head.hpp"
#include "conformance/attention/heads.hpp"

// Claims of spec/attention/core.md on targets.
namespace assay {
namespace {

template <class T>
void attention_op(Eval<T>& e) {
  const auto opt = e.template options<AttentionOptions>();
  const AttentionInputs<T> in{e.tensor("q"),
                              e.tensor("k"),
                              e.tensor("v"),
                              e.mask_tensor("mask"),
                              e.has("bias") ? e.tensor("bias") : Tensor<T>(),
                              e.has("sink") ? e.vector("sink") : Vector<T>()};
  const AttentionOutputs<T> y = attention(in, opt);
  e.out("o", y.o);
  e.out("lse", y.lse);
}

}  // namespace

DEFINITION(attention.core, attention, attention_op)

CLAIM(attention.core.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.core.all_neg_inf) {
  const Call plain = something(check).with("bias", "given").with("sink", "none").call();
  if (!plain.contract.in->has_infinity()) return check.nothing_to_compare();
  const Tensor<double> bias = plain["bias"].clone();
  const Index row = check.pick("row", 0, plain.size("Sq") - 1), Sq = plain.size("Sq"), Sk = plain.size("Sk");
  for (Index h = 0; h < plain.size("H"); ++h)
    for (Index j = 0; j < Sk; ++j) bias.data()[(h * Sq + row) * Sk + j] = -infinity;
  Call call = plain;
  call.set("bias", bias);
  const Tensors y = check.run(call);
  for_each_head(call, [&](Index b, Index h) {
    check.same_bits("L of a row whose visible logits are -inf", lse_at(y, b, h, row), -infinity);
    check.same_bits("O of a row whose visible logits are -inf", row_at(y, b, h, row),
                    Vector<double>(call.size("dv"), 0.0));
  });
}

CLAIM(attention.core.batch_independence) { alone_is_the_same(check, something(check).call()); }

CLAIM(attention.core.causal) { unseen_has_no_influence(check); }

CLAIM(attention.core.convex) {
  const Call call = something(check).with("sink", "none").call();
  const Tensors y = check.run(call);
  const ReadingScope scope(Reading{&call.contract, false, 8});
  const Tensor<Bound> o = check.define<Bound>(call)["o"];
  const Index Sq = call.size("Sq"), H = call.size("H"), dv = call.size("dv");
  check.nothing_to_compare();
  for_each_row(call, [&](Index b, Index h, Index i, const std::vector<Index>& seen) {
    for (Index c = 0; c < dv; ++c) {
      double low = infinity, high = -infinity;
      for (const Index j : seen) {
        low = std::min(low, value_at(call, b, h, j, c));
        high = std::max(high, value_at(call, b, h, j, c));
      }
      if (!std::isfinite(low) || !std::isfinite(high)) continue;  // nothing is seen, or what is has no hull
      const Bound& defined = o.at_flat(((b * Sq + i) * H + h) * dv + c);
      const double got = row_at(y, b, h, i)[c], B = defined.w + ulp(*call.contract.out, got);
      check.at_most("O above the largest visible value", got - high, B);
      check.at_most("O below the smallest visible value", low - got, B);
    }
  });
}

CLAIM(attention.core.empty_query) {
  const Call call = check.with("Sq", 0).call();
  const Tensors y = check.run(call);
  for (const Named& t : y.all()) check.require(t.value.size() == 0, t.name + " is empty", t.value.size());
}

CLAIM(attention.core.empty_row) {
  empty_rows(check);
  // The op returns no gradients: those of the definition are 0 where nothing is seen. A target's:
  // flash_bwd.masked_zero.
  const Head h = head_of(check);
  const Matrix<Bound> d_o(h.q.rows(), h.v.cols(), Bound(1));
  const AttentionVjp<Bound> back = attention_vjp(h.q, h.k, h.v, h.keep, h.bias, d_o, full<Bound>(h.q.rows(), 1), h.opt);
  const auto zero = [&](const char* what, const Matrix<Bound>& x, Index row) {
    for (Index c = 0; c < x.cols(); ++c) check.require(value(x(row, c)) == 0, what, value(x(row, c)));
  };
  const auto sees = [&](Index i, Index j) { return h.keep.data() == nullptr || h.keep(i, j) != 0; };
  for (Index i = 0; i < h.q.rows(); ++i) {
    bool any = false;
    for (Index j = 0; j < h.k.rows(); ++j) any = any || sees(i, j);
    if (!any) zero("dQ of a row that sees no key is 0", back.dq, i);
  }
  for (Index j = 0; j < h.k.rows(); ++j) {
    bool any = false;
    for (Index i = 0; i < h.q.rows(); ++i) any = any || sees(i, j);
    if (any) continue;
    zero("dK of a key that no row sees is 0", back.dk, j);
    zero("dV of a key that no row sees is 0", back.dv, j);
  }
}

CLAIM(attention.core.inf_logit) {
  const Call plain = something(check).with("bias", "given").call();
  if (!plain.contract.in->has_infinity()) return check.nothing_to_compare();
  const Index Sq = plain.size("Sq"), Sk = plain.size("Sk");
  const Index h = check.pick("h", 0, plain.size("H") - 1), i = check.pick("i", 0, Sq - 1);
  const Tensor<double> bias = plain["bias"].clone();
  bias.data()[(h * Sq + i) * Sk + check.pick("j", 0, Sk - 1)] = infinity;
  Call call = plain;
  call.set("bias", bias);
  same_but(check, check.run(call), check.run(plain), [&](Index, Index g, Index r) { return g == h && r == i; });
}

CLAIM(attention.core.inputs_unchanged) {
  const Call call = something(check).call();  // the worker watches every input
  for (const bool before : {false, true}) {
    Layout layout;
    layout.guard_before = before;
    check.require(!check.run(call, layout).all().empty(), "the target returns an output");
  }
}

CLAIM(attention.core.masked_poison) { masked_poison(check); }

CLAIM(attention.core.monotone_l) {
  const Call more = something(check).with("mask", "given").with("mask_is", "full").call();
  Call less = more;
  const Tensor<double> mask = more["mask"].clone();
  const Index Sk = more.size("Sk"), gone = check.pick("key", 0, Sk - 1);
  for (Index r = 0; r < mask.size() / Sk; ++r) mask.data()[r * Sk + gone] = 0;
  less.set("mask", mask);
  const Tensors with = check.run(more), without = check.run(less);
  const ReadingScope scope(Reading{&more.contract, false, 8});
  const Tensor<Bound> l = check.define<Bound>(more)["lse"], l0 = check.define<Bound>(less)["lse"];
  for (Index i = 0, n = l.size(); i < n; ++i) {
    const double a = with["lse"].at_flat(i), b = without["lse"].at_flat(i);
    if (b == -infinity) {
      check.require(true, "anything is at least -inf");
      continue;
    }
    const double rounding = ulp(*more.contract.acc, a) + ulp(*more.contract.acc, b);
    check.at_most("L without a key less L with it", b - a, l.at_flat(i).w + l0.at_flat(i).w + rounding);
  }
}

CLAIM(attention.core.nan_row) { nan_rows(check); }

CLAIM(attention.core.nan_value) { nan_values(check); }

CLAIM(attention.core.no_finite_mask) {
  const Call plain = something(check).with("mask", "given").with("mask_is", "single").with("bias", "given").call();
  Call call = plain;  // each query sees one key, far below any finite stand-in for -inf
  call.set("bias", Tensor<double>(plain["bias"].shape(),
                                  std::max(round_to(*plain.contract.in, -2e30), -plain.contract.in->max_finite())));
  check.accurate(call, check.run(call));
}

CLAIM(attention.core.query_permutation) {
  const Call call = something(check).with("causal", "none").with("window", 0).with("bias", "none").call();
  const Index Sq = call.size("Sq"), turn = check.pick("turn", 0, Sq - 1);
  const auto turned = [&](const char* name) {  // row i of the second size is row (i + turn) mod Sq
    const Tensor<double>& x = call[name];
    const Tensor<double> y = x.clone();
    const Index inner = x.size() / (x.shape()[0] * Sq);
    for (Index r = 0; r < x.shape()[0] * Sq; ++r)
      for (Index c = 0; c < inner; ++c)
        y.data()[r * inner + c] = x.at_flat((r / Sq * Sq + (r % Sq + turn) % Sq) * inner + c);
    return y;
  };
  Call other = call;
  other.set("q", turned("q"));
  if (call.inputs.has("mask")) other.set("mask", turned("mask"));
  const Tensors y = check.run(call), z = check.run(other);
  if (!check.same_kernel()) return check.accurate(other, z);
  for_each_head(call, [&](Index b, Index h) {
    for (Index i = 0; i < Sq; ++i) {
      check.same_bits("L of a query that changed its place", lse_at(z, b, h, i), lse_at(y, b, h, (i + turn) % Sq));
      check.same_bits("O of a query that changed its place", row_at(z, b, h, i), row_at(y, b, h, (i + turn) % Sq));
    }
  });
}

CLAIM(attention.core.scale_fold_pow2) {
  Call call = something(check).with("scale", "0.125").call();
  if (call.contract.kind != Accumulate::nearest) return check.nothing_to_compare();
  const Tensor<double> q = call["q"].clone();
  for (Index i = 0, n = q.size(); i < n; ++i) {
    const double folded = q.data()[i] / 8;
    if (folded != 0 && std::fabs(folded) < call.contract.in->min_normal() * 0x1p10) return check.nothing_to_compare();
    q.data()[i] = folded;
  }
  for (const char* name : {"q", "k"})  // no product may leave the normal range
    for (Index i = 0, n = call[name].size(); i < n; ++i) {
      const double x = std::fabs(call[name].at_flat(i));
      if (x != 0 && (x < 0x1p-40 || x > 0x1p40)) return check.nothing_to_compare();
    }
  Call folded = call;
  folded.set("q", q);
  folded.set_option("scale", 1);
  const Tensors y = check.run(folded), z = check.run(call);
  for (const Named& t : y.all()) check.same_bits(t.name + " with the scale in q", t.value, z[t.name]);
}

CLAIM(attention.core.single) {
  something(check).with("mask", "given").with("mask_is", "single").with("sink", "none");
  const Call call = check.call();
  const Tensors y = check.run(call);
  // As fma(s, c, -m c) the exponent of the largest weight is a rounding error, and the weight no power of two.
  if (call.contract.exponent == Exponent::fma) return check.accurate(call, y);
  check.nothing_to_compare();
  for_each_row(call, [&](Index b, Index h, Index i, const std::vector<Index>& seen) {
    if (seen.size() != 1) return;
    for (Index c = 0; c < call.size("dv"); ++c)
      check.same_bits("O of a row with one visible key", row_at(y, b, h, i)[c],
                      round_to(*call.contract.out, value_at(call, b, h, seen[0], c)));
  });
}

}  // namespace assay

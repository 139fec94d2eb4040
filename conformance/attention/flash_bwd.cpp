#include "reference/attention/flash_bwd.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/attention/backward.hpp"

// Claims of spec/attention/flash_bwd.md on targets.
namespace assay {
namespace {

template <class T>
void attention_backward_op(Eval<T>& e) {
  const auto y = attention_backward(backward_inputs(e), e.template options<AttentionBackwardOptions>());
  e.out("d_q", y.d_q);
  e.out("d_k", y.d_k);
  e.out("d_v", y.d_v);
  if (e.has("bias")) e.out("d_bias", y.d_bias);
  if (e.has("sink")) e.out("d_sink", y.d_sink);
}

Check& nonempty(Check& check) {
  for (const char* size : {"B", "Sq", "Sk"})
    if (check.c[size] == 0) check.with(size, 1);
  return check;
}

/// The rows i of head h of d_k and d_v, or of another tensor [B, S, heads, width].
double element(const Tensor<double>& x, Index b, Index s, Index h, Index c) {
  const Shape& n = x.shape();
  return x.at_flat(((b * n[1] + s) * n[2] + h) * n[3] + c);
}

}  // namespace

DEFINITION(attention.flash_bwd, attention_backward, attention_backward_op)

bool pair_seen(const Call& call, Index b, Index i, Index j) {
  const Index Sq = call["q"].shape()[1], Sk = call["k"].shape()[1], off = call.option("causal") == 1 ? 0 : Sk - Sq;
  const double window = call.option("window"), past = static_cast<double>(i + off - j);
  if ((call.option("causal") != 2 && past < 0) || (window > 0 && past >= window)) return false;
  return !call.inputs.has("mask") || call["mask"].at_flat((b * Sq + i) * Sk + j) != 0;
}

Call consistent(const Call& call) {
  const auto opt = AttentionBackwardOptions::from(call.options);
  const AttentionBackwardInputs<double> in = backward_inputs(Eval<double>(call));
  const Tensor<double> o = call["o"].clone(), lse = call["lse"].clone();
  const Index Sq = call.size("Sq"), H = call.size("H"), dv = call.size("dv"), group = H / call.size("Hkv");
  for (Index b = 0; b < call.size("B"); ++b)
    for (Index h = 0; h < H; ++h) {
      const Attention<double> y = attention_stacked(attention_stack(in, b, h / group, opt), opt);
      for (Index i = 0; i < Sq; ++i) {
        const Index row = h % group * Sq + i;
        lse.data()[(b * H + h) * Sq + i] = round_to(*call.contract.acc, y.lse[row]);
        for (Index c = 0; c < dv; ++c)
          o.data()[((b * Sq + i) * H + h) * dv + c] = round_to(*call.contract.in, y.o(row, c));
      }
    }
  Call whole = call;
  whole.set("o", o);
  whole.set("lse", lse);
  return whole;
}

CLAIM(attention.flash_bwd.accuracy) {
  const Call filled = check.call(), call = check.c["as_filled"] == 1 ? filled : consistent(filled);
  check.accurate(call, check.run(call));
}

CLAIM(attention.flash_bwd.causal) {
  // Whatever a query holds that does not see key j: the gradients of key j keep their bits.
  const Call call = consistent(nonempty(check).call());
  const Index b = check.pick("b", 0, call.size("B") - 1), j = check.pick("j", 0, call.size("Sk") - 1);
  const Index Sq = call.size("Sq"), H = call.size("H");
  Call changed = call;
  for (const char* name : {"q", "o", "d_o", "lse", "d_lse"}) {
    if (!call.inputs.has(name)) continue;
    const Tensor<double> x = call[name].clone();
    const bool by_head = x.rank() == 3;  // [B, H, Sq]
    const Index width = by_head ? 1 : x.shape()[3];
    for (Index i = 0; i < Sq; ++i) {
      if (pair_seen(call, b, i, j)) continue;
      for (Index h = 0; h < H; ++h)
        for (Index c = 0; c < width; ++c)
          x.data()[by_head ? (b * H + h) * Sq + i : ((b * Sq + i) * H + h) * width + c] =
              static_cast<double>(c % 3) - 4;
    }
    changed.set(name, x);
  }
  const Tensors y = check.run(call), z = check.run(changed);
  for (const char* name : {"d_k", "d_v"})
    for (Index g = 0; g < call.size("Hkv"); ++g)
      for (Index c = 0; c < y[name].shape()[3]; ++c)
        check.same_bits(std::string(name) + " of a key that the changed queries do not see",
                        element(z[name], b, j, g, c), element(y[name], b, j, g, c));
}

CLAIM(attention.flash_bwd.determinism) {
  const Call call = consistent(check.call());
  const Tensors first = check.run(call), second = check.run(call);
  check.nothing_to_compare();
  for (const Named& t : first.all()) {
    if (check.same_kernel())
      check.same_bits(t.name + " of the second run", second[t.name], t.value);
    else
      check.accurate(call, second, t.name);
  }
}

CLAIM(attention.flash_bwd.masked_poison) {
  Call call = nonempty(check).with("mask", "given").call();
  const Index b = check.pick("b", 0, call.size("B") - 1), j = check.pick("j", 0, call.size("Sk") - 1);
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  const bool nobody = check.pick("who sees it", 0, 1) == 0;
  const Tensor<double> mask = call["mask"].clone();
  for (Index i = 0; i < Sq && nobody; ++i) mask.data()[(b * Sq + i) * Sk + j] = 0;
  call.set("mask", mask);
  call = consistent(call);
  Call poisoned = call;
  const double poison = check.pick("poison", 0, 1) == 0 || !call.contract.in->has_infinity() ? not_a_number : infinity;
  for (const char* name : {"k", "v"}) {
    const Tensor<double> x = call[name].clone();
    const Index row = x.shape()[2] * x.shape()[3];
    for (Index c = 0; c < row; ++c) x.data()[(b * Sk + j) * row + c] = poison;
    poisoned.set(name, x);
  }
  const Tensors clean = check.run(call), y = check.run(poisoned);
  check.nothing_to_compare();
  if (nobody)
    for (const Named& t : clean.all()) check.same_bits(t.name + " with garbage in a hidden key", y[t.name], t.value);
  const Index row = call.size("H") * call.size("d");
  for (Index a = 0; a < call.size("B"); ++a)
    for (Index i = 0; i < Sq; ++i)
      for (Index c = 0; c < row && (a != b || !pair_seen(call, a, i, j)); ++c)
        check.same_bits("d_q of a row that does not see a key with garbage", y["d_q"].at_flat((a * Sq + i) * row + c),
                        clean["d_q"].at_flat((a * Sq + i) * row + c));
}

CLAIM(attention.flash_bwd.masked_zero) {
  nonempty(check).with("mask", "given");
  if (check.pick("how", 0, 1) == 0) check.with("mask_is", "empty_rows");
  Call call = consistent(check.call());
  const Index Sq = call.size("Sq"), Sk = call.size("Sk"), H = call.size("H");
  const Index off = call.inputs.has("sink") ? Sq : check.pick("off", 0, 2 * Sq - 1);  // a row whose L says it is empty
  const Tensor<double> lse = call["lse"].clone();
  for (Index r = 0; r < lse.size(); ++r)
    if (r % Sq == off) lse.data()[r] = -infinity;
  call.set("lse", lse);
  const auto seen = [&](Index b, Index i, Index j) { return i != off && pair_seen(call, b, i, j); };
  const Tensors y = check.run(call);
  const auto zero = [&](const char* name, Index b, Index s, Index heads) {
    for (Index h = 0; h < heads; ++h)
      for (Index c = 0; c < y[name].shape()[3]; ++c) {
        const double x = element(y[name], b, s, h, c);
        check.require(x == 0, std::string(name) + " where nothing is seen is 0", x);
      }
  };
  check.nothing_to_compare();
  for (Index b = 0; b < call.size("B"); ++b) {
    for (Index i = 0; i < Sq; ++i) {
      bool any = false;
      for (Index j = 0; j < Sk; ++j) {
        any = any || seen(b, i, j);
        for (Index h = 0; h < H && y.has("d_bias") && !seen(b, i, j); ++h) {
          const double x = y["d_bias"].at_flat(((b * H + h) * Sq + i) * Sk + j);
          check.require(x == 0, "d_bias of a pair that is not seen is 0", x);
        }
      }
      if (!any) zero("d_q", b, i, H);
    }
    for (Index j = 0; j < Sk; ++j) {
      bool any = false;
      for (Index i = 0; i < Sq; ++i) any = any || seen(b, i, j);
      if (!any) zero("d_k", b, j, call.size("Hkv")), zero("d_v", b, j, call.size("Hkv"));
    }
  }
  for (const Named& t : y.all())  // an empty row makes nothing else NaN
    for (Index i = 0, n = t.value.size(); i < n; ++i)
      check.require(!std::isnan(t.value.at_flat(i)), t.name + " is a number", t.value.at_flat(i));
}

CLAIM(attention.flash_bwd.recompute_equals_saved) {
  // The target's own forward pass, then its backward pass; against the gradients from weights that were kept.
  nonempty(check).with("dropout", "none").with("softcap", "0").with("sink", "none").with("d_lse", "none");
  Call call = check.with("B", 1).with("Hkv", 1).call();
  Call forward;
  forward.op = &page_of_op("attention").op;
  forward.contract = call.contract;
  for (const OptionSpec& o : forward.op->options) forward.options.push_back(o.numeric() ? o.numbers[0] : 0);
  for (const char* option : {"causal", "window", "scale", "mask", "bias"})
    forward.set_option(option, call.option(option));
  for (const char* name : {"q", "k", "v", "mask", "bias"})
    if (call.inputs.has(name)) forward.inputs.set(name, call[name], call.inputs.find(name).format);
  const Tensors ahead = check.run(forward);
  if (call.contract.in != call.contract.out) throw NotOffered{"outputs in the format of the inputs"};
  call.set("o", ahead["o"]);
  call.set("lse", ahead["lse"]);
  const Tensors y = check.run(call);
  check.accurate(call, y);

  const ReadingScope scope(Reading{&call.contract, false, 8});
  const auto opt = AttentionBackwardOptions::from(call.options);
  AttentionStack<Bound> x = attention_stack(backward_inputs(Eval<Bound>(call)), 0, 0, opt);
  const Attention<Bound> kept = attention_stacked(x, opt);  // with the errors of a forward pass
  x.o = at(Site::cast, kept.o), x.lse = kept.lse;
  const AttentionGradients<Bound> recomputed = attention_backward(x, opt);
  // P = e / l of the forward pass
  const AttentionOptions logits_opt = [&] {
    AttentionOptions a;
    a.scale = opt.scale;
    return a;
  }();
  const Matrix<Bound> s = attention_logits(x.q, x.k, x.bias, logits_opt);
  const Vector<Bound> m = anchor(max_rows(select(x.keep, s, -infinity)));
  const Matrix<Bound> e = exp(sub_rows(select(x.keep, s, -infinity), m));
  const Vector<Bound> l = select(!is_neg_inf(kept.lse), sum_rows(e), 1);
  const Matrix<Bound> p = div_rows(e, l);
  const Matrix<Bound> ds = p * sub_rows(matmul(x.d_o, transpose(x.v)), dot_rows(x.d_o, x.o));
  const auto scaled = [&](const Matrix<Bound>& g) {
    const auto one = [&](double v) { return full<Bound>(g.rows(), v); };
    return scale_rows(g, opt.scale == 0 ? one(1) / sqrt(one(static_cast<double>(x.q.cols()))) : one(opt.scale));
  };
  const auto compare = [&](const char* name, const Matrix<Bound>& saved, const Matrix<Bound>& other, Index groups) {
    const Index rows = saved.rows() / groups;  // of one head
    for (Index r = 0; r < saved.rows(); ++r)
      for (Index c = 0; c < saved.cols(); ++c) {
        const double got = element(y[name], 0, r % rows, r / rows, c);
        const Bound &left = saved(r, c), &right = other(r, c);
        if (!std::isfinite(left.w + right.w) || !std::isfinite(got)) continue;
        check.at_most(std::string(name) + " from recomputed and from saved weights", std::fabs(got - left.v),
                      left.w + right.w + ulp(*call.contract.out, got));
      }
  };
  const Index g = call.size("H");
  compare("d_q", scaled(matmul(ds, x.k)), recomputed.dq, g);
  compare("d_k", scaled(matmul(transpose(ds), x.q)), recomputed.dk, 1);
  compare("d_v", matmul(transpose(p), x.d_o), recomputed.dv, 1);
}

}  // namespace assay

// Claims of spec/attention/core.md on its definition.
#include "conformance/attention/chunks.hpp"
#include "conformance/attention/heads.hpp"
#include "conformance/engine/adjoint.hpp"
#include "reference/core/lift.hpp"

namespace assay {

Head head_of(const Call& call) {
  const Eval<Bound> e(call);
  const auto first = [](const Tensor<Bound>& x) { return at_lead(swap_dims(x, 1, 2), {0, 0}); };
  Head head{first(e.tensor("q")), first(e.tensor("k")), first(e.tensor("v")), {}, {}, e.options<AttentionOptions>()};
  if (call.inputs.has("bias")) head.bias = at_lead(e.tensor("bias"), {0});
  const Index Sq = head.q.rows(), Sk = head.k.rows();
  head.keep = visible(0, Sq, Sq, Sk, head.opt);
  if (call.inputs.has("mask")) head.keep = both(at_lead(e.mask_tensor("mask"), {0}), head.keep);
  return head;
}

Head head_of(Check& check) { return head_of(something(check).with("sink", "none").call()); }

void head_adjoint(Check& check, const Call& call, const Matrix<Bound>& d_o,
                  const std::vector<std::pair<const char*, Matrix<Bound>>>& gradients) {
  for (const auto& [name, gradient] : gradients) {
    const Tensors direction = along(call, name);
    const Tensor<Dual> moved = check.define<Dual>(call, direction)["o"];
    const Index Sq = d_o.rows(), dv = d_o.cols(), width = gradient.cols();
    const Matrix<Bound> o = derivative(Tensor<Dual>(moved.storage(), moved.data(), {Sq, dv}, {dv, 1}));
    const Tensor<double> step = direction[name].clone();
    const Matrix<Bound> d = lifted(Tensor<double>(step.storage(), step.data(), {gradient.rows(), width}, {width, 1}));
    check.agree(std::string("<dO, J d> = <J^T dO, d> along ") + name, inner(d_o, o), inner(gradient, d));
  }
}

namespace {

bool sees(const Head& h, Index i, Index j) { return h.keep.data() == nullptr || h.keep(i, j); }

/// Small exact numbers, one per row.
Vector<Bound> steps(Index n) {
  Vector<Bound> a(n);
  for (Index i = 0; i < n; ++i) a[i] = static_cast<double>(i % 5 - 2) / 4;
  return a;
}

/// P_ij = exp(s_ij - L_i), 0 where masked.
Matrix<Bound> weights(const Head& h) { return attention_weights(h.logits(), h.keep, h.run().lse); }

AttentionVjp<Bound> vjp(const Head& h, const Matrix<Bound>& d_o) {
  return attention_vjp(h.q, h.k, h.v, h.keep, h.bias, d_o, full<Bound>(h.q.rows(), 0), h.opt);
}

}  // namespace

CLAIM(attention.core.adjoint) {
  const Call call = something(check).with("sink", "none").with("B", 1).with("Hkv", 1).with("g", 1).call();
  const Head h = head_of(call);
  const Matrix<Bound> d_o = cotangent(h.q.rows(), h.v.cols());
  const AttentionVjp<Bound> back = vjp(h, d_o);
  head_adjoint(check, call, d_o, {{"q", back.dq}, {"k", back.dk}, {"v", back.dv}});
}

CLAIM(attention.core.alignment) {
  check.with("Sq", 3)
      .with("Sk", 5)
      .with("window", 0)
      .with("mask", "none")
      .with("bias", "none")
      .with("profile", "normal")
      .with("d", 4);
  const Head right = head_of(check.with("causal", "bottom_right")), left = head_of(check.with("causal", "top_left"));
  check.differ("top-left and bottom-right for Sq != Sk", left.run().o, right.run().o);
}

CLAIM(attention.core.constant_value) {
  Head h = head_of(check);
  const Bound a = h.v(0, 0);
  h.v = Matrix<Bound>(h.v.rows(), h.v.cols(), a);
  const Attention<Bound> y = h.run();
  check.nothing_to_compare();
  for (Index i = 0; i < y.o.rows(); ++i)
    for (Index c = 0; c < y.o.cols() && value(y.lse[i]) != -infinity; ++c)
      check.agree("O where every value is a", y.o(i, c), a);
}

CLAIM(attention.core.cost) {
  // Counted: what the definition multiplies. Only pairs that are seen are work a kernel must do.
  const Index Sq = check.c["Sq"], Sk = check.c["Sk"];
  if (Sk < Sq) check.with("Sk", Sq);
  const Index off = check.c["Sk"] - Sq;
  AttentionOptions opt;
  opt.window = -1;
  const Mask keep = visible(0, Sq, Sq, Sq + off, opt);
  Index pairs = 0;
  for (Index i = 0; i < Sq; ++i)
    for (Index j = 0; j < Sq + off; ++j) pairs += keep(i, j);
  check.require(pairs == Sq * off + Sq * (Sq + 1) / 2, "pairs of bottom-right causal attention", pairs);
  // 2 (d + dv) operations a pair: counted where every pair is seen. One multiplication a pair more is the scale.
  const Head h = head_of(
      check.with("causal", "none").with("window", 0).with("mask", "none").with("bias", "none").with("softcap", 0));
  const auto counted = [](const Matrix<Bound>& x) {
    Matrix<Count> y(x.rows(), x.cols());
    for (Index r = 0; r < x.rows(); ++r)
      for (Index c = 0; c < x.cols(); ++c) y(r, c) = x(r, c).v;
    return y;
  };
  const Matrix<Count> q = counted(h.q), k = counted(h.k), v = counted(h.v);
  tally() = {};
  attention(q, k, v, Mask(), Matrix<Count>(), Vector<Count>(), h.opt);
  const Index all = q.rows() * k.rows(), products = tally().multiply - all;
  check.require(products == all * (q.cols() + v.cols()), "multiplications of all pairs, 2 FLOPs each", products);
}

CLAIM(attention.core.delta) {
  const Head h = head_of(check);
  const Attention<Bound> y = h.run();
  const Matrix<Bound> d_o = cotangent(h.q.rows(), h.v.cols());
  const Vector<Bound> left = dot_rows(weights(h), matmul(d_o, transpose(h.v))), right = dot_rows(d_o, y.o);
  check.agree("sum_j P dP = sum_c dO O", left, right);
}

CLAIM(attention.core.key_shift) {
  const Head h = head_of(check.with("softcap", 0));
  Head moved = h;
  const Vector<Bound> w = steps(h.k.cols());
  moved.k = add_cols(h.k, w);
  const Attention<Bound> y = h.run(), z = moved.run();
  check.agree("O when every key moves by w", z.o, y.o);
  Head shift = h;  // the logits of a key w
  shift.k = transpose(as_col(w));
  shift.bias = {};
  const Vector<Bound> by = shift.logits().col(0);
  check.nothing_to_compare();
  for (Index i = 0; i < y.lse.size(); ++i)
    if (value(y.lse[i]) != -infinity) check.agree("L when every key moves by w", z.lse[i], y.lse[i] + by[i]);
}

CLAIM(attention.core.kv_permutation) {
  const Head h = head_of(check);
  const Index n = h.k.rows();
  const std::vector<Index> order = random_order(check, "keys", n);
  Head turned = h;
  turned.k = take_rows(h.k, order);
  turned.v = take_rows(h.v, order);
  if (h.bias.data() != nullptr) turned.bias = take_cols(h.bias, order);
  turned.keep = Mask(h.q.rows(), n);
  for (Index i = 0; i < h.q.rows(); ++i)
    for (Index j = 0; j < n; ++j) turned.keep(i, j) = sees(h, i, order[static_cast<std::size_t>(j)]);
  const Attention<Bound> y = h.run(), z = turned.run();
  check.agree("O with keys and values in another order", z.o, y.o);
  check.agree("L with keys and values in another order", z.lse, y.lse);
}

CLAIM(attention.core.linear_v) {
  const Head h = head_of(check);
  Head other = h, sum = h;
  other.v = Matrix<Bound>(h.v.rows(), h.v.cols());
  for (Index j = 0; j < h.v.rows(); ++j)
    for (Index c = 0; c < h.v.cols(); ++c) other.v(j, c) = static_cast<double>((j * 5 + c * 3) % 7 - 3) / 8;
  sum.v = h.v + 2.0 * other.v;
  check.agree("O of v + 2 w", sum.run().o, h.run().o + 2.0 * other.run().o);
}

CLAIM(attention.core.lse_consistency) {
  Head h = head_of(check);
  const Vector<Bound> mass = sum_rows(weights(h)), lse = h.run().lse;
  h.v = full<Bound>(h.v.rows(), 1, 1);
  const Matrix<Bound> one = h.run().o;
  check.nothing_to_compare();
  for (Index i = 0; i < lse.size(); ++i) {
    if (value(lse[i]) == -infinity) continue;
    check.agree("sum of exp(s - L)", mass[i], Bound(1));
    check.agree("mean of a column of ones", one(i, 0), Bound(1));
  }
}

CLAIM(attention.core.sbar_rowsum) {
  const Head h = head_of(check);
  const Vector<Bound> sums = sum_rows(vjp(h, cotangent(h.q.rows(), h.v.cols())).ds);
  check.agree("sum of the logit gradients of a row", sums, full<Bound>(sums.size(), 0));
}

CLAIM(attention.core.scale_fold) {
  Head h = head_of(check.with("scale", "0.125"));
  const Attention<Bound> y = h.run();
  h.q = 0.125 * h.q;
  h.opt.scale = 1;
  const Attention<Bound> z = h.run();
  check.agree("O with the scale in q", z.o, y.o);
  check.agree("L with the scale in q", z.lse, y.lse);
}

CLAIM(attention.core.shift) {
  Head h = head_of(check.with("bias", "given"));
  const Attention<Bound> y = h.run();
  const Vector<Bound> by = steps(h.q.rows());
  h.bias = add_rows(h.bias, by);
  const Attention<Bound> z = h.run();
  check.agree("O when a row's logits move by c", z.o, y.o);
  check.nothing_to_compare();
  for (Index i = 0; i < y.lse.size(); ++i)
    if (value(y.lse[i]) != -infinity) check.agree("L when a row's logits move by c", z.lse[i], y.lse[i] + by[i]);
}

CLAIM(attention.core.single_lse) {
  const Head h = head_of(check.with("mask", "given").with("mask_is", "single"));
  const Vector<Bound> lse = h.run().lse;
  const Matrix<Bound> s = h.logits();
  check.nothing_to_compare();
  for (Index i = 0; i < s.rows(); ++i)
    for (Index j = 0; j < s.cols(); ++j)
      if (sees(h, i, j)) check.agree("L of a row with one visible key", lse[i], s(i, j));
}

CLAIM(attention.core.uniform) {
  Head h = head_of(check.with("bias", "none"));
  h.q = full<Bound>(h.q.rows(), h.q.cols(), 0);
  const Matrix<Bound> o = h.run().o;
  check.nothing_to_compare();
  for (Index i = 0; i < o.rows(); ++i) {
    std::vector<Index> seen;
    for (Index j = 0; j < h.v.rows(); ++j)
      if (sees(h, i, j)) seen.push_back(j);
    if (seen.empty()) continue;
    const Vector<Bound> mean = mean_rows(transpose(take_rows(h.v, seen)));
    for (Index c = 0; c < o.cols(); ++c) check.agree("O of q = 0", o(i, c), mean[c]);
  }
}

}  // namespace assay

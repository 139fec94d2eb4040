// Claims of spec/attention/flash_bwd.md on its definition.
#include "conformance/attention/backward.hpp"
#include "conformance/engine/adjoint.hpp"
#include "reference/attention/softcap.hpp"

namespace assay {

BackwardCase backward_case(Check& check) {
  for (const char* size : {"B", "Sq", "Sk"})
    if (check.c[size] == 0) check.with(size, 1);
  const Call call = check.call();
  const auto opt = AttentionBackwardOptions::from(call.options);
  BackwardCase c{call, opt, attention_stack(backward_inputs(Eval<Bound>(call)), 0, 0, opt)};
  const Attention<Bound> y = attention_stacked(c.x, opt);
  c.x.o = y.o, c.x.lse = y.lse;
  return c;
}

BackwardCase full_rows(Check& check) { return backward_case(check.with("causal", "none").with("mask", "none")); }

namespace {

bool empty(const BackwardCase& c, Index i) { return value(c.x.lse[i]) == -infinity; }

/// exp(sink - L_incl), 0 without a sink.
Vector<Bound> sink_share(const BackwardCase& c) {
  const Index n = c.x.lse.size();
  if (c.x.sink.data() == nullptr) return full<Bound>(n, 0);
  if (c.opt.lse_of_sink == AttentionBackwardOptions::LseOfSink::included) return exp(c.x.sink - c.x.lse);
  const Vector<Bound> one = full<Bound>(n, 1);
  return one / (one + exp(c.x.lse - c.x.sink));
}

Vector<Bound> d_lse_of(const BackwardCase& c) {
  return c.x.d_lse.data() == nullptr ? full<Bound>(c.x.lse.size(), 0) : c.x.d_lse;
}

/// <dO, J d> + <dL, J_L d> along a direction of one input.
Bound forward_along(const BackwardCase& c, const Tensors& direction) {
  Eval<Dual> e(c.call);
  e.directions = direction;
  const Attention<Dual> y = attention_stacked(attention_stack(backward_inputs(e), 0, 0, c.opt), c.opt);
  const Bound of_o = inner(c.x.d_o, derivative(y.o));
  return c.x.d_lse.data() == nullptr ? of_o : of_o + inner(as_col(c.x.d_lse), derivative(y.lse));
}

/// The direction as the stack sees it.
AttentionStack<Bound> stacked_direction(const BackwardCase& c, const char* name, const Tensors& direction) {
  Call moved = c.call;
  moved.set(name, direction[name]);
  return attention_stack(backward_inputs(Eval<Bound>(moved)), 0, 0, c.opt);
}

/// Both sides see the first group of heads alone, whatever the direction is in the others.
void adjoint_along(Check& check, const BackwardCase& c, const char* name, const AttentionGradients<Bound>& y) {
  const Tensors direction = along(c.call, name);
  const AttentionStack<Bound> d = stacked_direction(c, name, direction);
  const std::string input = name;
  const Bound right = input == "q"      ? inner(y.dq, d.q)
                      : input == "k"    ? inner(y.dk, d.k)
                      : input == "v"    ? inner(y.dv, d.v)
                      : input == "bias" ? inner(y.g, d.bias)
                                        : inner(as_col(y.d_sink), as_col(d.sink));
  check.agree("<dO, J d> + <dL, J d> = <gradient, d> along " + input, forward_along(c, direction), right);
}

std::vector<const char*> inputs_of(const BackwardCase& c) {
  std::vector<const char*> names = {"q", "k", "v"};
  if (c.x.bias.data() != nullptr) names.push_back("bias");
  if (c.x.sink.data() != nullptr) names.push_back("sink");
  return names;
}

}  // namespace

CLAIM(attention.flash_bwd.adjoint) {
  const BackwardCase c = full_rows(check.with("softcap", "0").with("dropout", "none"));
  const AttentionGradients<Bound> y = c.run();
  for (const char* name : inputs_of(c)) adjoint_along(check, c, name, y);
}

CLAIM(attention.flash_bwd.equals_autodiff) {
  // With cap and dropout too, the directional derivative; without them and a sink the materialized backward of core.
  const BackwardCase all = full_rows(check);
  const AttentionGradients<Bound> of_all = all.run();
  for (const char* name : inputs_of(all)) adjoint_along(check, all, name, of_all);
  const BackwardCase c = full_rows(check.with("softcap", "0").with("dropout", "none").with("sink", "none"));
  const AttentionGradients<Bound> y = c.run();
  AttentionOptions core;
  core.scale = c.opt.scale;
  const AttentionVjp<Bound> saved = attention_vjp(c.x.q, c.x.k, c.x.v, c.x.keep, c.x.bias, c.x.d_o, d_lse_of(c), core);
  check.agree("dQ of the materialized backward", y.dq, saved.dq);
  check.agree("dK of the materialized backward", y.dk, saved.dk);
  check.agree("dV of the materialized backward", y.dv, saved.dv);
}

CLAIM(attention.flash_bwd.d_identity) {
  // D of the stored output against the sum over pairs, where dL takes no part.
  BackwardCase c = backward_case(check.with("bias", "given").with("d_lse", "none"));
  const Vector<Bound> D = dot_rows(c.x.d_o, c.x.o);
  c.x.o = full<Bound>(c.x.o.rows(), c.x.o.cols(), 0);  // then G = P dP
  const Vector<Bound> sums = sum_rows(c.run().g);
  check.agree("rowsum(dO O) = sum_j P dP", D, sums);
}

CLAIM(attention.flash_bwd.dbias) {
  const BackwardCase c = full_rows(check.with("softcap", "2").with("bias", "given"));
  adjoint_along(check, c, "bias", c.run());
}

CLAIM(attention.flash_bwd.dbias_with_mod) {
  check.with("softcap", "2").with("bias", "given").with("profile", "normal").with("dropout", "none");
  if (check.c["Sk"] < 3) check.with("Sk", 3);
  const BackwardCase c = full_rows(check.with("scale", "1").with("window", 0));
  const Matrix<Bound> g = c.run().g;
  AttentionOptions uncapped;
  uncapped.scale = c.opt.scale;
  const Matrix<Bound> x = attention_logits(c.x.q, c.x.k, Matrix<Bound>(), uncapped);
  check.differ("dbias with the derivative of the cap", softcap_vjp(g, x, c.opt.softcap), g);
}

CLAIM(attention.flash_bwd.dv_mass) {
  const BackwardCase c = full_rows(check.with("sink", "none").with("dropout", "none"));
  check.agree("sum_j dV_j = sum_i dO_i", sum_cols(c.run().dv), sum_cols(c.x.d_o));
}

CLAIM(attention.flash_bwd.flops) {
  check.with("mask", "none").with("bias", "none").with("sink", "none").with("d_lse", "none");
  const BackwardCase c = full_rows(check.with("softcap", "0").with("dropout", "none").with("window", 0));
  const auto count = [](const Matrix<Bound>& x) {
    Matrix<Count> y(x.rows(), x.cols());
    for (Index r = 0; r < x.rows(); ++r)
      for (Index k = 0; k < x.cols(); ++k) y(r, k) = x(r, k).v;
    return y;
  };
  AttentionStack<Count> x;
  x.q = count(c.x.q), x.k = count(c.x.k), x.v = count(c.x.v), x.o = count(c.x.o), x.d_o = count(c.x.d_o);
  x.keep = c.x.keep, x.lse = count(as_col(c.x.lse)).col(0);
  const Index n = x.q.rows(), Sk = x.k.rows(), d = x.q.cols(), dv = x.v.cols(), pairs = n * Sk;
  tally() = {};
  attention_backward(x, c.opt);
  // beside the five products: per pair the scale, log2 e and P (dP - D); D; log2e L; the scale of dQ and dK
  const Index other = 3 * pairs + n * dv + n + (n + Sk) * d, backward = static_cast<Index>(tally().multiply) - other;
  check.require(backward == pairs * (3 * d + 2 * dv), "multiplications of the backward's products",
                static_cast<double>(backward));
  tally() = {};
  attention_stacked(x, c.opt);
  const Index forward = static_cast<Index>(tally().multiply) - pairs;
  check.require(backward * (d + dv) == forward * (3 * d + 2 * dv), "backward FLOPs over forward FLOPs",
                static_cast<double>(backward) / static_cast<double>(forward));
  check.require(5 * 128 * 2 == 5 * (128 + 128) && 26 * (192 + 128) == 10 * (3 * 192 + 2 * 128),
                "2.5 for d = dv, 2.6 for d = 192, dv = 128");
}

CLAIM(attention.flash_bwd.k_sum) {
  const BackwardCase c = full_rows(check.with("sink", "none").with("softcap", "0"));
  const Vector<Bound> left = sum_cols(c.run().dk);
  const Index d = c.x.q.cols();
  const Vector<Bound> one = full<Bound>(d, 1);
  const Vector<Bound> scale =
      c.opt.scale == 0 ? one / sqrt(full<Bound>(d, static_cast<double>(d))) : full<Bound>(d, c.opt.scale);
  check.agree("sum_j dK_j = scale sum_i dL_i q_i", left, scale * sum_cols(scale_rows(c.x.q, d_lse_of(c))));
}

CLAIM(attention.flash_bwd.linear) {
  const BackwardCase c = backward_case(check);
  BackwardCase other = c, sum = c;
  const Index n = c.x.d_o.rows();
  other.x.d_o = cotangent(n, c.x.d_o.cols());
  sum.x.d_o = c.x.d_o + 2.0 * other.x.d_o;
  if (c.x.d_lse.data() != nullptr) {
    other.x.d_lse = cotangent(n, 1).col(0);
    sum.x.d_lse = c.x.d_lse + 2.0 * other.x.d_lse;
  }
  const AttentionGradients<Bound> y = c.run(), z = other.run(), both = sum.run();
  check.agree("dQ is linear", both.dq, y.dq + 2.0 * z.dq);
  check.agree("dK is linear", both.dk, y.dk + 2.0 * z.dk);
  check.agree("dV is linear", both.dv, y.dv + 2.0 * z.dv);
  check.agree("dbias is linear", both.g, y.g + 2.0 * z.g);
  if (c.x.sink.data() != nullptr) check.agree("dsink is linear", both.d_sink, y.d_sink + 2.0 * z.d_sink);
}

CLAIM(attention.flash_bwd.row_sum) {
  const BackwardCase c = backward_case(check);
  const Vector<Bound> sums = sum_rows(c.run().g), D = dot_rows(c.x.d_o, c.x.o), dL = d_lse_of(c), p = sink_share(c);
  const bool included = c.opt.lse_of_sink == AttentionBackwardOptions::LseOfSink::included;
  check.nothing_to_compare();
  for (Index i = 0; i < sums.size(); ++i) {
    const bool sees_nothing = empty(c, i) || [&] {
      for (Index j = 0; j < c.x.keep.cols(); ++j)
        if (c.x.keep(i, j) != 0) return false;
      return true;
    }();
    if (sees_nothing) continue;
    const Bound right = c.x.sink.data() == nullptr ? dL[i]
                        : included                 ? D[i] * p[i] + dL[i] * (Bound(1) - p[i])
                                                   : D[i] * p[i] + dL[i];
    check.agree("sum_j G_ij", sums[i], right);
  }
}

}  // namespace assay

// Claims of spec/attention/sink_logit.md on its definition.
#include "conformance/attention/chunks.hpp"
#include "conformance/attention/heads.hpp"
#include "conformance/engine/adjoint.hpp"
#include "reference/attention/sink_logit.hpp"
#include "reference/softmax/merge.hpp"

namespace assay {
namespace {

using LseOfSink = AttentionOptions::LseOfSink;

struct Sunk {
  Head head;
  Vector<Bound> sink;  // [Sq]: the head's, in every row

  Attention<Bound> run(LseOfSink convention) const {
    AttentionOptions opt = head.opt;
    opt.lse_of_sink = convention;
    return attention(head.q, head.k, head.v, head.keep, head.bias, sink, opt);
  }
};

Sunk sunk_of(const Call& call) {
  const Head head = head_of(call);
  return {head, full<Bound>(head.q.rows(), call["sink"].at_flat(0))};
}
Sunk sunk_of(Check& check) { return sunk_of(something(check).with("sink", "given").call()); }

SoftmaxMean<Bound> as_part(const Attention<Bound>& x) { return {x.lse, x.o}; }

/// dL: other values in every row, and 0 where nothing is seen, where L may be -inf.
Vector<Bound> lse_cotangent(const Vector<Bound>& lse) {
  Vector<Bound> d(lse.size());
  for (Index i = 0; i < d.size(); ++i) d[i] = value(lse[i]) == -infinity ? 0 : static_cast<double>(i % 4 + 1) / 2;
  return d;
}

/// <dO, dO/dt> + <dL, dL/dt> with the call's first head moving along `direction`.
Bound pushed(Check& check, const Call& call, const Tensors& direction, const Matrix<Bound>& d_o,
             const Vector<Bound>& d_lse) {
  const auto moved = check.define<Dual>(call, direction);
  Bound sum(0);
  for (Index i = 0; i < d_o.rows(); ++i) {
    for (Index c = 0; c < d_o.cols(); ++c) sum = sum + d_o(i, c) * moved.at("o").at_flat(i * d_o.cols() + c).d;
    if (d_lse[i].v != 0) sum = sum + d_lse[i] * moved.at("lse").at_flat(i).d;
  }
  return sum;
}

/// A case of one head under one of the conventions, and its vector-Jacobian product.
struct Pulled {
  Call call;
  Matrix<Bound> d_o;
  Vector<Bound> d_lse;
  SinkVjp<Bound> back;
};
Pulled pulled(Check& check, const char* convention) {
  const Call call = something(check)
                        .with("sink", "given")
                        .with("B", 1)
                        .with("Hkv", 1)
                        .with("g", 1)
                        .with("lse_of_sink", convention)
                        .call();
  const Sunk x = sunk_of(call);
  const Head& h = x.head;
  const Matrix<Bound> d_o = cotangent(h.q.rows(), h.v.cols());
  const Vector<Bound> d_lse = lse_cotangent(x.run(h.opt.lse_of_sink).lse);
  return {call, d_o, d_lse, sink_vjp(h.q, h.k, h.v, h.keep, h.bias, x.sink, d_o, d_lse, h.opt)};
}

}  // namespace

CLAIM(attention.sink_logit.adjoint) {
  for (const char* convention : {"excluded", "included"}) {
    const Pulled p = pulled(check, convention);
    const AttentionVjp<Bound>& back = p.back.of_keys;
    for (const auto& [name, gradient] :
         {std::pair<const char*, Matrix<Bound>>{"q", back.dq}, {"k", back.dk}, {"v", back.dv}}) {
      const Tensors direction = along(p.call, name);
      const Tensor<double> step = direction[name].clone();
      const Matrix<Bound> d =
          lifted(Tensor<double>(step.storage(), step.data(), {gradient.rows(), gradient.cols()}, {gradient.cols(), 1}));
      check.agree(std::string("<dO, J d> = <J^T dO, d> along ") + name + ", L " + convention,
                  pushed(check, p.call, direction, p.d_o, p.d_lse), inner(gradient, d));
    }
  }
}

CLAIM(attention.sink_logit.extra_key) {
  const Sunk x = sunk_of(check);
  const Head& h = x.head;
  const Index Sq = h.q.rows(), Sk = h.k.rows();
  Mask keep(Sq, Sk + 1);
  for (Index i = 0; i < Sq; ++i)
    for (Index j = 0; j <= Sk; ++j) keep(i, j) = j == Sk || h.keep.data() == nullptr || h.keep(i, j);
  const SoftmaxMean<Bound> longer = softmax_mean(
      concat_cols(h.logits(), as_col(x.sink)), concat_rows(h.v, full<Bound>(1, h.v.cols(), 0)), keep, Vector<Bound>());
  const Attention<Bound> y = x.run(LseOfSink::included);
  check.agree("O with one more key of value 0", y.o, longer.o);
  check.agree("L with one more key", y.lse, longer.lse);
}

CLAIM(attention.sink_logit.grad) {
  // The definition in Dual moves along the sink; the page's formula, written out again, and sink_vjp must agree with
  // it.
  for (const char* convention : {"excluded", "included"}) {
    const Pulled p = pulled(check, convention);
    const Sunk x = sunk_of(p.call);
    const Attention<Bound> y = x.run(LseOfSink::included);
    Tensors direction;
    direction.set("sink", Tensor<double>(Shape{1}, 1.0), nullptr);
    Bound formula(0), sum(0);
    for (Index i = 0; i < y.lse.size(); ++i) {
      Bound D(0);
      for (Index c = 0; c < y.o.cols(); ++c) D = D + p.d_o(i, c) * y.o(i, c);
      if (x.head.opt.lse_of_sink == LseOfSink::included) D = D - p.d_lse[i];
      formula = formula - exp(x.sink[i] - y.lse[i]) * D;
      sum = sum + p.back.dsink[i];
    }
    const Bound moved = pushed(check, p.call, direction, p.d_o, p.d_lse);
    check.agree(std::string("dsigma = -sum exp(sigma - L_incl) D, L ") + convention, formula, moved);
    check.agree(std::string("dsigma of the backward, L ") + convention, sum, moved);
  }
}

CLAIM(attention.sink_logit.mass) {
  Sunk x = sunk_of(check);
  const Vector<Bound> lse = x.run(LseOfSink::included).lse;
  x.head.v = full<Bound>(x.head.v.rows(), 1, 1);
  const Vector<Bound> ones = x.run(LseOfSink::included).o.col(0), mass = mass_of_keys(lse, x.sink);
  check.agree("sum of the weights of the keys", ones, mass);
  for (Index i = 0; i < mass.size(); ++i) check.at_most("sum of the weights", ones[i].v, 1 + ones[i].w);
}

CLAIM(attention.sink_logit.rescale) {
  const Sunk x = sunk_of(check);
  agree(check, "the plain output times 1 / (1 + exp(sigma - L))", with_sink(x.head.run(), x.sink),
        x.run(LseOfSink::excluded));
}

CLAIM(attention.sink_logit.split) {
  const Sunk x = sunk_of(check);
  const Index n = x.head.k.rows();
  const Matrix<Bound> s = x.head.logits();
  const Chunks parts = random_chunks(check, "parts", n);
  const auto once = static_cast<std::size_t>(check.pick("holder", 0, static_cast<Index>(parts.size()) - 1));
  const auto part = [&](std::size_t r) {
    Mask keep(s.rows(), s.cols(), 0);
    for (Index i = 0; i < s.rows(); ++i)
      for (const Index j : parts[r]) keep(i, j) = x.head.keep.data() == nullptr || x.head.keep(i, j);
    return softmax_mean(s, x.head.v, keep, Vector<Bound>());
  };
  const SoftmaxMean<Bound> sink = as_part(sink_state(x.sink, x.head.v.cols()));
  SoftmaxMean<Bound> last = part(0), within = once == 0 ? softmax_merge(last, sink) : last;
  for (std::size_t r = 1; r < parts.size(); ++r) {
    const SoftmaxMean<Bound> next = part(r);
    last = softmax_merge(last, next);
    within = softmax_merge(within, r == once ? softmax_merge(next, sink) : next);
  }
  last = softmax_merge(last, sink);
  const Attention<Bound> whole = x.run(LseOfSink::included);
  agree(check, "the sink merged after all parts", {last.o, last.lse}, whole);
  agree(check, "the sink in one part", {within.o, within.lse}, whole);
}

}  // namespace assay

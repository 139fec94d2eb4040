// Claims of spec/attention/softcap.md on its definition.
#include "conformance/attention/chunks.hpp"
#include "conformance/attention/heads.hpp"
#include "conformance/engine/adjoint.hpp"
#include "reference/attention/softcap.hpp"

namespace assay {
namespace {

Head capped_head(Check& check) {
  if (check.c["softcap"] == 0) check.with("softcap", check.pick("softcap", 1, 2));
  return head_of(check);
}

/// The logits before the cap and the bias.
Matrix<Bound> uncapped(const Head& h) {
  AttentionOptions opt = h.opt;
  opt.softcap = 0;
  return attention_logits(h.q, h.k, Matrix<Bound>(), opt);
}

}  // namespace

CLAIM(attention.softcap.adjoint) {
  const Head h = capped_head(check.with("B", 1).with("Hkv", 1).with("g", 1));
  const Call call = check.call();
  const Matrix<Bound> d_o = cotangent(h.q.rows(), h.v.cols());
  const AttentionVjp<Bound> back = attention_vjp(h.q, h.k, h.v, h.keep, h.bias, d_o, full<Bound>(h.q.rows(), 0), h.opt);
  head_adjoint(check, call, d_o, {{"q", back.dq}, {"k", back.dk}});
}

CLAIM(attention.softcap.as_score_mod) {
  // As a function of the scaled logit of a pair, before bias and mask: C (1 - 2 / (exp(2 s / C) + 1)).
  const Head h = capped_head(check);
  const Bound C(h.opt.softcap);
  const Matrix<Bound> x = uncapped(h);
  Matrix<Bound> s(x.rows(), x.cols());
  for (Index i = 0; i < s.rows(); ++i)
    for (Index j = 0; j < s.cols(); ++j) s(i, j) = C * (Bound(1) - Bound(2) / (exp(Bound(2) * x(i, j) / C) + Bound(1)));
  if (h.bias.data() != nullptr) s = s + h.bias;
  const SoftmaxMean<Bound> y = softmax_mean(s, h.v, h.keep, Vector<Bound>());
  agree(check, "the cap as a modification of scores", {y.o, y.lse}, h.run());
}

CLAIM(attention.softcap.large_c) {
  const Head h = capped_head(check);
  const Matrix<Bound> s = uncapped(h);
  for (const double C : {h.opt.softcap, 50.0, 1000.0}) {
    const Matrix<Bound> capped = softcap(s, C);
    for (Index i = 0; i < s.rows(); ++i)
      for (Index j = 0; j < s.cols(); ++j) {
        // x - tanh x <= x^3 / 3; the value of the right side is off by 8 u of it
        const double x = std::fabs(s(i, j).v), limit = x * x * x / (3 * C * C) * (1 + 0x1p-50);
        check.at_most("|s - s'|", std::fabs(s(i, j).v - capped(i, j).v), limit + s(i, j).w + capped(i, j).w);
      }
  }
}

CLAIM(attention.softcap.odd) {
  const Head h = capped_head(check);
  const Matrix<double> s = values(uncapped(h));
  const Matrix<double> plus = softcap(s, h.opt.softcap), minus = softcap(-1.0 * s, h.opt.softcap);
  for (Index i = 0; i < s.rows(); ++i)
    for (Index j = 0; j < s.cols(); ++j) check.same_bits("the capped logit of -s", minus(i, j), -plus(i, j));
}

CLAIM(attention.softcap.order) {
  check.with("Sq", 4).with("Sk", 4).with("causal", "bottom_right").with("window", 0).with("mask", "none");
  check.with("profile", "normal").with("bias", "none").with("softcap", 1);
  const Head h = head_of(check);
  const Matrix<Bound> late = softcap(select(h.keep, uncapped(h), -infinity), h.opt.softcap);
  check.differ("capping after the mask", softmax_mean(late, h.v, Mask(), Vector<Bound>()).o, h.run().o);
}

}  // namespace assay

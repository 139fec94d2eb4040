// Claims of spec/softmax/safe.md on its definition.
#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"
#include "reference/softmax/safe.hpp"

namespace assay {
namespace {

Matrix<Bound> p_of(const Matrix<Bound>& x, const Mask& keep, const Vector<Bound>& sink) {
  return softmax_safe(x, keep, sink, {}).p;
}
Matrix<Bound> p_of(const Matrix<Bound>& x) { return p_of(x, {}, full<Bound>(x.rows(), -infinity)); }

}  // namespace

CLAIM(softmax.safe.adjoint) {
  const Call call = check.with("profile", "normal").call();
  const Tensors dx = along(call, "x");
  const auto y = check.define<Dual>(call, dx);
  const auto exact = check.define<Bound>(call);
  const Matrix<Bound> p = exact.at("p").matrix(), v = lifted(dx["x"]);
  const Index rows = p.rows(), n = p.cols();
  const Matrix<Bound> g = cotangent(rows, n);
  // an empty row is constant, and its derivative 0: the formulas take p = 0 there
  const RowMask some = !is_neg_inf(exact.at("lse").vector());
  const Matrix<Bound> p0 = select_rows(some, p, 0), g0 = select_rows(some, g, 0);
  const auto moves = [&](const char* output) { return select_rows(some, derivative(y.at(output)), 0); };
  check.agree("<pbar, dp> = <xbar, dx>", inner(g0, moves("p")), inner(softmax_vjp(p0, g0), v));
  const Mask keep = Eval<Bound>(call).mask("mask");
  const Matrix<Bound> h = select(keep, g0, 0);  // log p of a masked entry is -inf: no gradient comes from there
  check.agree("<log p bar, dlog p> = <xbar, dx>", inner(h, select(keep, moves("log_p"), 0)),
              inner(log_softmax_vjp(p0, h), v));
  if (!call.inputs.has("sink")) {
    const Vector<Bound> dlse = g.rows() > 0 && n > 0 ? g0.col(0) : full<Bound>(rows, 0);
    check.agree("<LSE bar, dLSE> = <xbar, dx>", inner(as_col(dlse), moves("lse")), inner(lse_vjp(p0, dlse), v));
    return;
  }
  const Tensors dsink = along(call, "sink");
  const auto ys = check.define<Dual>(call, dsink);
  const Vector<Bound> sink = check.vector<Bound>("sink");
  // p_g = 1 - sum p, computed as the softmax of the row with the sink as one more logit
  const Matrix<Bound> joined = concat_cols(select(keep, check.matrix<Bound>("x"), -infinity), as_col(sink));
  const Vector<Bound> p_sink = p_of(joined).col(n);
  check.agree("<pbar, dp> = <gbar, dg>", inner(g, derivative(ys.at("p"))),
              inner(softmax_sink_vjp(p_of(joined).col_range(0, n), p_sink, g), lifted(dsink["sink"]).col(0)));
}

CLAIM(softmax.safe.base2) {
  const Matrix<Bound> x = check.with("profile", "normal").with("sink", "none").with("mask", "none").matrix<Bound>("x");
  if (x.cols() == 0) return check.nothing_to_compare();
  const double log2e = 1.4426950408889634074;
  const Vector<Bound> m = anchor(max_rows(x));
  const Matrix<Bound> e = exp2(sub_rows(log2e * x, log2e * m));
  // the constant is log2 e (1 + d), |d| <= u: an error of u |x - m| in the exponent, on both sides of the division
  Matrix<Bound> left = div_rows(e, sum_rows(e));
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index i = 0; i < x.cols(); ++i) {
      double spread = 0;
      for (Index j = 0; j < x.cols(); ++j) spread = std::max(spread, std::fabs(x(t, j).v - m[t].v));
      left(t, i).w += left(t, i).v * 2 * 0x1p-53 * spread;
    }
  }
  check.agree("2^((x - m) log2 e) / sum = p", left, p_of(x));
}

CLAIM(softmax.safe.grad_sum0) {
  const auto p = check.with("profile", "normal").with("sink", "none").define<Bound>(check.call()).at("p").matrix();
  if (check.c["empty_row"] != 0) return check.nothing_to_compare();
  const Matrix<Bound> dx = softmax_vjp(p, cotangent(p.rows(), p.cols()));
  check.agree("sum of the gradient of a row", sum_rows(dx), full<Bound>(p.rows(), 0));
}

CLAIM(softmax.safe.log_of) {
  const auto y = check.define<Bound>(check.call());
  check.agree("exp(log p) = p", exp(y.at("log_p").matrix()), y.at("p").matrix());
}

CLAIM(softmax.safe.lse_grad) {
  const Call call = check.with("profile", "normal").with("sink", "none").call();
  const Tensors dx = along(call, "x");
  const auto y = check.define<Dual>(call, dx);
  const auto exact = check.define<Bound>(call);
  const RowMask some = !is_neg_inf(exact.at("lse").vector());
  const Matrix<Bound> p = select_rows(some, exact.at("p").matrix(), 0);
  check.agree("dLSE = <p, dx>", select_rows(some, derivative(y.at("lse")), 0), as_col(dot_rows(p, lifted(dx["x"]))));
}

CLAIM(softmax.safe.mask_equals_drop) {
  const Call call = check.with("mask", "given").with("empty_row", "zero").call();
  const Matrix<Bound> p = check.define<Bound>(call).at("p").matrix();
  const Matrix<Bound> x = check.matrix<Bound>("x");
  const Mask keep = Eval<Bound>(call).mask("mask");
  const Vector<Bound> sink = Eval<Bound>(call).vector_or("sink", x.rows(), -infinity);
  check.nothing_to_compare();
  for (Index t = 0; t < x.rows(); ++t) {
    std::vector<Index> left;
    for (Index i = 0; i < x.cols(); ++i) {
      if (keep.data() == nullptr || keep(t, i)) left.push_back(i);
    }
    const Matrix<Bound> dropped = p_of(take_cols(x.row_range(t, t + 1), left), {}, Vector<Bound>{sink[t]});
    check.agree("masked = dropped", take_cols(p.row_range(t, t + 1), left), dropped);
  }
}

CLAIM(softmax.safe.perm) {
  const Matrix<Bound> x = check.with("sink", "none").with("mask", "none").with("empty_row", "zero").matrix<Bound>("x");
  std::vector<Index> order;
  for (Index i = 0; i < x.cols(); ++i) order.push_back((i * 3 + 1) % x.cols());
  if (x.cols() % 3 == 0) {
    for (Index i = 0; i < x.cols(); ++i) order[static_cast<std::size_t>(i)] = x.cols() - 1 - i;
  }
  const Matrix<Bound> moved = take_cols(x, order);
  check.agree("p of the permuted row", p_of(moved), take_cols(p_of(x), order));
  check.same_bits("maximum", values(max_rows(moved)), values(max_rows(x)));
}

CLAIM(softmax.safe.safe_eq_plain) {
  const Matrix<Bound> x = check.with("profile", "normal").with("sink", "none").with("mask", "none").matrix<Bound>("x");
  if (x.cols() == 0) return check.nothing_to_compare();
  const Matrix<Bound> e = exp(x);
  check.agree("e^x / sum e^x = p", div_rows(e, sum_rows(e)), p_of(x));
}

CLAIM(softmax.safe.shift) {
  // small integers plus an integer: every sum is exact, so bitwise
  const Matrix<Bound> x = check.with("profile", "small_integers")
                              .with("sink", "none")
                              .with("mask", "none")
                              .with("empty_row", "zero")
                              .matrix<Bound>("x");
  const double c = static_cast<double>(check.c["shift"]);
  check.same_bits("p(x + c), exact sums", values(p_of(c + x)), values(p_of(x)));
  const Matrix<Bound> y = check.with("profile", "normal").matrix<Bound>("x");
  check.agree("p(x + c)", p_of(c + y), p_of(y));
}

CLAIM(softmax.safe.sink_drop) {
  const Call call = check.with("sink", "logit").with("empty_row", "zero").call();
  const Matrix<Bound> x = check.matrix<Bound>("x");
  const Mask keep = Eval<Bound>(call).mask("mask");
  const Matrix<Bound> joined = concat_cols(select(keep, x, -infinity), as_col(check.vector<Bound>("sink")));
  check.agree("p with a sink", check.define<Bound>(call).at("p").matrix(), p_of(joined).col_range(0, x.cols()));
}

}  // namespace assay

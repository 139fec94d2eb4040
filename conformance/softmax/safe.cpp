#include "reference/softmax/safe.hpp"

#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"

// Claims of spec/softmax/safe.md.
namespace assay {
namespace {

template <class T>
void softmax_op(Eval<T>& e) {
  const Matrix<T> x = e.matrix("x");
  const Softmax<T> r =
      softmax_safe(x, e.mask("mask"), e.vector_or("sink", x.rows(), -infinity), e.template options<SoftmaxOptions>());
  e.out("p", r.p);
  e.out("log_p", r.log_p);
  e.out("lse", r.lse);
}

// ---- helpers: rows of a case
// ---------------------------------------------------------------------------------------------

bool kept(const Call& call, Index t, Index i) { return !call.inputs.has("mask") || call["mask"].matrix()(t, i) != 0; }

/// What a row holds: the largest kept logit (and the sink, if asked), whether a kept one is NaN or +inf, how many are
/// finite.
struct Row {
  double max = -infinity;
  bool poisoned = false;
  Index finite = 0;
};
Row look(const Call& call, Index t, bool with_sink = true) {
  Row r;
  const Matrix<double> x = call["x"].matrix();
  const auto see = [&r](double v) {
    r.poisoned = r.poisoned || std::isnan(v) || v == infinity;
    r.finite += std::isfinite(v);
    if (v > r.max) r.max = v;
  };
  for (Index i = 0; i < x.cols(); ++i) {
    if (kept(call, t, i)) see(x(t, i));
  }
  if (with_sink && call.inputs.has("sink")) see(call["sink"].vector()[t]);
  return r;
}

Matrix<Bound> p_of(const Matrix<Bound>& x, const Mask& keep, const Vector<Bound>& sink) {
  return softmax_safe(x, keep, sink, {}).p;
}
Matrix<Bound> p_of(const Matrix<Bound>& x) { return p_of(x, {}, full<Bound>(x.rows(), -infinity)); }

}  // namespace

DEFINITION(softmax.safe, softmax, softmax_op)

// ---- on: target
// ----------------------------------------------------------------------------------------------------------

CLAIM(softmax.safe.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(softmax.safe.empty_row) {
  if (check.c["n"] > 0 && check.pick("how", 0, 1) == 0) check.with("mask", "given").with("mask_is", "empty_rows");
  Call call = check.call();
  if (!call.inputs.has("mask")) {  // a row of -inf, and a sink that takes no part
    const Tensor<double> x = call["x"].clone();
    for (Index i = 0, n = x.size(); i < n; ++i) x.data()[i] = -infinity;
    call.set("x", x);
  }
  if (call.inputs.has("sink")) call.set("sink", full<double>(call["sink"].size(), -infinity));
  const Tensors out = check.run(call);
  const Index rows = call.size("T"), n = call.size("n");
  const double p_empty = call.option("empty_row") == 1   ? not_a_number
                         : call.option("empty_row") == 2 ? round_to(*call.contract.out, 1.0 / static_cast<double>(n))
                                                         : 0.0;
  for (Index t = 0; t < rows; ++t) {
    if (look(call, t).max != -infinity || look(call, t).poisoned) continue;
    if (out.has("lse")) check.same_bits("LSE of an empty row", out["lse"].vector()[t], -infinity);
    for (Index i = 0; i < n && out.has("p"); ++i)
      check.same_bits("p of an empty row", out["p"].matrix()(t, i), p_empty);
  }
  if (rows == 0 || check.compared() == 0) check.nothing_to_compare();
}

CLAIM(softmax.safe.log_finite) {
  check.need("log_p");
  Call call = check.with("profile", "huge_logits").with("sink", "none").call();
  const Matrix<double> log_p = check.run(call)["log_p"].matrix();
  const Matrix<double> x = call["x"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index i = 0; i < x.cols(); ++i) {
      if (!kept(call, t, i) || std::isinf(round_to(*call.contract.out, x(t, i) - look(call, t).max))) continue;
      check.require(std::isfinite(log_p(t, i)), "log p of a finite, kept logit is finite", log_p(t, i));
    }
  }
}

CLAIM(softmax.safe.lse_bounds) {
  check.need("lse");
  const Call call = check.call();
  const Vector<double> lse = check.run(call)["lse"].vector();
  const double u = check.u_acc();
  check.nothing_to_compare();
  for (Index t = 0; t < lse.size(); ++t) {
    const Row r = look(call, t, false);
    if (r.poisoned || r.finite == 0) continue;
    // LSE^ = m + ln l^: l^ within (n + 2 kappa) u relative, ln within its own error, one addition
    const double n = static_cast<double>(r.finite), ln_n = std::log(n);
    const double kappa = 2 * call.contract.exp_ulp, kappa_ln = 2 * call.contract.log_ulp;
    const double slack = u * (n + 2 * kappa + kappa_ln * ln_n + std::fabs(r.max) + ln_n) * (1 + 0x1p-6) +
                         call.contract.acc->min_subnormal();
    check.at_most("max - LSE", r.max - lse[t], slack);
    check.at_most("LSE - (max + ln n)", lse[t] - (r.max + ln_n), slack);
  }
}

CLAIM(softmax.safe.masked_zero) {
  check.need("p");
  const Call call = check.with("mask", "given").with("empty_row", "zero").call();
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    if (look(call, t).poisoned) continue;
    for (Index i = 0; i < p.cols(); ++i) {
      if (!kept(call, t, i)) check.same_bits("p of a masked entry", p(t, i), 0.0);
    }
  }
}

CLAIM(softmax.safe.max_share) {
  check.need("p");
  const Call call = check.with("sink", "none").call();
  const Matrix<double> p = check.run(call)["p"].matrix();
  const Matrix<double> x = call["x"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    const Row r = look(call, t);
    if (r.poisoned || r.max == -infinity) continue;
    const double n = static_cast<double>(r.finite);
    const double share = round_to(*call.contract.out, 1 / n * (1 - (n + 1) * check.u_acc() - check.u_p()), Round::down);
    for (Index i = 0; i < p.cols(); ++i) {
      if (kept(call, t, i) && x(t, i) == r.max) check.at_most("1/n (1 - (n+1)u) - p at the maximum", share, p(t, i));
    }
  }
}

CLAIM(softmax.safe.monotone) {
  check.need("p");
  const Call call = check.call();
  const Matrix<double> p = check.run(call)["p"].matrix();
  const Matrix<double> x = call["x"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    const Row r = look(call, t);
    if (r.poisoned || r.max == -infinity) continue;
    for (Index i = 1; i < p.cols(); ++i) {
      for (const Index j : {i - 1, Index{0}}) {
        if (!kept(call, t, i) || !kept(call, t, j)) continue;
        const bool up = x(t, i) >= x(t, j);
        check.at_most("p of the smaller logit", up ? p(t, j) : p(t, i), up ? p(t, i) : p(t, j));
      }
    }
  }
}

CLAIM(softmax.safe.nan_isolation) {
  if (check.c["n"] == 0) check.with("n", 1);
  if (check.c["T"] == 0) check.with("T", 1);
  const Call clean = check.with("mask", "none").call();
  const Tensors before = check.run(clean);
  const Index bad_row = check.pick("row", 0, check.c["T"] - 1), bad_col = check.pick("col", 0, check.c["n"] - 1);
  for (const double poison : {not_a_number, infinity}) {
    if (std::isinf(poison) && !clean.contract.in->has_infinity()) continue;
    Call call = clean;
    const Tensor<double> x = clean["x"].clone();
    x.data()[bad_row * check.c["n"] + bad_col] = poison;
    call.set("x", x);
    const Tensors after = check.run(call);
    for (const std::string name : {"p", "log_p"}) {
      if (!after.has(name)) continue;
      const Matrix<double> y = after[name].matrix(), was = before[name].matrix();
      for (Index t = 0; t < y.rows(); ++t) {
        for (Index i = 0; i < y.cols(); ++i)
          check.same_bits(name + (t == bad_row ? " of the poisoned row" : " of another row"), y(t, i),
                          t == bad_row ? not_a_number : was(t, i));
      }
    }
  }
}

CLAIM(softmax.safe.range) {
  check.need("p");
  const Call call = check.call();
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    const Row r = look(call, t);
    if (r.poisoned || r.max == -infinity) continue;
    for (Index i = 0; i < p.cols(); ++i) {
      check.at_most("p", p(t, i), 1);
      check.at_most("-p", -p(t, i), 0);
    }
  }
}

CLAIM(softmax.safe.relerr) {
  check.need("p");
  const Call call = check.with("sink", "none").call();
  const Matrix<double> got = check.run(call)["p"].matrix();
  const Matrix<double> x = call["x"].matrix();
  const Matrix<double> p = check.define<double>(call)["p"].matrix();
  const double kappa = 2 * call.contract.exp_ulp;
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    const Row r = look(call, t);
    if (r.poisoned || r.max == -infinity) continue;
    double spread = 0;
    for (Index j = 0; j < p.cols(); ++j) spread += p(t, j) > 0 ? p(t, j) * std::fabs(x(t, j) - r.max) : 0;
    for (Index i = 0; i < p.cols(); ++i) {
      if (!(p(t, i) >= 2 * std::max(call.contract.out->min_normal(), call.contract.acc->min_normal()))) continue;
      const double acc =
          check.u_acc() * (std::fabs(x(t, i) - r.max) + spread + 2 * kappa + static_cast<double>(r.finite)) +
          check.u_p();
      check.at_most("|p^/p - 1|", std::fabs(got(t, i) / p(t, i) - 1), acc * (1 + 0x1p-6) + check.u_out() * (1 + acc));
    }
  }
}

CLAIM(softmax.safe.single) {
  check.need("p");
  const Call call = check.with("n", 1).with("sink", "none").with("mask", "none").call();
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    if (std::isfinite(call["x"].matrix()(t, 0))) check.same_bits("p of the only entry", p(t, 0), 1.0);
  }
}

CLAIM(softmax.safe.sink_neg_inf) {
  const Call without = check.with("sink", "none").call();
  Call with = check.with("sink", "logit").call();
  with.set("sink", full<double>(with["sink"].size(), -infinity));
  const Tensors left = check.run(with), right = check.run(without);
  for (const Named& t : left.all()) check.same_bits(t.name, t.value, right[t.name]);
}

CLAIM(softmax.safe.sum1) {
  check.need("p");
  const Call call = check.with("sink", "none").call();
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    const Row r = look(call, t);
    if (r.poisoned || r.max == -infinity) continue;
    double sum = 0,
           half_ulps = 0;  // doubles add these few values far below u of any contract but fp64, which (n+1)u covers
    for (Index i = 0; i < p.cols(); ++i) {
      sum += p(t, i);
      half_ulps += ulp(*call.contract.out, p(t, i)) / 2;  // what the output's own rounding may move
    }
    const double n = static_cast<double>(r.finite);
    check.at_most("|sum p - 1|", std::fabs(sum - 1), (n + 1) * check.u_acc() * (1 + 0x1p-6) + check.u_p() + half_ulps);
  }
}

// ---- on: definition
// --------------------------------------------------------------------------------------------------------

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
  const Vector<Bound> sink = Eval<Bound>(call).vector_or("sink", x.rows(), -infinity);
  check.nothing_to_compare();
  for (Index t = 0; t < x.rows(); ++t) {
    std::vector<Index> left;
    for (Index i = 0; i < x.cols(); ++i) {
      if (kept(call, t, i)) left.push_back(i);
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

#include "reference/softmax/plain.hpp"

#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"
#include "reference/softmax/safe.hpp"

// Claims of spec/softmax/plain.md.
namespace assay {
namespace {

template <class T>
void softmax_plain_op(Eval<T>& e) {
  const Matrix<T> x = e.matrix("x");
  const SoftmaxPlain<T> r = softmax_plain(x, e.mask("mask"), e.vector_or("sink", x.rows(), -infinity));
  e.out("p", r.p);
  e.out("lse", r.lse);
}

// ---- helpers
// -----------------------------------------------------------------------------------------------------------------

/// The call with its finite logits cut to where no exponential and no sum of a row leaves the normal numbers of the
/// accumulator: e^|x| 2 (n + 1) <= max_finite, the sink counted, and e^-|x| >= min_normal.
Call in_range(Call call) {
  const double n = static_cast<double>(call.size("n"));
  const Format& acc = *call.contract.acc;
  const double limit = round_to(
      *call.contract.in, std::min(std::log(acc.max_finite() / (2 * (n + 1))), -std::log(acc.min_normal())) - 0.25,
      Round::toward_zero);
  for (const char* name : {"x", "sink"}) {
    if (!call.inputs.has(name)) continue;
    const Tensor<double> x = call[name].clone();
    for (Index i = 0, size = x.size(); i < size; ++i) {
      double& v = x.data()[i];
      if (std::isfinite(v)) v = std::min(std::max(v, -limit), limit);
    }
    call.set(name, x);
  }
  return call;
}

bool kept(const Call& call, Index t, Index i) { return !call.inputs.has("mask") || call["mask"].matrix()(t, i) != 0; }

/// The largest kept logit of a row (-inf: none) and how many are finite.
struct Row {
  double max = -infinity;
  double finite = 0;
};
Row look(const Call& call, Index t) {
  Row r;
  const Matrix<double> x = call["x"].matrix();
  for (Index i = 0; i < x.cols(); ++i) {
    if (!kept(call, t, i)) continue;
    r.max = std::max(r.max, x(t, i));
    r.finite += std::isfinite(x(t, i));
  }
  return r;
}

Matrix<Bound> p_of(const Matrix<Bound>& x) { return softmax_plain(x, {}, full<Bound>(x.rows(), -infinity)).p; }
Matrix<Bound> safe_of(const Matrix<Bound>& x) { return softmax_safe(x, {}, full<Bound>(x.rows(), -infinity), {}).p; }

/// Logits under a contract, and what the two definitions make of them if every rounding site is emulated.
struct Emulated {
  Call call;             // of the safe op
  Matrix<double> plain;  // [T, n]
  Tensors safe;          // p
};
Emulated emulate(const Contract& contract, const Matrix<double>& x) {
  const Reading sites{&contract, true, reading().z};
  const ReadingScope scope(sites);
  const Vector<double> none = full<double>(x.rows(), -infinity);
  Emulated r;
  r.call.op = &page_of_op("softmax").op;
  r.call.contract = contract;
  r.call.options.assign(r.call.op->options.size(), 0);
  r.call.inputs.set("x", x, contract.in);
  r.plain = softmax_plain(x, {}, none).p;
  r.safe.set("p", softmax_safe(x, {}, none, {}).p, contract.out);
  return r;
}

}  // namespace

DEFINITION(softmax.plain, softmax_plain, softmax_plain_op)

// ---- on: target
// -----------------------------------------------------------------------------------------------------------------

CLAIM(softmax.plain.accuracy) {
  const Call call = in_range(check.call());
  check.accurate(call, check.run(call));
}

CLAIM(softmax.plain.lse_bounds) {
  check.need("lse");
  const Call call = in_range(check.call());
  const Vector<double> lse = check.run(call)["lse"].vector();
  check.nothing_to_compare();
  for (Index t = 0; t < lse.size(); ++t) {
    const Row r = look(call, t);
    if (r.finite == 0) continue;
    // LSE^ = ln s^: s^ within (n + kappa) u relative, ln within its own error
    const double ln_n = std::log(r.finite), kappa = 2 * call.contract.exp_ulp, kappa_ln = 2 * call.contract.log_ulp;
    const double slack = check.u_acc() * (r.finite + kappa + kappa_ln * (std::fabs(r.max) + ln_n)) * (1 + 0x1p-6) +
                         call.contract.acc->min_subnormal();
    check.at_most("max - LSE", r.max - lse[t], slack);
    check.at_most("LSE - (max + ln n)", lse[t] - (r.max + ln_n), slack);
  }
}

CLAIM(softmax.plain.masked_zero) {
  check.need("p");
  const Call call = in_range(check.with("mask", "given").call());
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    for (Index i = 0; i < p.cols(); ++i) {
      if (!kept(call, t, i)) check.same_bits("p of a masked entry", p(t, i), 0.0);
    }
  }
}

CLAIM(softmax.plain.monotone) {
  check.need("p");
  const Call call = in_range(check.call());
  const Matrix<double> p = check.run(call)["p"].matrix();
  const Matrix<double> x = call["x"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    for (Index i = 1; i < p.cols(); ++i) {
      for (const Index j : {i - 1, Index{0}}) {
        if (!kept(call, t, i) || !kept(call, t, j)) continue;
        const bool up = x(t, i) >= x(t, j);
        check.at_most("p of the smaller logit", up ? p(t, j) : p(t, i), up ? p(t, i) : p(t, j));
      }
    }
  }
}

CLAIM(softmax.plain.range) {
  check.need("p");
  const Call call = in_range(check.call());
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    for (Index i = 0; i < p.cols(); ++i) {
      check.at_most("p", p(t, i), 1);
      check.at_most("-p", -p(t, i), 0);
    }
  }
}

CLAIM(softmax.plain.sum1) {
  check.need("p");
  const Call call = in_range(check.with("sink", "none").call());
  const Matrix<double> p = check.run(call)["p"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < p.rows(); ++t) {
    const Row r = look(call, t);
    if (r.finite == 0) continue;
    double sum = 0, half_ulps = 0;  // half_ulps: what the output's own rounding may move
    for (Index i = 0; i < p.cols(); ++i) {
      sum += p(t, i);
      half_ulps += ulp(*call.contract.out, p(t, i)) / 2;
    }
    check.at_most("|sum p - 1|", std::fabs(sum - 1),
                  (r.finite + 1) * check.u_acc() * (1 + 0x1p-6) + check.u_p() + half_ulps);
  }
}

// ---- on: definition
// -----------------------------------------------------------------------------------------------------------------

CLAIM(softmax.plain.adjoint) {
  const Call call = check.with("profile", "normal").call();
  const Tensors dx = along(call, "x");
  const auto y = check.define<Dual>(call, dx);
  const Matrix<Bound> p = check.define<Bound>(call).at("p").matrix(), g = cotangent(p.rows(), p.cols());
  check.agree("<pbar, dp> = <xbar, dx>", inner(g, derivative(y.at("p"))), inner(softmax_vjp(p, g), lifted(dx["x"])));
}

CLAIM(softmax.plain.base2) {
  const Matrix<Bound> x = check.with("sink", "none").with("mask", "none").with("profile", "normal").matrix<Bound>("x");
  if (x.cols() == 0) return check.nothing_to_compare();
  const Matrix<Bound> e = exp2(1.4426950408889634074 * x);
  Matrix<Bound> left = div_rows(e, sum_rows(e));
  // the constant is log2 e (1 + d), |d| <= u: an error of u |x| in each exponent, on both sides of the division
  for (Index t = 0; t < x.rows(); ++t) {
    double largest = 0;
    for (Index i = 0; i < x.cols(); ++i) largest = std::max(largest, std::fabs(x(t, i).v));
    for (Index i = 0; i < x.cols(); ++i) left(t, i).w += left(t, i).v * 2 * 0x1p-53 * largest * (1 + 0x1p-40);
  }
  check.agree("2^(x log2 e) / sum = p", left, p_of(x));
}

CLAIM(softmax.plain.grad_sum0) {
  const Call call = check.with("profile", "normal").with("sink", "none").call();
  const Matrix<Bound> p = check.define<Bound>(call).at("p").matrix();
  const Matrix<Bound> dx = softmax_vjp(p, cotangent(p.rows(), p.cols()));
  check.agree("sum of the gradient of a row", sum_rows(dx), full<Bound>(p.rows(), 0));
}

CLAIM(softmax.plain.lse_grad) {
  const Call call = check.with("profile", "normal").with("sink", "none").call();
  const Tensors dx = along(call, "x");
  const auto exact = check.define<Bound>(call);
  const RowMask some = !is_neg_inf(exact.at("lse").vector());
  const Matrix<Bound> left = derivative(check.define<Dual>(call, dx).at("lse"));
  check.agree("dLSE = <p, dx>", select_rows(some, left, 0), as_col(dot_rows(exact.at("p").matrix(), lifted(dx["x"]))));
}

CLAIM(softmax.plain.mask_equals_drop) {
  const Call call = check.with("mask", "given").call();
  const Matrix<Bound> p = check.define<Bound>(call).at("p").matrix();
  const Matrix<Bound> x = check.matrix<Bound>("x");
  const Vector<Bound> sink = Eval<Bound>(call).vector_or("sink", x.rows(), -infinity);
  check.nothing_to_compare();
  for (Index t = 0; t < x.rows(); ++t) {
    std::vector<Index> left;
    for (Index i = 0; i < x.cols(); ++i) {
      if (kept(call, t, i)) left.push_back(i);
    }
    const Matrix<Bound> dropped = softmax_plain(take_cols(x.row_range(t, t + 1), left), {}, {sink[t]}).p;
    check.agree("masked = dropped", take_cols(p.row_range(t, t + 1), left), dropped);
  }
}

CLAIM(softmax.plain.overflow) {
  if (check.c["n"] == 0) check.with("n", 1);
  const Contract fp32 = parse_contract("fp32");
  Check single(check.c, nullptr, fp32, reading().z);
  Matrix<double> x = single.with("profile", "normal")
                         .with("sink", "none")
                         .with("mask", "none")
                         .with("T", 2)
                         .call()["x"]
                         .clone()
                         .matrix();
  const Index n = x.cols(), hot = check.pick("column", 0, n - 1);
  x(0, hot) = 88.75 + static_cast<double>(check.pick("above", 0, 40)) / 4;  // ln(2^128) = 88.7228
  // exp(-104) = 0.97 2^-150, half of the least positive number
  for (Index i = 0; i < n; ++i) x(1, i) = round_to(*fp32.in, -104 - std::fabs(x(1, i)));
  const Emulated r = emulate(fp32, x);
  for (Index i = 0; i < n; ++i) {
    check.same_bits("plain p where exp overflows, and beside it", r.plain(0, i), i == hot ? not_a_number : 0);
    check.same_bits("plain p of a row whose exponentials are all 0", r.plain(1, i), not_a_number);
  }
  single.accurate(r.call, r.safe);  // safe softmax is right there, with the same sites emulated
  const Matrix<Bound> exact = lifted(x);
  check.agree("in double plain = safe", p_of(exact), safe_of(exact));  // it is the format that differs
}

CLAIM(softmax.plain.perm) {
  const Matrix<Bound> x = check.with("sink", "none").with("mask", "none").matrix<Bound>("x");
  std::vector<Index> order;
  for (Index i = 0; i < x.cols(); ++i) order.push_back(x.cols() % 3 == 0 ? x.cols() - 1 - i : (i * 3 + 1) % x.cols());
  check.agree("p of the permuted row", p_of(take_cols(x, order)), take_cols(p_of(x), order));
}

CLAIM(softmax.plain.safe_eq_plain) {
  // to the edge of what is claimed: |x| <= 79.75, the largest there, n <= 70 < 6000
  const Contract fp32 = parse_contract("fp32");
  Check single(check.c, nullptr, fp32, reading().z);
  Matrix<double> x =
      single.with("profile", "normal").with("sink", "none").with("mask", "none").call()["x"].clone().matrix();
  double largest = 0;
  for (Index i = 0; i < x.rows() * x.cols(); ++i) largest = std::max(largest, std::fabs(x.data()[i]));
  for (Index i = 0; i < x.rows() * x.cols(); ++i) x.data()[i] = round_to(*fp32.in, x.data()[i] / largest * 79.75);
  check.agree("plain = safe", p_of(lifted(x)), safe_of(lifted(x)));
  // nothing of it over- or underflows in fp32: with its sites emulated it is a correct safe softmax
  Emulated r = emulate(fp32, x);
  r.safe.set("p", r.plain, fp32.out);
  single.accurate(r.call, r.safe);
}

CLAIM(softmax.plain.shift) {
  const Matrix<Bound> x = check.with("sink", "none").with("mask", "none").matrix<Bound>("x");
  const double c = static_cast<double>(check.c["shift"]);
  check.agree("p(x + c)", p_of(c + x), p_of(x));
}

CLAIM(softmax.plain.sink_drop) {
  const Call call = check.with("sink", "logit").call();
  const Matrix<Bound> x = check.matrix<Bound>("x"), p = check.define<Bound>(call).at("p").matrix();
  const Mask keep = Eval<Bound>(call).mask("mask");
  const Matrix<Bound> joined = concat_cols(select(keep, x, -infinity), as_col(check.vector<Bound>("sink")));
  check.agree("p with a sink", p, p_of(joined).col_range(0, x.cols()));
  Call none = call;
  none.set("sink", full<double>(x.rows(), -infinity));
  const Call without = check.with("sink", "none").call();
  check.same_bits("p with a sink of -inf", values(check.define<Bound>(none).at("p").matrix()),
                  values(check.define<Bound>(without).at("p").matrix()));
}

}  // namespace assay

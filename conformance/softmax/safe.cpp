#include "reference/softmax/safe.hpp"

#include <cmath>

#include "conformance/engine/claim.hpp"

// Claims of spec/softmax/safe.md on targets.
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

// Rows of a case.

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

}  // namespace

DEFINITION(softmax.safe, softmax, softmax_op)

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

}  // namespace assay

#include "reference/model/linear.hpp"

#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"

// Claims of spec/model/linear.md.
namespace assay {
namespace {

template <class T>
void linear_op(Eval<T>& e) {
  const Matrix<T> x = e.matrix("x"), w = e.matrix("w");
  e.out("y", e.has("b") ? linear(x, w, e.vector("b")) : linear(x, w));
}

/// The same call with some columns of w (and of b) alone.
Call columns(const Call& call, Index first, Index last) {
  Call part = call;
  part.set("w", Tensor<double>(call["w"].matrix().col_range(first, last)).clone());
  if (call.inputs.has("b")) {
    Vector<double> b(last - first);
    for (Index j = first; j < last; ++j) b[j - first] = call["b"].vector()[j];
    part.set("b", b);
  }
  return part;
}

}  // namespace

DEFINITION(model.linear, linear, linear_op)

// ---- on: target
// ----------------------------------------------------------------------------------------------------------

CLAIM(model.linear.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(model.linear.bound) {
  const Call call = check.call();
  const Matrix<double> got = check.run(call)["y"].matrix();
  const Matrix<double> y = check.define<double>(call)["y"].matrix(), x = call["x"].matrix(), w = call["w"].matrix();
  const double steps = static_cast<double>(x.cols()) + (call.inputs.has("b") ? 1 : 0), u = check.u_acc();
  const double gamma = steps * u / (1 - steps * u) * (call.contract.kind == Accumulate::nearest ? 1 : 2);
  check.nothing_to_compare();
  for (Index t = 0; t < y.rows(); ++t) {
    for (Index j = 0; j < y.cols(); ++j) {
      double terms = call.inputs.has("b") ? std::fabs(call["b"].vector()[j]) : 0;
      for (Index i = 0; i < x.cols(); ++i) terms += std::fabs(x(t, i) * w(i, j));
      // an integer output is exact or rounded to half a step
      const double rounding =
          call.contract.out->fixed_point()
              ? 0.5 * call.contract.out->min_subnormal()
              : std::max(check.u_out() * (std::fabs(y(t, j)) + gamma * terms), call.contract.out->min_subnormal());
      if (std::fabs(y(t, j)) + gamma * terms >= call.contract.out->max_finite()) continue;
      // the reference's own chain of fma: steps u64 terms
      const double own = steps * 0x1p-53 * terms;
      check.at_most("|y^ - y|", std::fabs(got(t, j) - y(t, j)), gamma * terms + rounding + own);
    }
  }
}

CLAIM(model.linear.concat_out) {
  if (check.c["n_out"] < 2) check.with("n_out", 2);
  const Call call = check.call();
  const Index n = call.size("n_out"), cut = check.pick("cut", 1, n - 1);
  const Matrix<double> fused = check.run(call)["y"].matrix();
  for (const auto& [first, last] : {std::pair<Index, Index>{0, cut}, {cut, n}}) {
    const Call part = columns(call, first, last);
    const Tensors alone = check.run(part);
    if (check.same_kernel()) check.same_bits("columns of the fused product", fused.col_range(first, last), alone["y"]);
    check.accurate(part, alone);
  }
}

CLAIM(model.linear.empty_k) {
  const Call call = check.with("n_in", 0).call();
  const Matrix<double> y = check.run(call)["y"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < y.rows(); ++t) {
    for (Index j = 0; j < y.cols(); ++j) {
      const double b = call.inputs.has("b") ? round_to(*call.contract.out, call["b"].vector()[j]) : 0.0;
      check.require(y(t, j) == b, "y = b where n_in = 0", y(t, j));
    }
  }
}

CLAIM(model.linear.nan_row) {
  if (!check.contract().in->has_nan()) throw NotOffered{"NaN in format " + std::string(check.contract().in->name)};
  if (check.c["T"] < 2) check.with("T", 2);
  if (check.c["n_in"] < 1) check.with("n_in", 1);
  const Call clean = check.call();
  const Index rows = clean.size("T"), n = clean.size("n_in");
  const Index bad = check.pick("row", 0, rows - 1), i = check.pick("col", 0, n - 1);
  const Matrix<double> before = check.run(clean)["y"].matrix();
  for (const double poison : {not_a_number, infinity}) {
    if (!std::isnan(poison) && !clean.contract.in->has_infinity()) continue;
    Call call = clean;
    const Tensor<double> x = clean["x"].clone();
    x.data()[bad * n + i] = poison;
    call.set("x", x);
    if (std::isinf(poison)) {  // meets a weight of 0: NaN, which padding must not hide
      const Tensor<double> w = clean["w"].clone();
      for (Index j = 0; j < w.shape()[1]; ++j) w.data()[i * w.shape()[1] + j] = 0;
      call.set("w", w);
    }
    const Matrix<double> after = check.run(call)["y"].matrix();
    for (Index t = 0; t < rows; ++t) {
      for (Index j = 0; j < after.cols(); ++j) {
        if (t == bad)
          check.same_bits("y of the poisoned row", after(t, j), not_a_number);
        else if (std::isnan(poison))
          check.same_bits("y of another row", after(t, j), before(t, j));
        else
          check.require(!std::isnan(after(t, j)), "an infinity in one row makes no other row NaN", after(t, j));
      }
    }
  }
}

CLAIM(model.linear.row_indep) {
  if (check.c["T"] < 2) check.with("T", 2);
  const Call call = check.call();
  const Index rows = call.size("T"), t = check.pick("row", 0, rows - 1);
  const Matrix<double> batch = check.run(call)["y"].matrix();
  Call alone = call;
  alone.set("x", Tensor<double>(call["x"].matrix().row_range(t, t + 1)).clone());
  const Tensors single = check.run(alone);
  if (check.same_kernel()) check.same_bits("a row alone and in a batch", batch.row_range(t, t + 1), single["y"]);
  check.accurate(alone, single);
}

// ---- on: definition
// --------------------------------------------------------------------------------------------------------

CLAIM(model.linear.additive) {
  const Matrix<Bound> x = check.with("bias", "given").matrix<Bound>("x"), w = check.matrix<Bound>("w");
  const Matrix<Bound> other = cotangent(x.rows(), x.cols());
  const Vector<Bound> b = check.vector<Bound>("b");
  check.agree("f(x + x') = f(x) + f(x') - b", linear(x + other, w, b),
              add_cols(linear(x, w, b) + linear(other, w, b), -1.0 * b));
}

CLAIM(model.linear.adjoint) {
  const Call call = check.with("bias", "given").call();
  const Matrix<Bound> x = check.matrix<Bound>("x"), w = check.matrix<Bound>("w");
  const Matrix<Bound> dy = cotangent(x.rows(), w.cols());
  const LinearVjp<Bound> vjp = linear_vjp(x, w, dy);
  const auto moves = [&](const char* input) {
    const Tensors d = along(call, input);
    return std::pair(inner(dy, derivative(check.define<Dual>(call, d)["y"])), lifted(d[input]));
  };
  const auto [in_x, dx] = moves("x");
  check.agree("<ybar, dy> = <xbar, dx>", in_x, inner(vjp.dx, dx));
  const auto [in_w, dw] = moves("w");
  check.agree("<ybar, dy> = <wbar, dw>", in_w, inner(vjp.dw, dw));
  const auto [in_b, db] = moves("b");
  check.agree("<ybar, dy> = <bbar, db>", in_b, inner(as_col(vjp.db), db));
}

CLAIM(model.linear.concat_in) {
  const Matrix<Bound> x = check.matrix<Bound>("x"), w = check.matrix<Bound>("w");
  const Index n = x.cols(), cut = check.pick("cut", 0, n);
  check.agree("[x1, x2] [w1; w2] = x1 w1 + x2 w2", linear(x, w),
              linear(x.col_range(0, cut), w.row_range(0, cut)) + linear(x.col_range(cut, n), w.row_range(cut, n)));
}

}  // namespace assay

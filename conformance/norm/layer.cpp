#include "reference/norm/layer.hpp"

#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"
#include "reference/core/math.hpp"
#include "reference/norm/rms.hpp"

// Claims of spec/norm/layer.md.
namespace assay {
namespace {

template <class T>
void layer_norm_op(Eval<T>& e) {
  const auto opt = e.template options<LayerNormOptions>();
  const Matrix<T> x = e.matrix("x");
  const Vector<T> w = e.vector("w");
  e.out("y", e.has("b") ? layer_norm(x, w, e.vector("b"), opt) : layer_norm(x, w, opt));
}

/// x moved to +-10^|offset| with 2^-spread of its own size: a mean that is large against the standard deviation.
Call moved(const Check& check, Call call) {
  const auto offset = static_cast<int>(check.c["offset"]), spread = static_cast<int>(check.c["spread"]);
  if (offset == 0 && spread == 0) return call;
  double to = offset == 0 ? 0 : offset > 0 ? 1 : -1;
  for (int k = 0; k < std::abs(offset); ++k) to *= 10;
  const Tensor<double> x = call["x"].clone();
  for (Index i = 0, n = x.size(); i < n; ++i)
    x.data()[i] = round_to(*call.contract.in, to + std::ldexp(x.data()[i], -spread));
  call.set("x", x);
  return call;
}

LayerNormOptions plain(double eps) {
  LayerNormOptions opt;
  opt.eps = eps;
  opt.bias = LayerNormOptions::Bias::none;
  return opt;
}
template <class T>
Matrix<T> layer(const Matrix<T>& x, double eps) {
  return layer_norm(x, full<T>(x.cols(), 1), plain(eps));
}

/// The case with values whose rows are not constant, eps inside: what claims about derivatives and moments are stated
/// of.
Check& ordinary(Check& check) { return check.with("profile", "normal").with("eps_place", "inside"); }

}  // namespace

DEFINITION(norm.layer, layer_norm, layer_norm_op)

// ---- on: target

CLAIM(norm.layer.accuracy) {
  const Call call = moved(check, check.call());
  check.accurate(call, check.run(call));
}

CLAIM(norm.layer.const_row) {
  Call call = check.call();
  const bool inside = call.option("eps_place") == 0, one_plus = call.option("gain") == 1;
  const double eps = call.option("eps"), u = check.u_acc(), d = static_cast<double>(call.size("d"));
  // c from the case: of ordinary size, or as large as the offset
  double c = 1 + static_cast<double>(check.pick("c", 0, 999)) / 1000;
  for (std::int64_t k = std::abs(check.c["offset"]); k > 0; --k) c *= 10;
  c = round_to(*call.contract.in, check.c["offset"] < 0 ? -c : c);
  call.set("x", Tensor<double>(call["x"].shape(), c));
  const Matrix<double> y = check.run(call)["y"].matrix();
  // d - 1 additions in any order and the division; truncation errs by twice as much
  const double steps = d * u * (call.contract.kind == Accumulate::nearest ? 1 : 2), mean = steps / (1 - steps);
  // what the row's own operations add: 1/sqrt and its argument (the deviations are all equal: d squares, additions,
  // the division, eps), the product
  const double own = (d / 2 + 4 + 2 * call.contract.rsqrt_ulp) * u * (1 + 0x1p-6);
  const double off = std::fabs(c) * mean;
  const double xh = std::min(1.0, inside ? off / std::sqrt(eps) : off / eps) * (1 + own);
  check.nothing_to_compare();
  for (Index t = 0; t < y.rows(); ++t) {
    for (Index i = 0; i < y.cols(); ++i) {
      const double w = call["w"].vector()[i], b = call.inputs.has("b") ? call["b"].vector()[i] : 0;
      const double gain = std::fabs(one_plus ? 1 + w : w) * (1 + u);
      const double moved_by = gain * xh * (1 + 2 * u);
      const double rounding = (check.u_out() * (1 + u) + u) * (std::fabs(b) + moved_by) +
                              call.contract.out->min_subnormal() + 2 * call.contract.acc->min_subnormal();
      check.at_most("|y - beta| of a constant row", std::fabs(y(t, i) - b), moved_by + rounding);
    }
  }
}

CLAIM(norm.layer.inf_row) {
  if (check.c["T"] < 2) check.with("T", 2);
  const Call call = check.call();
  if (!call.contract.in->has_infinity()) return check.nothing_to_compare();
  const Index rows = call.size("T"), d = call.size("d");
  const Index bad = check.pick("row", 0, rows - 1), at = check.pick("col", 0, d - 1);
  Call poisoned = call;
  const Tensor<double> x = call["x"].clone();
  x.data()[bad * d + at] = check.pick("sign", 0, 1) == 0 ? infinity : -infinity;
  poisoned.set("x", x);
  const Matrix<double> before = check.run(call)["y"].matrix(), after = check.run(poisoned)["y"].matrix();
  for (Index t = 0; t < rows; ++t) {
    for (Index i = 0; i < d; ++i) {
      if (t == bad)
        check.same_bits("y of a row with an infinity", after(t, i), not_a_number);
      else
        check.same_bits("y of another row", after(t, i), before(t, i));
    }
  }
}

CLAIM(norm.layer.single) {
  const Call call = moved(check, check.with("d", 1).call());
  const Matrix<double> y = check.run(call)["y"].matrix();
  const double b = call.inputs.has("b") ? round_to(*call.contract.out, call["b"].vector()[0]) : 0;
  check.nothing_to_compare();
  for (Index t = 0; t < y.rows(); ++t) check.require(y(t, 0) == b, "y = beta where d = 1", y(t, 0));
}

// ---- on: definition

CLAIM(norm.layer.adjoint) {
  const Call call = moved(check, ordinary(check).with("bias", "given").call());
  const Matrix<Bound> x = Eval<Bound>(call).matrix("x"), dy = cotangent(x.rows(), x.cols());
  const auto opt = LayerNormOptions::from(call.options);
  const LayerNormVjp<Bound> vjp = layer_norm_vjp(x, check.vector<Bound>("w"), dy, opt);
  const auto moves = [&](const char* input) {
    return inner(dy, derivative(check.define<Dual>(call, along(call, input))["y"]));
  };
  check.agree("<ybar, dy> = <xbar, dx>", moves("x"), inner(vjp.dx, lifted(along(call, "x")["x"])));
  check.agree("<ybar, dy> = <wbar, dw>", moves("w"), inner(as_col(vjp.dw), lifted(along(call, "w")["w"])));
  check.agree("<ybar, dy> = <bbar, db>", moves("b"), inner(as_col(vjp.db), lifted(along(call, "b")["b"])));
}

CLAIM(norm.layer.fold) {
  const Call call = ordinary(check).with("gain", "w").with("bias", "given").call();
  const Matrix<Bound> x = check.matrix<Bound>("x"), weight = cotangent(x.cols(), 5);
  const Vector<Bound> w = check.vector<Bound>("w"), b = check.vector<Bound>("b");
  const auto opt = LayerNormOptions::from(call.options);
  // W [d, n]: b folds into the bias b W, as one row
  const Matrix<Bound> bias = matmul(transpose(as_col(b)), weight);  // [1, n]
  Vector<Bound> row(bias.cols());
  for (Index j = 0; j < bias.cols(); ++j) row[j] = bias(0, j);
  check.agree("LN(x; g, b) W = LN(x; 1, 0) (diag(g) W) + b W", matmul(layer_norm(x, w, b, opt), weight),
              add_cols(matmul(layer(x, opt.eps), matmul(diag(w), weight)), row));
}

CLAIM(norm.layer.grad_radial) {
  const Call call = ordinary(check).call();
  const Matrix<Bound> x = check.matrix<Bound>("x"), dy = cotangent(x.rows(), x.cols());
  const Vector<Bound> w = check.vector<Bound>("w");
  const auto opt = LayerNormOptions::from(call.options);
  const Matrix<Bound> dx = layer_norm_vjp(x, w, dy, opt).dx;
  const Vector<Bound> gain = opt.gain == LayerNormOptions::Gain::w ? w : 1.0 + w;
  const Matrix<Bound> c = sub_rows(x, mean_rows(x));
  const Vector<Bound> variance = mean_rows(c * c);
  const Vector<Bound> right =
      dot_rows(scale_cols(dy, gain), layer(x, opt.eps)) * (full<Bound>(x.rows(), opt.eps) / (opt.eps + variance));
  check.agree("<xbar, x - mu> = <g, xh> eps/(var + eps)", dot_rows(dx, c), right);
}

CLAIM(norm.layer.grad_sum0) {
  const Call call = moved(check, ordinary(check).call());
  const Matrix<Bound> x = Eval<Bound>(call).matrix("x"), dy = cotangent(x.rows(), x.cols());
  const LayerNormVjp<Bound> vjp = layer_norm_vjp(x, check.vector<Bound>("w"), dy, LayerNormOptions::from(call.options));
  check.agree("the gradient of a row sums to 0", sum_rows(vjp.dx), full<Bound>(x.rows(), 0));
}

CLAIM(norm.layer.moment_merge) {
  const Matrix<Bound> x = Eval<Bound>(moved(check, check.with("profile", "normal").call())).matrix("x");
  const auto moments = [](const Matrix<Bound>& part) {
    const Matrix<Bound> c = sub_rows(part, mean_rows(part));
    return std::pair(mean_rows(part), dot_rows(c, c));
  };
  const Index d = x.cols();
  if (d < 2) return check.nothing_to_compare();
  const Index cut = check.pick("cut", 1, d - 1);
  const auto first = moments(x.col_range(0, cut)), second = moments(x.col_range(cut, d)), whole = moments(x);
  const double n = static_cast<double>(d), n1 = static_cast<double>(cut), n2 = n - n1;
  const Vector<Bound> gap = second.first - first.first;
  check.agree("the merged mean", first.first + (n2 / n) * gap, whole.first);
  // n1 n2 / n rounds: as a quotient, in Bound
  const Vector<Bound> weight = full<Bound>(gap.size(), n1 * n2) / full<Bound>(gap.size(), n);
  check.agree("the merged M2", first.second + second.second + gap * gap * weight, whole.second);
}

CLAIM(norm.layer.moments) {
  const Call call = ordinary(check).call();
  const double eps = call.option("eps"), d = static_cast<double>(call.size("d"));
  const Matrix<Bound> x = check.matrix<Bound>("x"), xh = layer(x, eps), c = sub_rows(x, mean_rows(x));
  const Vector<Bound> variance = mean_rows(c * c), squares = mean_rows(xh * xh);
  check.agree("mean(xh) = 0", mean_rows(xh), full<Bound>(x.rows(), 0));
  check.agree("mean(xh^2) = var/(var + eps)", squares, variance / (eps + variance));
  for (Index t = 0; t < x.rows(); ++t) {
    // the bound is below 1 by eps/(var + eps), far above the rounding
    check.at_most("mean(xh^2)", squares[t].v, 1);
    check.at_most("the width of what is compared", squares[t].w, 1e-10 * (1 + d));
  }
}

CLAIM(norm.layer.rms) {
  // [z, -z] has mean 0 exactly, in whatever order it is summed pairwise; the sum's error is the row's in Bound
  const Call call = ordinary(check).call();
  const Matrix<Bound> z = check.matrix<Bound>("x"), x = concat_cols(z, -1.0 * z);
  const Vector<Bound> w = check.vector<Bound>("w");
  Vector<Bound> twice(x.cols());
  for (Index i = 0; i < x.cols(); ++i) twice[i] = w[i % w.size()];
  auto opt = LayerNormOptions::from(call.options);
  RmsNormOptions rms;
  rms.eps = opt.eps;
  rms.gain = opt.gain == LayerNormOptions::Gain::w ? RmsNormOptions::Gain::w : RmsNormOptions::Gain::one_plus_w;
  check.agree("LN(x) = RMS(x) where mean(x) = 0 and beta = 0", layer_norm(x, twice, opt), rms_norm(x, twice, rms));
}

CLAIM(norm.layer.scale) {
  const double eps = 0x1p-10, a = static_cast<double>(check.pick("a", 2, 9));  // a^2 eps is exact
  const Matrix<Bound> x = check.with("profile", "normal").matrix<Bound>("x");
  check.agree("LN(a x; a^2 eps) = LN(x; eps)", layer(a * x, a * a * eps), layer(x, eps));
  const Matrix<double> v = check.matrix<double>("x");
  const double two = std::ldexp(1.0, static_cast<int>(check.pick("k", -20, 20)));
  check.same_bits("LN(2^k x; 2^2k eps)", layer(two * v, two * two * eps), layer(v, eps));
}

CLAIM(norm.layer.shift) {
  const Call call = ordinary(check).call();
  const double eps = call.option("eps");
  const Matrix<Bound> x = check.matrix<Bound>("x"), unmoved = layer(x, eps);
  for (const double c : {1.0, 1e3, 1e6}) {
    const Matrix<Bound> y = layer(c + x, eps);
    check.agree("LN(x + c) = LN(x)", y, unmoved);
    // and what is allowed grows with u |c| / sigma: the sum of d terms of size c, once in the mean, once in c + x, and
    // through the variance; d = 1 and rows of standard deviation 0 aside
    const Matrix<double> centred = sub_rows(values(x), mean_rows(values(x)));
    const Vector<double> variance = mean_rows(centred * centred);
    const double d = static_cast<double>(x.cols()), u = 0x1p-53;
    for (Index t = 0; t < y.rows(); ++t) {
      const double sigma = math::sqrt(variance[t] + eps), relative = 8 * d * (4 + math::log(d)) * u * (c + 8) / sigma;
      for (Index i = 0; i < y.cols() && relative < 0x1p-10; ++i)
        check.at_most("the allowed error of LN(x + c)", y(t, i).w, relative * (1 + d * std::fabs(y(t, i).v)));
    }
  }
}

}  // namespace assay

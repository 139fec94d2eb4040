#include "reference/norm/rms.hpp"

#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"
#include "reference/core/math.hpp"

// Claims of spec/norm/rms.md.
namespace assay {
namespace {

template <class T>
void rms_norm_op(Eval<T>& e) {
  e.out("y", rms_norm(e.matrix("x"), e.vector("w"), e.template options<RmsNormOptions>()));
}

RmsNormOptions plain(double eps) {
  RmsNormOptions opt;
  opt.eps = eps;
  return opt;
}
Matrix<Bound> rms(const Matrix<Bound>& x, double eps) { return rms_norm(x, full<Bound>(x.cols(), 1), plain(eps)); }

/// Rows 0..n-1 of the call's x with no zero in them, so that nothing divides by 0 where eps is 0.
Matrix<Bound> nonzero(const Matrix<Bound>& x) {
  Matrix<Bound> z = x;
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) {
      if (value(x(i, j)) == 0) z(i, j) = Bound(1);
    }
  }
  return z;
}

}  // namespace

DEFINITION(norm.rms, rms_norm, rms_norm_op)

// ---- on: target
// ----------------------------------------------------------------------------------------------------------

CLAIM(norm.rms.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(norm.rms.relerr) {
  const Call call = check.with("gain", "w").with("eps_place", "inside").call();
  const Matrix<double> got = check.run(call)["y"].matrix();
  const Matrix<double> y = check.define<double>(call)["y"].matrix();
  const bool mid = call.option("cast") == 1;
  const double d = static_cast<double>(y.cols());
  // products of squares, d - 1 additions, one for eps, one for its own rounding: half of them reach y through the root
  const double acc = (d / 2 + 3 + 2 * call.contract.rsqrt_ulp) * check.u_acc() * (1 + 0x1p-6);
  const double bound = acc + (mid ? 2 : 1) * check.u_out() * (1 + acc + check.u_out());
  check.nothing_to_compare();
  for (Index t = 0; t < y.rows(); ++t) {
    for (Index i = 0; i < y.cols(); ++i) {
      const double smallest = std::fabs(y(t, i) / std::max(1.0, std::fabs(call["w"].vector()[i])));
      const double floor = std::max(call.contract.out->min_normal(), call.contract.acc->min_normal());
      if (!(std::fabs(y(t, i)) >= 2 * floor && smallest >= 2 * floor &&
            std::fabs(y(t, i)) < call.contract.out->max_finite() / 2))
        continue;
      if (!(std::fabs(call["x"].matrix()(t, i)) > 0x1p-60)) continue;  // squares far below the normal range lose bits
      check.at_most("|y^/y - 1|", std::fabs(got(t, i) / y(t, i) - 1), bound);
    }
  }
}

CLAIM(norm.rms.scale_pow2) {
  const Call call = check.with("profile", "normal").with("eps_place", "inside").with("cast", "cast_last").call();
  const auto k = static_cast<int>(check.c["k"]);
  Call scaled = call;
  const Tensor<double> x = call["x"].clone();
  for (Index i = 0, n = x.size(); i < n; ++i) x.data()[i] = std::ldexp(x.data()[i], k);
  for (Index i = 0, n = x.size(); i < n; ++i) {
    if (round_to(*call.contract.in, x.data()[i]) != x.data()[i])
      return check.nothing_to_compare();  // left the normal range
  }
  scaled.set("x", x);
  // eps is given to kernels in the accumulator's format: take the one that has it, so that scaling is exact
  const double eps = round_to(*call.contract.acc, call.option("eps"));
  Call base = call;
  base.set_option("eps", eps);
  scaled.set_option("eps", std::ldexp(eps, 2 * k));
  check.same_bits("y when x is scaled by 2^k and eps by 2^2k", check.run(scaled)["y"], check.run(base)["y"]);
}

CLAIM(norm.rms.sign) {
  const Call call = check.call();
  Call negated = call;
  const Tensor<double> x = call["x"].clone();
  for (Index i = 0, n = x.size(); i < n; ++i) x.data()[i] = -x.data()[i];
  negated.set("x", x);
  const Tensor<double> y = check.run(call)["y"].clone();
  for (Index i = 0, n = y.size(); i < n; ++i) y.data()[i] = -y.data()[i];
  check.same_bits("RMS(-x)", check.run(negated)["y"], y);
}

CLAIM(norm.rms.zero_row) {
  Call call = check.call();
  call.set("x", Tensor<double>(call["x"].shape(), 0.0));
  const Tensor<double> y = check.run(call)["y"];
  check.nothing_to_compare();
  for (Index i = 0, n = y.size(); i < n; ++i) check.require(y.at_flat(i) == 0, "y of a zero row is 0", y.at_flat(i));
}

// ---- on: definition
// --------------------------------------------------------------------------------------------------------

CLAIM(norm.rms.adjoint) {
  const Call call = check.with("profile", "normal").with("eps_place", "inside").with("cast", "cast_last").call();
  const Matrix<Bound> x = check.matrix<Bound>("x"), dy = cotangent(x.rows(), x.cols());
  const auto opt = RmsNormOptions::from(call.options);
  const RmsNormVjp<Bound> vjp = rms_norm_vjp(x, check.vector<Bound>("w"), dy, opt);
  const Tensors dx = along(call, "x"), dw = along(call, "w");
  check.agree("<ybar, dy> = <xbar, dx>", inner(dy, derivative(check.define<Dual>(call, dx)["y"])),
              inner(vjp.dx, lifted(dx["x"])));
  check.agree("<ybar, dy> = <wbar, dw>", inner(dy, derivative(check.define<Dual>(call, dw)["y"])),
              inner(as_col(vjp.dw), lifted(dw["w"])));
}

CLAIM(norm.rms.eps_place) {
  // ms = eps = 1: inside 1/sqrt(2), outside 1/2
  const Matrix<Bound> x = full<Bound>(1, check.c["d"], 1);
  RmsNormOptions inside = plain(1), outside = inside;
  outside.eps_place = RmsNormOptions::EpsPlace::outside;
  const Vector<Bound> one = full<Bound>(x.cols(), 1);
  check.differ("eps inside and outside", rms_norm(x, one, inside), rms_norm(x, one, outside));
}

CLAIM(norm.rms.fold) {
  const Call call = check.with("profile", "normal").with("gain", "w").with("cast", "cast_last").call();
  const Matrix<Bound> x = check.matrix<Bound>("x");
  const Vector<Bound> w = check.vector<Bound>("w");
  const Matrix<Bound> weight = cotangent(x.cols(), 5);
  const auto opt = RmsNormOptions::from(call.options);
  check.agree("RMS(x; w) W = RMS(x; 1) (diag(w) W)", matmul(rms_norm(x, w, opt), weight),
              matmul(rms_norm(x, full<Bound>(x.cols(), 1), opt), matmul(diag(w), weight)));
}

CLAIM(norm.rms.grad_radial) {
  const Call call = check.with("profile", "normal").with("eps_place", "inside").with("cast", "cast_last").call();
  const Matrix<Bound> x = nonzero(check.matrix<Bound>("x")), dy = cotangent(x.rows(), x.cols());
  const Vector<Bound> w = check.vector<Bound>("w");
  for (const double eps : {0.0, call.option("eps")}) {
    auto opt = RmsNormOptions::from(call.options);
    opt.eps = eps;
    const Matrix<Bound> dx = rms_norm_vjp(x, w, dy, opt).dx;
    const Vector<Bound> gain = opt.gain == RmsNormOptions::Gain::w ? w : 1.0 + w;
    const Matrix<Bound> xh = scale_rows(x, inv_rms(x, eps));
    const Vector<Bound> ms = mean_rows(x * x);
    const Vector<Bound> right = dot_rows(scale_cols(dy, gain), xh) * (full<Bound>(ms.size(), eps) / (eps + ms));
    check.agree("<xbar, x> = <g, xh> eps/(ms + eps)", dot_rows(dx, x), right);
  }
}

CLAIM(norm.rms.norm) {
  const double eps = check.call().option("eps");
  const Matrix<Bound> x = check.with("profile", "normal").matrix<Bound>("x");
  const Matrix<Bound> xh = rms(x, eps);
  const Vector<Bound> ms = mean_rows(x * x), squared = dot_rows(xh, xh);
  const auto d = static_cast<double>(x.cols());
  check.agree("||xh||^2 = d ms/(ms + eps)", squared, d * (ms / (eps + ms)));
  for (Index t = 0; t < x.rows(); ++t) check.at_most("||xh||^2", squared[t].v, d + squared[t].w);
}

CLAIM(norm.rms.onehot) {
  const Index d = check.c["d"], i = check.pick("i", 0, d - 1);
  const double eps = check.call().option("eps"),
               c = static_cast<double>(check.pick("c", 1, 9)) * (check.pick("sign", 0, 1) == 0 ? 1 : -1);
  Matrix<Bound> x = full<Bound>(1, d, 0);
  x(0, i) = Bound(c);
  const Vector<Bound> w = check.vector<Bound>("w");
  const Bound right = Bound(c > 0 ? 1 : -1) * sqrt(Bound(static_cast<double>(d))) * w[i] /
                      sqrt(Bound(1) + Bound(static_cast<double>(d)) * Bound(eps) / Bound(c * c));
  check.agree("y_i of c e_i", rms_norm(x, w, plain(eps))(0, i), right);
}

CLAIM(norm.rms.orthogonal) {
  // Q = I - 2 v v^T / <v, v>, a Householder reflection of small integers
  const Matrix<Bound> x = check.with("profile", "normal").matrix<Bound>("x");
  const double eps = check.call().option("eps");
  const Index d = x.cols();
  Matrix<Bound> v(1, d);
  double squared = 0;
  for (Index i = 0; i < d; ++i) {
    v(0, i) = Bound(static_cast<double>((i * 3 + 1) % 5 - 2));
    squared += v(0, i).v * v(0, i).v;
  }
  const auto reflect = [&](const Matrix<Bound>& a) {
    const Vector<Bound> along_v = dot_rows(a, take_rows(v, std::vector<Index>(static_cast<std::size_t>(a.rows()), 0)));
    return a - scale_rows(take_rows(v, std::vector<Index>(static_cast<std::size_t>(a.rows()), 0)),
                          2.0 * (along_v / full<Bound>(a.rows(), squared)));
  };
  if (squared == 0) return check.nothing_to_compare();
  check.agree("RMS(Q x) = Q RMS(x)", rms(reflect(x), eps), reflect(rms(x, eps)));
}

CLAIM(norm.rms.scale) {
  const Matrix<Bound> x = check.with("profile", "normal").matrix<Bound>("x");
  const double eps = 0x1p-10, a = static_cast<double>(check.pick("a", 2, 9));  // a^2 eps is exact
  check.agree("RMS(a x; a^2 eps)", rms(a * x, a * a * eps), rms(x, eps));
}

CLAIM(norm.rms.variant_gap) {
  // both variants as kernels of a 16-bit contract would compute them: the definition, emulating its rounding sites
  const Contract bf16 = parse_contract("bf16");
  const Reading emulate{&bf16, true, reading().z};
  const ReadingScope scope(emulate);
  Check in_bf16(check.c, nullptr, bf16, emulate.z);
  in_bf16.with("profile", "normal").with("gain", "w");
  Call last = in_bf16.with("cast", "cast_last").call(), mid = in_bf16.with("cast", "cast_mid").call();
  const Matrix<double> y = evaluate<double>(last)["y"].matrix(), z = evaluate<double>(mid)["y"].matrix();
  const double u = bf16.out->u();
  check.nothing_to_compare();
  for (Index t = 0; t < y.rows(); ++t) {
    for (Index i = 0; i < y.cols(); ++i) {
      // two roundings against one, relative to the unrounded value: (1+u)^2 - 1 + u over (1 - u)
      check.at_most("|cast_mid - cast_last|", std::fabs(z(t, i) - y(t, i)),
                    (2 * u + 4 * u * u) * std::fabs(y(t, i)) / (1 - u) + bf16.out->min_subnormal());
    }
  }
}

}  // namespace assay

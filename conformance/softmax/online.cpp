#include "reference/softmax/online.hpp"

#include <cmath>

#include "conformance/engine/adjoint.hpp"
#include "conformance/engine/claim.hpp"
#include "reference/softmax/safe.hpp"

// Claims of spec/softmax/online.md.
namespace assay {
namespace {

template <class T>
void online_softmax_op(Eval<T>& e) {
  const SoftmaxMean<T> r = online_softmax(e.matrix("x"), e.matrix("v"), e.template options<OnlineSoftmaxOptions>());
  e.out("o", r.o);
  e.out("lse", r.lse);
}

// ---- helpers
// -----------------------------------------------------------------------------------------------------------------

/// The call with entries removed (x = -inf), by axis `hidden`: 0 none, 1 the first chunk, 2 one in three, 3 every other
/// row, 4 all.
Call hide(Call call, std::int64_t hidden) {
  if (hidden == 0) return call;
  const Tensor<double> x = call["x"].clone();
  const Index n = call.size("n"), rows = call.size("T");
  for (Index t = 0; t < rows; ++t) {
    for (Index j = 0; j < n; ++j) {
      const bool gone = hidden == 1   ? static_cast<double>(j) < call.option("chunk")
                        : hidden == 2 ? (t + j) % 3 == 0
                        : hidden == 3 ? t % 2 == 0
                                      : true;
      if (gone) x.data()[t * n + j] = -infinity;
    }
  }
  call.set("x", x);
  return call;
}
Call call_of(const Check& check) { return hide(check.call(), check.c["hidden"]); }

SoftmaxMean<Bound> mean_of(const Matrix<Bound>& x, const Matrix<Bound>& v, double chunk, bool lazy = false) {
  OnlineSoftmaxOptions opt;
  opt.chunk = chunk;
  if (lazy) opt.reference = OnlineSoftmaxOptions::Reference::stale_max;
  return online_softmax(x, v, opt);
}

void agree(Check& check, const std::string& what, const SoftmaxMean<Bound>& left, const SoftmaxMean<Bound>& right) {
  check.agree("o, " + what, left.o, right.o);
  check.agree("LSE, " + what, left.lse, right.lse);
}

/// The states after each chunk, in double; `seen` counts the entries of each row so far that are not -inf.
template <class F>
void each_step(const Call& call, double slack, F look) {
  const Matrix<double> x = call["x"].matrix(), v = call["v"].matrix();
  const Index n = x.cols(), chunk = static_cast<Index>(call.option("chunk"));
  SoftmaxState<double> s = softmax_nothing<double>(x.rows(), v.cols());
  Vector<double> seen = full<double>(x.rows(), 0);
  for (Index c = 0; c < n; c += chunk) {
    const Index end = std::min(n, c + chunk);
    s = softmax_step(s, x.col_range(c, end), v.row_range(c, end), slack);
    for (Index t = 0; t < x.rows(); ++t) {
      for (Index j = c; j < end; ++j) seen[t] += x(t, j) != -infinity;
      if (seen[t] > 0) look(s.l[t], seen[t]);
    }
  }
}

}  // namespace

DEFINITION(softmax.online, online_softmax, online_softmax_op)

// ---- on: target
// -----------------------------------------------------------------------------------------------------------------

CLAIM(softmax.online.accuracy) {
  const Call call = call_of(check);
  check.accurate(call, check.run(call));
}

CLAIM(softmax.online.empty) {
  const bool some = check.pick("how", 0, 2) == 0;
  if (check.pick("how", 0, 2) == 1) check.with("n", 0);
  const Call call = hide(check.call(), some ? 3 : 4);
  const Tensors out = check.run(call);
  check.nothing_to_compare();
  for (Index t = 0; t < call.size("T"); t += some ? 2 : 1) {
    if (out.has("lse")) check.same_bits("LSE of an empty row", out["lse"].vector()[t], -infinity);
    for (Index c = 0; c < call.size("d") && out.has("o"); ++c)
      check.same_bits("o of an empty row", out["o"].matrix()(t, c), 0.0);
  }
}

CLAIM(softmax.online.max_in_first) {
  if (check.c["n"] == 0) check.with("n", 1);
  // What is exact if a = 1 at every later chunk: logits 0 or -inf, a power of two of them 0 and one of those in the
  // first chunk; values are small integers. Then l counts, o is a sum of integers over a power of two.
  Call call = check.with("profile", "small_integers").call();
  const Index n = call.size("n"), rows = call.size("T"), d = call.size("d");
  const Index kept = Index{1} << check.pick("kept", 0, n >= 64 ? 6 : n >= 16 ? 4 : n >= 4 ? 2 : n >= 2 ? 1 : 0);
  const Index step = n / kept;
  Tensor<double> x = call["x"].clone();
  for (Index t = 0; t < rows; ++t) {
    for (Index j = 0; j < n; ++j) x.data()[t * n + j] = j % step == 0 && j / step < kept ? 0.0 : -infinity;
  }
  call.set("x", x);
  const Tensors out = check.run(call);
  const Matrix<double> v = call["v"].matrix();
  check.nothing_to_compare();
  for (Index t = 0; t < rows && out.has("o"); ++t) {
    for (Index c = 0; c < d; ++c) {
      double sum = 0;
      for (Index k = 0; k < kept; ++k) sum += v(k * step, c);
      check.same_bits("o of equal logits", out["o"].matrix()(t, c) + 0.0,
                      round_to(*call.contract.out, sum / static_cast<double>(kept), call.contract.out_round) + 0.0);
    }
  }
  // Nor is there a rise for a stale maximum to ignore: both references are the same arithmetic.
  Call eager = check.with("profile", "normal").with("reference", "running_max").call(), lazy = eager;
  x = eager["x"].clone();
  for (Index t = 0; t < rows; ++t) x.data()[t * n] = 8;
  eager.set("x", x);
  lazy.set("x", x);
  lazy.set_option("reference", 1);
  const Tensors left = check.run(eager), right = check.run(lazy);
  for (const Named& t : left.all()) check.same_bits(t.name + ", running and stale maximum", right[t.name], t.value);
}

// ---- on: definition
// -----------------------------------------------------------------------------------------------------------------

CLAIM(softmax.online.adjoint) {
  const Call call = hide(check.with("profile", "normal").call(), check.c["hidden"]);
  const Matrix<Bound> x = Eval<Bound>(call).matrix("x"), v = Eval<Bound>(call).matrix("v");
  const auto y = check.define<Bound>(call);
  const SoftmaxMean<Bound> out{y.at("lse").vector(), y.at("o").matrix()};
  const RowMask some = !is_neg_inf(out.lse);
  const Matrix<Bound> g = cotangent(x.rows(), v.cols());
  const Vector<Bound> h = select(some, cotangent(x.rows(), 1).col(0), 0), none = full<Bound>(x.rows(), 0);
  const Tensors dx = along(call, "x"), dv = along(call, "v");
  const auto by_x = check.define<Dual>(call, dx), by_v = check.define<Dual>(call, dv);
  check.agree("<obar, do> = <xbar, dx>", inner(g, derivative(by_x.at("o"))),
              inner(online_softmax_vjp_x(x, v, out, g, none), lifted(dx["x"])));
  check.agree("<LSEbar, dLSE> = <xbar, dx>", inner(as_col(h), select_rows(some, derivative(by_x.at("lse")), 0)),
              inner(online_softmax_vjp_x(x, v, out, full<Bound>(x.rows(), v.cols(), 0), h), lifted(dx["x"])));
  check.agree("<obar, do> = <vbar, dv>", inner(g, derivative(by_v.at("o"))),
              inner(online_softmax_vjp_v(x, out, g), lifted(dv["v"])));
}

CLAIM(softmax.online.associative) {
  const Call call = call_of(check);
  const Matrix<Bound> x = Eval<Bound>(call).matrix("x"), v = Eval<Bound>(call).matrix("v");
  const Index n = x.cols(), d = v.cols(), i = check.pick("first", 0, n), j = i + check.pick("second", 0, n - i);
  const auto state = [&](Index from, Index to) {
    return softmax_step(softmax_nothing<Bound>(x.rows(), d), x.col_range(from, to), v.row_range(from, to), 0);
  };
  const SoftmaxState<Bound> a = state(0, i), b = state(i, j), c = state(j, n);
  const SoftmaxState<Bound> left = softmax_merge(softmax_merge(a, b), c), right = softmax_merge(a, softmax_merge(b, c));
  check.agree("m, (a b) c = a (b c)", left.m, right.m);
  check.agree("l, (a b) c = a (b c)", left.l, right.l);
  check.agree("o, (a b) c = a (b c)", left.o, right.o);
  const SoftmaxMean<Bound> p = softmax_finish(a), q = softmax_finish(b), r = softmax_finish(c);
  agree(check, "(a b) c = a (b c), normalised", softmax_merge(softmax_merge(p, q), r),
        softmax_merge(p, softmax_merge(q, r)));
}

CLAIM(softmax.online.chunk_invariance) {
  const Call call = call_of(check);
  const Matrix<Bound> x = Eval<Bound>(call).matrix("x"), v = Eval<Bound>(call).matrix("v");
  const double chunk = call.option("chunk"), other = static_cast<double>(check.pick("other", 1, 70));
  const SoftmaxMean<Bound> y = mean_of(x, v, chunk);
  agree(check, "another chunk", mean_of(x, v, other), y);
  std::vector<Index> order;  // rotated and reversed
  const Index n = x.cols(), turn = check.pick("turn", 0, 70);
  for (Index j = 0; j < n; ++j) order.push_back((2 * n - 1 - j + turn) % n);
  agree(check, "another order", mean_of(take_cols(x, order), take_rows(v, order), other), y);
}

CLAIM(softmax.online.eq_safe) {
  const Call call = call_of(check);
  const Matrix<double> x = call["x"].matrix();
  const Index n = x.cols(), chunk = static_cast<Index>(call.option("chunk"));
  OnlineSoftmaxOptions opt;
  opt.chunk = call.option("chunk");
  // with v = 1 the mean of values is p itself
  const Matrix<double> p = online_softmax(x, diag(full<double>(n, 1)), opt).o;
  const Matrix<double> safe = softmax_safe(x, {}, full<double>(x.rows(), -infinity), {}).p;
  const double u = 0x1p-53, kappa = 2;  // exp within 1 ulp = 2u
  check.nothing_to_compare();
  for (Index t = 0; t < x.rows(); ++t) {
    double top = -infinity, first = -infinity, changes = 0, count = 0;
    for (Index c = 0; c < n; c += chunk) {
      const double before = top;
      for (Index j = c; j < std::min(n, c + chunk); ++j) {
        top = std::max(top, x(t, j));
        count += x(t, j) != -infinity;
      }
      if (first == -infinity)
        first = top;
      else
        changes += top > before;
    }
    double spread = 0;
    for (Index j = 0; j < n; ++j) spread += safe(t, j) > 0 ? safe(t, j) * (top - x(t, j)) : 0;
    for (Index j = 0; j < n; ++j) {
      if (!(safe(t, j) >= 0x1p-1021)) continue;  // of safe softmax's own relative error both sides have one
      const double relerr = top - x(t, j) + spread + 2 * kappa + count;
      check.at_most("|p / p_safe - 1|", std::fabs(p(t, j) / safe(t, j) - 1),
                    u * (2 * relerr + (top - first) + changes * (kappa + 2)) * (1 + 0x1p-20));
    }
  }
  const Matrix<Bound> exact = lifted(x);
  check.agree("online = safe", mean_of(exact, diag(full<Bound>(n, 1)), opt.chunk).o,
              softmax_safe(exact, {}, full<Bound>(x.rows(), -infinity), {}).p);
}

CLAIM(softmax.online.invariant) {
  check.nothing_to_compare();
  each_step(call_of(check), 0, [&](double l, double count) {
    check.at_most("1 - l", 1 - l, 0);  // exp(0) = 1 is among its terms, and rounding is monotone
    check.at_most("l - count", l - count, 0);
  });
}

CLAIM(softmax.online.lazy) {
  const Call call = call_of(check);
  const Matrix<Bound> x = Eval<Bound>(call).matrix("x"), v = Eval<Bound>(call).matrix("v");
  agree(check, "stale maximum", mean_of(x, v, call.option("chunk"), true), mean_of(x, v, call.option("chunk")));
}

CLAIM(softmax.online.p_from_lse) {
  const Call call = call_of(check);
  const Matrix<double> x = call["x"].matrix();
  const Vector<double> lse = check.define<double>(call)["lse"].vector();
  const Matrix<double> p = exp(sub_rows(x, lse));
  const double u = 0x1p-53, kappa = 2, kappa_ln = 2;  // exp and log within 1 ulp
  check.nothing_to_compare();
  for (Index t = 0; t < x.rows(); ++t) {
    if (lse[t] == -infinity) continue;
    double sum = 0, spread = 0, count = 0, top = -infinity;
    for (Index j = 0; j < x.cols(); ++j) {
      sum += p(t, j);
      spread += p(t, j) > 0 ? p(t, j) * std::fabs(x(t, j) - lse[t]) : 0;
      count += x(t, j) != -infinity;
      top = std::max(top, x(t, j));
    }
    const double ln_l = std::max(lse[t] - top, 0.0);
    check.at_most("|sum e^(x - LSE) - 1|", std::fabs(sum - 1),
                  u * (std::fabs(lse[t]) + 2 * spread + 2 * kappa + kappa_ln * ln_l + count) * (1 + 0x1p-20));
  }
}

CLAIM(softmax.online.stale_overflow) {
  // logits that climb, so that the maximum rises by less than the threshold at many chunks
  Call call = check.with("profile", "ascending").call();
  const Tensor<double> x = call["x"].clone();
  const double steeper = static_cast<double>(check.pick("steeper", 1, 40));
  for (Index i = 0, size = x.size(); i < size; ++i) x.data()[i] *= steeper;
  call.set("x", x);
  check.nothing_to_compare();
  // each term is at most e^tau up to the rounding of tau and of exp
  each_step(hide(call, check.c["hidden"]), stale_threshold,
            [&](double l, double count) { check.at_most("l / count", l / count, 256 * (1 + 0x1p-48)); });
}

}  // namespace assay

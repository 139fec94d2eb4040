#include "tools/experiment/ops.hpp"

#include "reference/core/vocabulary.hpp"
#include "reference/core/vocabulary/primitives.hpp"
#include "reference/softmax/safe.hpp"

namespace assay::experiment {

namespace {

constexpr float kEps = 1e-5f;

Matrix<Bound> lift(const Matrix<double>& x) {
  Matrix<Bound> y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = Bound(x(i, j));
  return y;
}
Floats floats(const Matrix<double>& x, Index i) {
  Floats f;
  for (Index j = 0; j < x.cols(); ++j) f.push_back(static_cast<float>(x(i, j)));
  return f;
}
std::vector<Bound> bounds(const Matrix<Bound>& x, Index i) {
  std::vector<Bound> b;
  for (Index j = 0; j < x.cols(); ++j) b.push_back(x(i, j));
  return b;
}

Accumulator accumulator(const Contract& c) {
  return {c.kind == Accumulate::truncate, c.acc->p() < 24 ? c.acc : nullptr};
}

std::vector<std::vector<Row>> define_dot(const Inputs& in, const Contract& c) {
  std::vector<std::vector<Row>> rows;
  const Matrix<Bound> x = lift(in.x), w = lift(in.w);
  for (Index i = 0; i < x.rows(); ++i) {
    Row r{"dot", c.out, {}, {}};
    for (Index j = 0; j < w.rows(); ++j) r.y.push_back(prim::dot(&x(i, 0), 1, &w(j, 0), 1, x.cols()));
    rows.push_back({r});
  }
  return rows;
}
void kernel_dot(const Inputs& in, Index i, const Contract& c, const Style& s, Random& random, Planted bug,
                std::vector<Row>& out) {
  const Floats x = floats(in.x, i);
  out[0].kernel.clear();
  for (Index j = 0; j < in.w.rows(); ++j) {
    const Floats w = floats(in.w, j);
    float y = 0;
    if (bug == Planted::acc_bf16) {
      for (std::size_t k = 0; k < x.size(); ++k)
        y = static_cast<float>(round_to(formats::bf16, y + static_cast<double>(x[k]) * w[k]));
    } else if (bug == Planted::last_dropped) {
      y = dot(Floats(x.begin(), x.end() - 1), Floats(w.begin(), w.end() - 1), s.schedule, s.fused, accumulator(c),
              random);
    } else if (c.kind == Accumulate::mma) {
      y = mma_dot(x, w, c.mma_f, c.mma_k0,
                  s.schedule == Schedule::forward   ? 1
                  : s.schedule == Schedule::blocks8 ? 4
                                                    : 2);
    } else {
      y = dot(x, w, s.schedule, s.fused, accumulator(c), random);
    }
    out[0].kernel.push_back(y);
  }
}

std::vector<std::vector<Row>> define_softmax(const Inputs& in, const Contract& c) {
  std::vector<std::vector<Row>> rows;
  const Matrix<Bound> x = lift(in.x);
  const auto d = softmax_safe(x, Mask(), full<Bound>(x.rows(), -infinity), SoftmaxOptions());
  for (Index i = 0; i < x.rows(); ++i)
    rows.push_back({{"softmax p", c.out, bounds(d.p, i), {}},
                    {"softmax log p", c.out, bounds(d.log_p, i), {}},
                    {"softmax lse", c.acc, {d.lse[i]}, {}}});
  return rows;
}
void kernel_softmax(const Inputs& in, Index i, const Contract& c, const Style& s, Random& random, Planted bug,
                    std::vector<Row>& out) {
  const SoftmaxRow r = softmax(floats(in.x, i), s, accumulator(c), random, bug);
  out[0].kernel = r.p;
  out[1].kernel = r.log_p;
  out[2].kernel = {r.lse};
}

Vector<Bound> lift_row(const Matrix<double>& x) { return lift(x).row(0); }

std::vector<std::vector<Row>> rows_of(const char* output, const Contract& c, const Matrix<Bound>& y) {
  std::vector<std::vector<Row>> rows;
  for (Index i = 0; i < y.rows(); ++i) rows.push_back({{output, c.out, bounds(y, i), {}}});
  return rows;
}

template <bool Cast>
std::vector<std::vector<Row>> define_rms(const Inputs& in, const Contract& c) {
  const Matrix<Bound> x = lift(in.x);
  Matrix<Bound> y = scale_rows(x, inv_rms(x, kEps));
  if (Cast) y = at(Site::cast, y);
  return rows_of(Cast ? "rms_norm, cast" : "rms_norm", c, scale_cols(y, lift_row(in.w)));
}
template <bool Cast>
void kernel_rms(const Inputs& in, Index i, const Contract& c, const Style& s, Random& random, Planted bug,
                std::vector<Row>& out) {
  out[0].kernel =
      rms_norm(floats(in.x, i), floats(in.w, 0), kEps, s, accumulator(c), random, Cast ? c.cast : nullptr, bug);
}

std::vector<std::vector<Row>> define_layer(const Inputs& in, const Contract& c) {
  const Matrix<Bound> x = lift(in.x);
  const Vector<Bound> mean = mean_rows(x);
  const Matrix<Bound> z = sub_rows(x, mean);
  const Matrix<Bound> y = scale_rows(z, inv_std(z, mean, kEps));
  return rows_of("layer_norm", c, add_cols(scale_cols(y, lift_row(in.w)), lift_row(in.b)));
}
void kernel_layer(const Inputs& in, Index i, const Contract& c, const Style& s, Random& random, Planted bug,
                  std::vector<Row>& out) {
  out[0].kernel = layer_norm(floats(in.x, i), floats(in.w, 0), floats(in.b, 0), kEps, s, accumulator(c), random, bug);
}

}  // namespace

const std::vector<Op>& ops() {
  using P = Planted;
  static const std::vector<const char*> rows{"fp32", "bf16", "fp16", "bf16_out_fp32", "fp16_rz"};
  static const std::vector<Op> all{
      {"dot",
       {"fp32", "bf16", "fp16", "bf16_out_fp32", "fp16_out_fp32", "fp16_rz", "fp16_mma", "bf16_mma", "fp16_acc_fp16"},
       {P::acc_bf16, P::last_dropped, P::out_truncated, P::out_twice},
       define_dot,
       kernel_dot},
      {"softmax",
       rows,
       {P::acc_bf16, P::last_dropped, P::exp_16bit, P::scale_1e3, P::out_truncated, P::out_twice},
       define_softmax,
       kernel_softmax},
      {"rms_norm",
       rows,
       {P::acc_bf16, P::last_dropped, P::eps_outside, P::rsqrt_2_12, P::squares_16bit, P::out_truncated, P::out_twice},
       define_rms<false>,
       kernel_rms<false>},
      {"rms_norm, cast",
       {"bf16", "fp16", "bf16_out_fp32 cast=bf16"},
       {P::acc_bf16, P::eps_outside, P::rsqrt_2_12, P::squares_16bit, P::out_truncated},
       define_rms<true>,
       kernel_rms<true>},
      {"layer_norm",
       rows,
       {P::acc_bf16, P::last_dropped, P::eps_outside, P::rsqrt_2_12, P::squares_16bit, P::one_pass, P::out_truncated},
       define_layer,
       kernel_layer}};
  return all;
}

}  // namespace assay::experiment

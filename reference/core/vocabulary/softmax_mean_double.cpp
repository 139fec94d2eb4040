// The softmax-weighted mean in double: safe softmax and a product, over blocks of rows.
#include <algorithm>
#include <cmath>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/vocabulary/softmax_mean.hpp"

namespace assay::prim {
namespace {

constexpr Index kRows = 64;   // of a block
constexpr Index kGroup = 64;  // of kernels::sum: leaving out whole groups of zeros in front changes no bit

/// Values that a product with 0 would spread.
struct Unfit {
  Index j, c;
  double value;
};

/// v with 0 for what is not finite, dense; and what that was.
Matrix<double> finite_part(const Matrix<double>& v, std::vector<Unfit>& unfit) {
  for (Index j = 0; j < v.rows(); ++j)
    for (Index c = 0; c < v.cols(); ++c)
      if (!std::isfinite(v(j, c))) unfit.push_back({j, c, v(j, c)});
  if (unfit.empty()) return v;
  Matrix<double> z = Matrix<double>::uninitialised(v.rows(), v.cols());
  for (Index j = 0; j < v.rows(); ++j)
    for (Index c = 0; c < v.cols(); ++c) z(j, c) = std::isfinite(v(j, c)) ? v(j, c) : 0;
  return z;
}

struct Range {
  Index first, last;
};

/// Where the mask of row i keeps entries: from a multiple of kGroup to after the last.
Range range_of(const Matrix<double>& s, const Mask& keep, Index i) {
  Index first = 0, last = s.cols();
  if (keep.data() == nullptr) return {first, last};
  while (last > 0 && !keep(i, last - 1)) --last;
  while (first < last && !keep(i, first)) ++first;
  return {first / kGroup * kGroup, last};
}

/// The logits of row i in that range, -inf where masked: where they lie if nothing is masked there, or in `to`.
const double* logits(const Matrix<double>& s, const Mask& keep, Index i, const Range& r, double* to) {
  bool all = s.col_stride() == 1;
  if (keep.data() != nullptr)
    for (Index j = r.first; all && j < r.last; ++j) all = keep(i, j) != 0;
  if (all) return s.data() + i * s.row_stride() + r.first;
  for (Index j = r.first; j < r.last; ++j) to[j - r.first] = keep.data() == nullptr || keep(i, j) ? s(i, j) : -infinity;
  return to;
}

void round_row(const Format& f, double* x, Index n) {
  for (Index j = 0; j < n; ++j) x[j] = round_to(f, x[j]);
}

void block(const Matrix<double>& s, const Matrix<double>& v, const Mask& keep, const Vector<double>& sink,
           const Contract* rounds, const std::vector<Unfit>& unfit, Index first, Index last, SoftmaxMean<double>& y) {
  Range all{s.cols(), 0};
  std::vector<Range> ranges;
  for (Index i = first; i < last; ++i) {
    ranges.push_back(range_of(s, keep, i));
    if (ranges.back().first >= ranges.back().last) continue;
    all.first = std::min(all.first, ranges.back().first);
    all.last = std::max(all.last, ranges.back().last);
  }
  const Index width = std::max<Index>(0, all.last - all.first), d = v.cols();
  std::vector<double> weights(static_cast<std::size_t>((last - first) * width)), whole;
  const bool normalised = rounds && rounds->p_scale == PScale::normalised;
  for (Index i = first; i < last; ++i) {
    const Range& r = ranges[static_cast<std::size_t>(i - first)];
    const Index n = std::max<Index>(0, r.last - r.first);
    double* e = weights.data() + (i - first) * width + (n == 0 ? 0 : r.first - all.first);
    const double* x = logits(s, keep, i, r, e);
    //  m = max_j s_j      e_j = exp(s_j - m)      l = sum_j e_j
    const double top = kernels::max(x, n), m = prim::anchor(top);
    double l = kernels::subtract_exp_sum(x, m, e, n);
    if (rounds && !normalised) {
      round_row(*rounds->p, e, n);
      if (rounds->l == RowSum::rounded) l = kernels::sum(e, n);
    }
    const bool none = top == -infinity;
    y.lse[i] = none ? -infinity : m + math::log(l);
    whole.push_back(none ? 1 : sink.data() == nullptr ? l : l + math::exp(sink[i] - m));
    if (!normalised) continue;
    kernels::divide(e, whole.back(), e, n);
    round_row(*rounds->p, e, n);
    whole.back() = 1;
  }
  //  o = sum_j e_j v_j / (l + exp(sink - m))
  double* o = y.o.data() + first * d;
  kernels::matmul(weights.data(), width, 1, v.data() + all.first * v.row_stride() * (width > 0), v.row_stride(),
                  v.col_stride(), o, d, last - first, d, width);
  for (const Unfit& u : unfit)
    for (Index i = first; i < last; ++i)
      if (takes(s, keep, i, u.j))
        o[(i - first) * d + u.c] += weights[static_cast<std::size_t>((i - first) * width + u.j - all.first)] * u.value;
  for (Index i = first; i < last; ++i)
    kernels::divide(o + (i - first) * d, whole[static_cast<std::size_t>(i - first)], o + (i - first) * d, d);
}

}  // namespace

void softmax_mean(const Matrix<double>& s, const Matrix<double>& v, const Mask& keep, const Vector<double>& sink,
                  const Contract* rounds, SoftmaxMean<double>& y) {
  std::vector<Unfit> unfit;
  const Matrix<double> finite = finite_part(v, unfit);
  parallel_for(s.rows(), kRows,
               [&](Index first, Index last) { block(s, finite, keep, sink, rounds, unfit, first, last, y); });
}

void softmax_mean(const Matrix<double>& s, const Matrix<double>& v, const Mask& keep, const Vector<double>& sink,
                  SoftmaxMean<double>& y) {
  const Reading& r = reading();
  softmax_mean(s, v, keep, sink, r.emulate ? r.contract : nullptr, y);
}

}  // namespace assay::prim

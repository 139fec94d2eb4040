#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/vocabulary/words.hpp"

namespace assay {

void require_shape(const char* tensor, const Shape& found, const Shape& expected) {
  if (found != expected)
    throw Error(std::string("tensor ") + tensor + " has the wrong shape", to_string(expected), to_string(found));
}
Index require_whole(const char* option, double number, Index least) {
  const auto n = static_cast<Index>(number);
  if (static_cast<double>(n) != number || n < least)
    throw Error(option, "a whole number from " + std::to_string(least), std::to_string(number));
  return n;
}
RowMask operator!(const RowMask& m) {
  RowMask n(m.size());
  for (Index i = 0; i < m.size(); ++i) n[i] = !m[i];
  return n;
}

namespace prim {
namespace {

double mean_square_of(const double* x, Index n, Index stride) {
  return kernels::sum_squares(x, n, stride) / static_cast<double>(n);
}
const double* row(const Matrix<double>& x, Index i) { return x.data() + i * x.row_stride(); }
double* row(Matrix<double>& z, Index i) { return z.data() + i * z.row_stride(); }
/// Pieces of the columns: what all rows share of one stays in the first cache.
template <class F>
void by_columns(Index cols, const F& f) {
  for (Index j = 0; j < cols; j += 1024) f(j, std::min<Index>(1024, cols - j));
}

}  // namespace

double sum(const double* x, Index n, Index stride) { return kernels::sum(x, n, stride); }
double mean(const double* x, Index n, Index stride) { return kernels::sum(x, n, stride) / static_cast<double>(n); }
void matmul(const Matrix<double>& x, const Matrix<double>& y, Matrix<double>& z) {
  kernels::matmul(x.data(), x.row_stride(), x.col_stride(), y.data(), y.row_stride(), y.col_stride(), z.data(),
                  z.row_stride(), x.rows(), y.cols(), x.cols());
}
double max_value(const double* x, Index n, Index stride) { return kernels::max(x, n, stride); }
double inv_rms(const double* x, Index n, Index stride, double eps) {
  return 1 / math::sqrt(mean_square_of(x, n, stride) + eps);
}
double inv_rms_eps_outside(const double* x, Index n, Index stride, double eps) {
  return 1 / (math::sqrt(mean_square_of(x, n, stride)) + eps);
}
double inv_std(const double* c, Index n, Index stride, const double&, double eps) { return inv_rms(c, n, stride, eps); }
double inv_std_eps_outside(const double* c, Index n, Index stride, const double&, double eps) {
  return inv_rms_eps_outside(c, n, stride, eps);
}
double exp(const double& x) { return math::exp(x); }
double exp2(const double& x) { return math::exp2(x); }
double log(const double& x) { return math::log(x); }
double tanh(const double& x) { return math::tanh(x); }
double sqrt(const double& x) { return math::sqrt(x); }
double max(const double& x, const double& y) { return x >= y || x != x ? x : y; }

// Rows whose elements lie side by side go through the vector kernels; their bits are those of the loop.
void exp(const Matrix<double>& x, Index i, Matrix<double>& z) {
  if (x.col_stride() == 1) return math::exp(row(x, i), row(z, i), x.cols());
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = math::exp(x(i, j));
}
void sub(const Matrix<double>& x, Index i, const double& a, Matrix<double>& z) {
  if (x.col_stride() == 1) return kernels::center(row(x, i), a, row(z, i), x.cols());
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) - a;
}
void scale(const Matrix<double>& x, Index i, const double& a, Matrix<double>& z) {
  if (x.col_stride() == 1) return kernels::scale(row(x, i), a, row(z, i), x.cols());
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) * a;
}
void divide(const Matrix<double>& x, Index i, const double& a, Matrix<double>& z) {
  if (x.col_stride() == 1) return kernels::divide(row(x, i), a, row(z, i), x.cols());
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) / a;
}
void add(const Matrix<double>& x, Index i, const Vector<double>& a, Matrix<double>& z) {
  if (x.col_stride() == 1 && a.stride() == 1) return kernels::add(row(x, i), a.data(), row(z, i), x.cols());
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) + a[j];
}
void multiply(const Matrix<double>& x, Index i, const Vector<double>& a, Matrix<double>& z) {
  if (x.col_stride() == 1 && a.stride() == 1) return kernels::multiply(row(x, i), a.data(), row(z, i), x.cols());
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) * a[j];
}

Centred<double> center_rows(const Matrix<double>& x) {
  Centred<double> y{Vector<double>::uninitialised(x.rows()), Matrix<double>::uninitialised(x.rows(), x.cols())};
  for (Index i = 0; i < x.rows(); ++i) {
    y.mean[i] = mean(row(x, i), x.cols(), x.col_stride());
    sub(x, i, y.mean[i], y.c);
  }
  return y;
}
Matrix<double> affine(Matrix<double> x, const Vector<double>& r, const Vector<double>& g) {
  if (x.col_stride() != 1 || g.stride() != 1) return scale_cols(scale_rows(std::move(x), r), g);
  Matrix<double> z = like(x);
  by_columns(x.cols(), [&](Index j, Index n) {  // NOLINT(clang-analyzer-cplusplus.Move): x still looks at its storage
    for (Index i = 0; i < x.rows(); ++i) kernels::scale_multiply(row(x, i) + j, r[i], g.data() + j, row(z, i) + j, n);
  });
  return z;
}
Matrix<double> affine(Matrix<double> x, const Vector<double>& r, const Vector<double>& g, const Vector<double>& b) {
  if (x.col_stride() != 1 || g.stride() != 1 || b.stride() != 1)
    return add_cols(scale_cols(scale_rows(std::move(x), r), g), b);
  Matrix<double> z = like(x);
  by_columns(x.cols(), [&](Index j, Index n) {  // NOLINT(clang-analyzer-cplusplus.Move): x still looks at its storage
    for (Index i = 0; i < x.rows(); ++i)
      kernels::scale_multiply_add(row(x, i) + j, r[i], g.data() + j, b.data() + j, row(z, i) + j, n);
  });
  return z;
}

double site(Site s, const double& x) {
  const Reading& r = reading();
  return round_to(r.contract->site(s), x, s == Site::output ? r.contract->out_round : Round::nearest_even);
}
bool passes(Site, const double*) { return reading().contract == nullptr || !reading().emulate; }

}  // namespace prim

ASSAY_WORDS_OF(double)
template Mask transpose(const Mask&);

}  // namespace assay

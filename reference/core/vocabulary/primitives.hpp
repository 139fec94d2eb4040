#pragma once
#include <utility>

#include "reference/core/contract.hpp"
#include "reference/core/readings/bound.hpp"
#include "reference/core/tensor.hpp"
#include "reference/core/vocabulary.hpp"

// The primitives under the words, by overload: what every reading does unless one of its own says otherwise; the fast
// ones of `double`; the closed forms of `Bound` (primitives_bound.cpp). Row functions write row i of z, which is dense.
namespace assay::prim {

// ---- any reading
// -------------------------------------------------------------------------------------------------------

template <class T>
T sum(const T* x, Index n, Index stride) {
  T s(0);
  for (Index i = 0; i < n; ++i) s = i == 0 ? x[0] : s + x[i * stride];
  return s;
}
template <class T>
T mean(const T* x, Index n, Index stride) {
  return sum(x, n, stride) / T(static_cast<double>(n));
}
template <class T>
void matmul(const Matrix<T>& x, const Matrix<T>& y, Matrix<T>& z) {
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      T s(0);
      for (Index k = 0; k < x.cols(); ++k) s = k == 0 ? x(i, 0) * y(0, j) : s + x(i, k) * y(k, j);
      z(i, j) = s;
    }
  }
}
template <class T>
T max_value(const T* x, Index n, Index stride) {
  T m(-infinity);
  for (Index i = 0; i < n; ++i) m = i == 0 ? x[0] : max(m, x[i * stride]);
  return m;
}
template <class T>
T mean_square(const T* x, Index n, Index stride) {
  Vector<T> squares(n);
  for (Index i = 0; i < n; ++i) squares[i] = x[i * stride] * x[i * stride];
  return sum(squares.data(), n, Index{1}) / T(static_cast<double>(n));
}
template <class T>
T inv_rms(const T* x, Index n, Index stride, double eps) {
  return T(1) / sqrt(mean_square(x, n, stride) + T(eps));
}
template <class T>
T inv_rms_eps_outside(const T* x, Index n, Index stride, double eps) {
  return T(1) / (sqrt(mean_square(x, n, stride)) + T(eps));
}
template <class T>
T inv_std(const T* c, Index n, Index stride, const T&, double eps) {
  return prim::inv_rms(c, n, stride, eps);
}
template <class T>
T inv_std_eps_outside(const T* c, Index n, Index stride, const T&, double eps) {
  return prim::inv_rms_eps_outside(c, n, stride, eps);
}
template <class T>
T anchor(const T& m) {
  return T(value(m) == -infinity ? 0.0 : value(m));
}
template <class T>
T exp(const T& x) {
  using assay::exp;
  return exp(x);
}
template <class T>
T exp2(const T& x) {
  using assay::exp2;
  return exp2(x);
}
template <class T>
T log(const T& x) {
  using assay::log;
  return log(x);
}
template <class T>
T tanh(const T& x) {
  using assay::tanh;
  return tanh(x);
}
template <class T>
T sqrt(const T& x) {
  using assay::sqrt;
  return sqrt(x);
}
template <class T>
T max(const T& x, const T& y) {
  using assay::max;
  return max(x, y);
}
template <class T>
void exp(const Matrix<T>& x, Index i, Matrix<T>& z) {
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = prim::exp(x(i, j));
}
template <class T>
void sub(const Matrix<T>& x, Index i, const T& a, Matrix<T>& z) {
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) - a;
}
template <class T>
void scale(const Matrix<T>& x, Index i, const T& a, Matrix<T>& z) {
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) * a;
}
template <class T>
void divide(const Matrix<T>& x, Index i, const T& a, Matrix<T>& z) {
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) / a;
}
template <class T>
void add(const Matrix<T>& x, Index i, const Vector<T>& a, Matrix<T>& z) {
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) + a[j];
}
template <class T>
void multiply(const Matrix<T>& x, Index i, const Vector<T>& a, Matrix<T>& z) {
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) * a[j];
}
/// Where a word that took x by value writes, element on element: into x itself if this is its only handle and it is
/// dense. Then the result owns the storage, and x still looks at it.
template <class T>
Matrix<T> like(Matrix<T>& x) {
  const bool mine = x.storage().use_count() == 1 && x.col_stride() == 1 && x.row_stride() == x.cols();
  return mine ? std::move(x) : Matrix<T>::uninitialised(x.rows(), x.cols());
}

template <class T>
Centred<T> center_rows(const Matrix<T>& x) {
  const Vector<T> mean = mean_rows(x);
  return {mean, sub_rows(x, mean)};
}
template <class T>
Matrix<T> affine(Matrix<T> x, const Vector<T>& r, const Vector<T>& g) {
  return scale_cols(scale_rows(std::move(x), r), g);
}
template <class T>
Matrix<T> affine(Matrix<T> x, const Vector<T>& r, const Vector<T>& g, const Vector<T>& b) {
  return add_cols(scale_cols(scale_rows(std::move(x), r), g), b);
}
template <class T>
T site(Site, const T& x) {
  return x;
}
/// Whether a site leaves every value of this reading as it is.
template <class T>
bool passes(Site, const T*) {
  return true;
}

// ---- double: reference/core/kernels, the same bits everywhere
// ----------------------------------------------------------

double sum(const double* x, Index n, Index stride);
double mean(const double* x, Index n, Index stride);
void matmul(const Matrix<double>& x, const Matrix<double>& y, Matrix<double>& z);
double max_value(const double* x, Index n, Index stride);
double inv_rms(const double* x, Index n, Index stride, double eps);
double inv_rms_eps_outside(const double* x, Index n, Index stride, double eps);
double inv_std(const double* c, Index n, Index stride, const double& mean, double eps);
double inv_std_eps_outside(const double* c, Index n, Index stride, const double& mean, double eps);
double exp(const double& x);
double exp2(const double& x);
double log(const double& x);
double tanh(const double& x);
double sqrt(const double& x);
double max(const double& x, const double& y);
void exp(const Matrix<double>& x, Index i, Matrix<double>& z);
void sub(const Matrix<double>& x, Index i, const double& a, Matrix<double>& z);
void scale(const Matrix<double>& x, Index i, const double& a, Matrix<double>& z);
void divide(const Matrix<double>& x, Index i, const double& a, Matrix<double>& z);
void add(const Matrix<double>& x, Index i, const Vector<double>& a, Matrix<double>& z);
void multiply(const Matrix<double>& x, Index i, const Vector<double>& a, Matrix<double>& z);
Centred<double> center_rows(const Matrix<double>& x);
Matrix<double> affine(Matrix<double> x, const Vector<double>& r, const Vector<double>& g);
Matrix<double> affine(Matrix<double> x, const Vector<double>& r, const Vector<double>& g, const Vector<double>& b);
double site(Site s, const double& x);
bool passes(Site s, const double*);

// ---- Bound: closed forms (spec/numerics/verdict.md)
// ----------------------------------------------------------------------

// The values are bit for bit those of the double reading.

/// sum_i x_i, added by any schedule of the contract's order class. Equal terms carry equal errors.
Bound sum(const Bound* x, Index n, Index stride);
/// sum_i x_i / n, as a sum or by Welford's recurrence: never exact for n > 1.
Bound mean(const Bound* x, Index n, Index stride);
/// sum_i x_i^2: the errors of x enter twice.
Bound sum_squares(const Bound* x, Index n, Index stride);
/// sum_i a_i b_i, one chain of fma from +0. If a and b are the same array, their errors are the same too.
Bound dot(const Bound* a, Index a_stride, const Bound* b, Index b_stride, Index n);
void matmul(const Matrix<Bound>& x, const Matrix<Bound>& y, Matrix<Bound>& z);
/// The largest, as a value: any candidate within its errors may win.
Bound max_value(const Bound* x, Index n, Index stride);
/// Its error is one symbol that the whole row shares. A kernel may hold eps in the accumulator's format.
Bound inv_rms(const Bound* x, Index n, Index stride, double eps);
Bound inv_rms_eps_outside(const Bound* x, Index n, Index stride, double eps);
/// The same of c = x - mean, whose squares may come from one pass over x.
Bound inv_std(const Bound* c, Index n, Index stride, const Bound& mean, double eps);
Bound inv_std_eps_outside(const Bound* c, Index n, Index stride, const Bound& mean, double eps);
/// The shift of a softmax: a value without error; -inf becomes 0.
Bound anchor(const Bound& m);
/// What a whole row is going to use: its error becomes one shared symbol, unless most of it is one already.
Bound share(const Bound& x);
void sub(const Matrix<Bound>& x, Index i, const Bound& a, Matrix<Bound>& z);
void scale(const Matrix<Bound>& x, Index i, const Bound& a, Matrix<Bound>& z);
void divide(const Matrix<Bound>& x, Index i, const Bound& a, Matrix<Bound>& z);
/// A rounding site, emulated where the errors leave no choice.
Bound site(Site s, const Bound& x);
bool passes(Site s, const Bound*);

}  // namespace assay::prim

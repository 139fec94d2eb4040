#pragma once
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reference/core/vocabulary.hpp"
#include "reference/core/vocabulary/primitives.hpp"
#include "reference/core/vocabulary/softmax_mean.hpp"

// The words as loops over rows: included by one file per reading, which instantiates them. What differs between
// readings is in the scalar operators (readings/) and in the primitives.
namespace assay {
namespace words {

template <class T>
Matrix<T> fresh(Index rows, Index cols) {
  return Matrix<T>::uninitialised(rows, cols);
}
template <class T>
Vector<T> fresh(Index n) {
  return Vector<T>::uninitialised(n);
}

template <class T>
void require_same(const char* word, const Matrix<T>& x, const Matrix<T>& y) {
  if (x.rows() != y.rows() || x.cols() != y.cols()) {
    throw Error(std::string(word) + ": shapes differ", to_string(shape(x)), to_string(shape(y)));
  }
}
template <class T>
void require_same(const char* word, const Vector<T>& x, const Vector<T>& y) {
  if (x.size() != y.size()) throw Error(std::string(word) + ": sizes differ", to_string(shape(x)), to_string(shape(y)));
}
inline void require_size(const char* word, Index expected, Index found) {
  if (expected != found) {
    throw Error(std::string(word) + ": the vector does not fit the matrix", std::to_string(expected) + " elements",
                std::to_string(found));
  }
}

template <class T, class F>
Matrix<T> map2(const char* word, const Matrix<T>& x, const Matrix<T>& y, F f) {
  require_same(word, x, y);
  Matrix<T> z = fresh<T>(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = f(x(i, j), y(i, j));
  }
  return z;
}
template <class T, class F>
Vector<T> map2(const char* word, const Vector<T>& x, const Vector<T>& y, F f) {
  require_same(word, x, y);
  Vector<T> z = fresh<T>(x.size());
  for (Index i = 0; i < x.size(); ++i) z[i] = f(x[i], y[i]);
  return z;
}
template <class T, class F>
Matrix<T> map(const Matrix<T>& x, F f) {
  Matrix<T> z = fresh<T>(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = f(x(i, j));
  }
  return z;
}
template <class T, class F>
Vector<T> map(const Vector<T>& x, F f) {
  Vector<T> z = fresh<T>(x.size());
  for (Index i = 0; i < x.size(); ++i) z[i] = f(x[i]);
  return z;
}
/// Row by row through a primitive on dense rows: out = prim(x.row, a_i).
template <class T, class F>
Matrix<T> by_row(const char* word, Matrix<T>& x, const Vector<T>& a, F f) {
  require_size(word, x.rows(), a.size());
  Matrix<T> z = prim::like(x);
  for (Index i = 0; i < x.rows(); ++i) f(x, i, a[i], z);
  return z;
}
template <class T, class F>
Vector<T> reduce_rows(const Matrix<T>& x, F f) {
  Vector<T> z = fresh<T>(x.rows());
  for (Index i = 0; i < x.rows(); ++i) z[i] = f(x.data() + i * x.row_stride(), x.cols(), x.col_stride());
  return z;
}

}  // namespace words

template <class T>
Matrix<T> full(Index rows, Index cols, double value) {
  return Matrix<T>(rows, cols, T(value));
}
template <class T>
Vector<T> full(Index n, double value) {
  return Vector<T>(n, T(value));
}
template <class T>
Matrix<T> transpose(const Matrix<T>& x) {
  return {x.storage(), x.data(), x.cols(), x.rows(), x.col_stride(), x.row_stride()};
}
template <class T>
Matrix<T> concat_cols(const Matrix<T>& x, const Matrix<T>& y) {
  if (x.rows() != y.rows()) throw Error("concat_cols: rows differ", to_string(shape(x)), to_string(shape(y)));
  Matrix<T> z = words::fresh<T>(x.rows(), x.cols() + y.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j);
    for (Index j = 0; j < y.cols(); ++j) z(i, x.cols() + j) = y(i, j);
  }
  return z;
}
template <class T>
Matrix<T> concat_rows(const Matrix<T>& x, const Matrix<T>& y) {
  if (x.cols() != y.cols()) throw Error("concat_rows: columns differ", to_string(shape(x)), to_string(shape(y)));
  Matrix<T> z = words::fresh<T>(x.rows() + y.rows(), x.cols());
  for (Index j = 0; j < x.cols(); ++j) {
    for (Index i = 0; i < x.rows(); ++i) z(i, j) = x(i, j);
    for (Index i = 0; i < y.rows(); ++i) z(x.rows() + i, j) = y(i, j);
  }
  return z;
}
template <class T>
Matrix<T> take_cols(const Matrix<T>& x, const std::vector<Index>& which) {
  Matrix<T> z = words::fresh<T>(x.rows(), static_cast<Index>(which.size()));
  for (Index j = 0; j < z.cols(); ++j) {
    const Index from = which[static_cast<std::size_t>(j)];
    if (from < 0 || from >= x.cols()) {
      throw Error("take_cols: no such column", "0 <= column < " + std::to_string(x.cols()), std::to_string(from));
    }
    for (Index i = 0; i < x.rows(); ++i) z(i, j) = x(i, from);
  }
  return z;
}
template <class T>
Matrix<T> take_rows(const Matrix<T>& x, const std::vector<Index>& which) {
  return transpose(take_cols(transpose(x), which));
}
template <class T>
Matrix<T> diag(const Vector<T>& x) {
  Matrix<T> z(x.size(), x.size());
  for (Index i = 0; i < x.size(); ++i) z(i, i) = x[i];
  return z;
}
template <class T>
Matrix<T> as_col(const Vector<T>& x) {
  return {x.storage(), x.data(), x.size(), 1, x.stride(), 1};
}

template <class T>
Matrix<T> operator+(const Matrix<T>& x, const Matrix<T>& y) {
  return words::map2("x + y", x, y, [](const T& a, const T& b) { return a + b; });
}
template <class T>
Matrix<T> operator-(const Matrix<T>& x, const Matrix<T>& y) {
  return words::map2("x - y", x, y, [](const T& a, const T& b) { return a - b; });
}
template <class T>
Matrix<T> operator*(const Matrix<T>& x, const Matrix<T>& y) {
  return words::map2("x * y", x, y, [](const T& a, const T& b) { return a * b; });
}
template <class T>
Vector<T> operator+(const Vector<T>& x, const Vector<T>& y) {
  return words::map2("x + y", x, y, [](const T& a, const T& b) { return a + b; });
}
template <class T>
Vector<T> operator-(const Vector<T>& x, const Vector<T>& y) {
  return words::map2("x - y", x, y, [](const T& a, const T& b) { return a - b; });
}
template <class T>
Vector<T> operator*(const Vector<T>& x, const Vector<T>& y) {
  return words::map2("x * y", x, y, [](const T& a, const T& b) { return a * b; });
}
template <class T>
Vector<T> operator/(const Vector<T>& x, const Vector<T>& y) {
  return words::map2("x / y", x, y, [](const T& a, const T& b) { return a / b; });
}
template <class T>
Matrix<T> operator*(double s, const Matrix<T>& x) {
  return words::map(x, [s](const T& a) { return T(s) * a; });
}
template <class T>
Vector<T> operator*(double s, const Vector<T>& x) {
  return words::map(x, [s](const T& a) { return T(s) * a; });
}
template <class T>
Matrix<T> operator+(double s, const Matrix<T>& x) {
  return words::map(x, [s](const T& a) { return T(s) + a; });
}
template <class T>
Vector<T> operator+(double s, const Vector<T>& x) {
  return words::map(x, [s](const T& a) { return T(s) + a; });
}
template <class T>
Matrix<T> exp(Matrix<T> x) {
  Matrix<T> z = prim::like(x);
  for (Index i = 0; i < x.rows(); ++i) prim::exp(x, i, z);
  return z;
}
template <class T>
Vector<T> exp(const Vector<T>& x) {
  return words::map(x, [](const T& a) { return prim::exp(a); });
}
template <class T>
Matrix<T> exp2(const Matrix<T>& x) {
  return words::map(x, [](const T& a) { return prim::exp2(a); });
}
template <class T>
Matrix<T> tanh(const Matrix<T>& x) {
  return words::map(x, [](const T& a) { return prim::tanh(a); });
}
template <class T>
Vector<T> log(const Vector<T>& x) {
  return words::map(x, [](const T& a) { return prim::log(a); });
}
template <class T>
Vector<T> sqrt(const Vector<T>& x) {
  return words::map(x, [](const T& a) { return prim::sqrt(a); });
}
template <class T>
Vector<T> max(const Vector<T>& x, const Vector<T>& y) {
  return words::map2("max", x, y, [](const T& a, const T& b) { return prim::max(a, b); });
}

template <class T>
Matrix<T> add_rows(Matrix<T> x, const Vector<T>& a) {
  return words::by_row("add_rows", x, a, [](const Matrix<T>& m, Index i, const T& s, Matrix<T>& z) {
    for (Index j = 0; j < m.cols(); ++j) z(i, j) = m(i, j) + s;
  });
}
template <class T>
Matrix<T> sub_rows(Matrix<T> x, const Vector<T>& a) {
  return words::by_row("sub_rows", x, a,
                       [](const Matrix<T>& m, Index i, const T& s, Matrix<T>& z) { prim::sub(m, i, s, z); });
}
template <class T>
Matrix<T> scale_rows(Matrix<T> x, const Vector<T>& a) {
  return words::by_row("scale_rows", x, a,
                       [](const Matrix<T>& m, Index i, const T& s, Matrix<T>& z) { prim::scale(m, i, s, z); });
}
template <class T>
Matrix<T> div_rows(Matrix<T> x, const Vector<T>& a) {
  return words::by_row("div_rows", x, a,
                       [](const Matrix<T>& m, Index i, const T& s, Matrix<T>& z) { prim::divide(m, i, s, z); });
}
template <class T>
Matrix<T> add_cols(Matrix<T> x, const Vector<T>& a) {
  words::require_size("add_cols", x.cols(), a.size());
  Matrix<T> z = prim::like(x);
  for (Index i = 0; i < x.rows(); ++i) prim::add(x, i, a, z);
  return z;
}
template <class T>
Matrix<T> scale_cols(Matrix<T> x, const Vector<T>& a) {
  words::require_size("scale_cols", x.cols(), a.size());
  Matrix<T> z = prim::like(x);
  for (Index i = 0; i < x.rows(); ++i) prim::multiply(x, i, a, z);
  return z;
}
template <class T>
Matrix<T> affine(Matrix<T> x, const Vector<T>& r, const Vector<T>& g) {
  words::require_size("affine", x.rows(), r.size());
  words::require_size("affine", x.cols(), g.size());
  return prim::affine(std::move(x), r, g);
}
template <class T>
Matrix<T> affine(Matrix<T> x, const Vector<T>& r, const Vector<T>& g, const Vector<T>& b) {
  words::require_size("affine", x.rows(), r.size());
  words::require_size("affine", x.cols(), g.size());
  words::require_size("affine", x.cols(), b.size());
  return prim::affine(std::move(x), r, g, b);
}

template <class T>
Matrix<T> matmul(const Matrix<T>& x, const Matrix<T>& y) {
  if (x.cols() != y.rows()) throw Error("matmul: inner sizes differ", to_string(shape(x)), to_string(shape(y)));
  Matrix<T> z = words::fresh<T>(x.rows(), y.cols());
  prim::matmul(x, y, z);
  return z;
}
template <class T>
Matrix<T> matmul(const Mask& keep, const Matrix<T>& x, const Matrix<T>& y) {
  if (keep.data() == nullptr) return matmul(x, y);
  bool finite = true;  // then 0 times an element is 0
  for (Index i = 0; i < y.rows(); ++i)
    for (Index c = 0; c < y.cols(); ++c) finite = finite && std::isfinite(value(y(i, c)));
  if (finite) return matmul(select(keep, x, 0), y);
  Matrix<T> z = words::fresh<T>(x.rows(), y.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    std::vector<Index> kept;
    for (Index j = 0; j < x.cols(); ++j)
      if (keep(i, j)) kept.push_back(j);
    const Matrix<T> row = matmul(take_cols(x.row_range(i, i + 1), kept), take_rows(y, kept));
    for (Index c = 0; c < y.cols(); ++c) z(i, c) = row(0, c);
  }
  return z;
}
template <class T>
Vector<T> sum_rows(const Matrix<T>& x) {
  return words::reduce_rows(x, [](const T* row, Index n, Index stride) { return prim::sum(row, n, stride); });
}
template <class T>
Vector<T> mean_rows(const Matrix<T>& x) {
  return words::reduce_rows(x, [](const T* row, Index n, Index stride) { return prim::mean(row, n, stride); });
}
template <class T>
Centred<T> center_rows(const Matrix<T>& x) {
  return prim::center_rows(x);
}
template <class T>
Vector<T> sum_cols(const Matrix<T>& x) {
  return sum_rows(transpose(x));
}
template <class T>
Vector<T> max_rows(const Matrix<T>& x) {
  return words::reduce_rows(x, [](const T* row, Index n, Index stride) { return prim::max_value(row, n, stride); });
}
template <class T>
Vector<T> dot_rows(const Matrix<T>& x, const Matrix<T>& y) {
  return sum_rows(x * y);
}
template <class T>
T inner(const Matrix<T>& x, const Matrix<T>& y) {
  const Vector<T> rows = dot_rows(x, y);
  return prim::sum(rows.data(), rows.size(), rows.stride());
}
template <class T>
T inner(const Vector<T>& x, const Vector<T>& y) {
  const Vector<T> products = x * y;
  return prim::sum(products.data(), products.size(), products.stride());
}
template <class T>
Vector<T> inv_rms(const Matrix<T>& x, double eps) {
  return words::reduce_rows(x,
                            [eps](const T* row, Index n, Index stride) { return prim::inv_rms(row, n, stride, eps); });
}
template <class T>
Vector<T> inv_rms_eps_outside(const Matrix<T>& x, double eps) {
  return words::reduce_rows(
      x, [eps](const T* row, Index n, Index stride) { return prim::inv_rms_eps_outside(row, n, stride, eps); });
}
template <class T>
Vector<T> inv_std(const Matrix<T>& c, const Vector<T>& mean, double eps) {
  words::require_size("inv_std", c.rows(), mean.size());
  Vector<T> z = words::fresh<T>(c.rows());
  for (Index i = 0; i < c.rows(); ++i)
    z[i] = prim::inv_std(c.data() + i * c.row_stride(), c.cols(), c.col_stride(), mean[i], eps);
  return z;
}
template <class T>
Vector<T> inv_std_eps_outside(const Matrix<T>& c, const Vector<T>& mean, double eps) {
  words::require_size("inv_std_eps_outside", c.rows(), mean.size());
  Vector<T> z = words::fresh<T>(c.rows());
  for (Index i = 0; i < c.rows(); ++i)
    z[i] = prim::inv_std_eps_outside(c.data() + i * c.row_stride(), c.cols(), c.col_stride(), mean[i], eps);
  return z;
}
template <class T>
SoftmaxMean<T> softmax_mean(const Matrix<T>& s, const Matrix<T>& v, const Mask& keep, const Vector<T>& sink) {
  if (v.rows() != s.cols()) throw Error("softmax_mean: v does not fit s", to_string(shape(s)), to_string(shape(v)));
  if (keep.data() != nullptr && (keep.rows() != s.rows() || keep.cols() != s.cols()))
    throw Error("softmax_mean: mask does not fit", to_string(shape(s)), to_string({keep.rows(), keep.cols()}));
  if (sink.data() != nullptr) words::require_size("softmax_mean, sink", s.rows(), sink.size());
  SoftmaxMean<T> y{words::fresh<T>(s.rows()), words::fresh<T>(s.rows(), v.cols())};
  prim::softmax_mean(s, v, keep, sink, y);
  return y;
}
template <class T>
SoftmaxMean<T> mean_in_chunks(const SoftmaxMean<T>& y, const Matrix<T>& s, const Matrix<T>& v, Index chunk,
                              double slack) {
  return prim::mean_in_chunks(y, s, v, chunk, slack);
}
template <class T>
Vector<T> anchor(const Vector<T>& m) {
  return words::map(m, [](const T& a) { return prim::anchor(a); });
}
template <class T>
Vector<T> stale(const Vector<T>& used, const Vector<T>& top, double slack) {
  return words::map2("stale", used, top,
                     [slack](const T& a, const T& b) { return T(value(b) - value(a) <= slack ? value(a) : value(b)); });
}

template <class T>
Matrix<T> select(const Mask& keep, const Matrix<T>& x, double otherwise) {
  if (keep.data() == nullptr) return x;
  if (keep.rows() != x.rows() || keep.cols() != x.cols())
    throw Error("select: mask does not fit", to_string(shape(x)), to_string({keep.rows(), keep.cols()}));
  Matrix<T> z = words::fresh<T>(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = keep(i, j) ? x(i, j) : T(otherwise);
  }
  return z;
}
template <class T>
Matrix<T> select_rows(const RowMask& keep, const Matrix<T>& x, const Vector<T>& otherwise) {
  words::require_size("select_rows", x.rows(), keep.size());
  words::require_size("select_rows", x.rows(), otherwise.size());
  bool all = true;
  for (Index i = 0; i < keep.size(); ++i) all = all && keep[i];
  if (all) return x;
  Matrix<T> z = words::fresh<T>(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = keep[i] ? x(i, j) : otherwise[i];
  }
  return z;
}
template <class T>
Matrix<T> select_rows(const RowMask& keep, const Matrix<T>& x, double otherwise) {
  return select_rows(keep, x, Vector<T>(x.rows(), T(otherwise)));
}
template <class T>
Vector<T> select(const RowMask& keep, const Vector<T>& x, double otherwise) {
  words::require_size("select", x.size(), keep.size());
  Vector<T> z = words::fresh<T>(x.size());
  for (Index i = 0; i < x.size(); ++i) z[i] = keep[i] ? x[i] : T(otherwise);
  return z;
}
template <class T>
RowMask is_neg_inf(const Vector<T>& x) {
  RowMask m(x.size());
  for (Index i = 0; i < x.size(); ++i) m[i] = value(x[i]) == -infinity;
  return m;
}

template <class T>
Matrix<T> at(Site site, Matrix<T> x) {
  if (prim::passes(site, x.data())) return x;
  return words::map(x, [site](const T& a) { return prim::site(site, a); });
}
template <class T>
Vector<T> at(Site site, Vector<T> x) {
  if (prim::passes(site, x.data())) return x;
  return words::map(x, [site](const T& a) { return prim::site(site, a); });
}

template <class T>
Vector<double> values(const Vector<T>& x) {
  Vector<double> z(x.size());
  for (Index i = 0; i < x.size(); ++i) z[i] = value(x[i]);
  return z;
}
template <class T>
Matrix<double> values(const Matrix<T>& x) {
  Matrix<double> z(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = value(x(i, j));
  }
  return z;
}

// clang-format off: a line of its own for every word
#define ASSAY_WORDS_OF(T)                                                                                           \
  template Matrix<T> full(Index, Index, double);                                                                    \
  template Vector<T> full(Index, double);                                                                           \
  template Matrix<T> transpose(const Matrix<T>&);                                                                   \
  template Matrix<T> concat_cols(const Matrix<T>&, const Matrix<T>&);                                               \
  template Matrix<T> concat_rows(const Matrix<T>&, const Matrix<T>&);                                               \
  template Matrix<T> take_cols(const Matrix<T>&, const std::vector<Index>&);                                        \
  template Matrix<T> take_rows(const Matrix<T>&, const std::vector<Index>&);                                        \
  template Matrix<T> diag(const Vector<T>&);                                                                        \
  template Matrix<T> as_col(const Vector<T>&);                                                                      \
  template Matrix<T> operator+(const Matrix<T>&, const Matrix<T>&);                                                 \
  template Matrix<T> operator-(const Matrix<T>&, const Matrix<T>&);                                                 \
  template Matrix<T> operator*(const Matrix<T>&, const Matrix<T>&);                                                 \
  template Vector<T> operator+(const Vector<T>&, const Vector<T>&);                                                 \
  template Vector<T> operator-(const Vector<T>&, const Vector<T>&);                                                 \
  template Vector<T> operator*(const Vector<T>&, const Vector<T>&);                                                 \
  template Vector<T> operator/(const Vector<T>&, const Vector<T>&);                                                 \
  template Matrix<T> operator*(double, const Matrix<T>&);                                                           \
  template Vector<T> operator*(double, const Vector<T>&);                                                           \
  template Matrix<T> operator+(double, const Matrix<T>&);                                                           \
  template Vector<T> operator+(double, const Vector<T>&);                                                           \
  template Matrix<T> exp(Matrix<T>);                                                                                \
  template Vector<T> exp(const Vector<T>&);                                                                         \
  template Matrix<T> exp2(const Matrix<T>&);                                                                        \
  template Matrix<T> tanh(const Matrix<T>&);                                                                        \
  template Vector<T> log(const Vector<T>&);                                                                         \
  template Vector<T> sqrt(const Vector<T>&);                                                                        \
  template Vector<T> max(const Vector<T>&, const Vector<T>&);                                                       \
  template Matrix<T> add_rows(Matrix<T>, const Vector<T>&);                                                         \
  template Matrix<T> sub_rows(Matrix<T>, const Vector<T>&);                                                         \
  template Matrix<T> scale_rows(Matrix<T>, const Vector<T>&);                                                       \
  template Matrix<T> div_rows(Matrix<T>, const Vector<T>&);                                                         \
  template Matrix<T> add_cols(Matrix<T>, const Vector<T>&);                                                         \
  template Matrix<T> scale_cols(Matrix<T>, const Vector<T>&);                                                       \
  template Matrix<T> affine(Matrix<T>, const Vector<T>&, const Vector<T>&);                                         \
  template Matrix<T> affine(Matrix<T>, const Vector<T>&, const Vector<T>&, const Vector<T>&);                       \
  template Matrix<T> matmul(const Matrix<T>&, const Matrix<T>&);                                                    \
  template Matrix<T> matmul(const Mask&, const Matrix<T>&, const Matrix<T>&);                                       \
  template Vector<T> sum_rows(const Matrix<T>&);                                                                    \
  template Vector<T> mean_rows(const Matrix<T>&);                                                                   \
  template Centred<T> center_rows(const Matrix<T>&);                                                                \
  template Vector<T> sum_cols(const Matrix<T>&);                                                                    \
  template Vector<T> max_rows(const Matrix<T>&);                                                                    \
  template Vector<T> dot_rows(const Matrix<T>&, const Matrix<T>&);                                                  \
  template T inner(const Matrix<T>&, const Matrix<T>&);                                                             \
  template T inner(const Vector<T>&, const Vector<T>&);                                                             \
  template Vector<T> inv_rms(const Matrix<T>&, double);                                                             \
  template Vector<T> inv_rms_eps_outside(const Matrix<T>&, double);                                                 \
  template Vector<T> inv_std(const Matrix<T>&, const Vector<T>&, double);                                           \
  template Vector<T> inv_std_eps_outside(const Matrix<T>&, const Vector<T>&, double);                               \
  template SoftmaxMean<T> softmax_mean(const Matrix<T>&, const Matrix<T>&, const Mask&, const Vector<T>&);          \
  template SoftmaxMean<T> mean_in_chunks(const SoftmaxMean<T>&, const Matrix<T>&, const Matrix<T>&, Index, double); \
  template Vector<T> anchor(const Vector<T>&);                                                                      \
  template Vector<T> stale(const Vector<T>&, const Vector<T>&, double);                                             \
  template Matrix<T> select(const Mask&, const Matrix<T>&, double);                                                 \
  template Matrix<T> select_rows(const RowMask&, const Matrix<T>&, double);                                         \
  template Matrix<T> select_rows(const RowMask&, const Matrix<T>&, const Vector<T>&);                               \
  template Vector<T> select(const RowMask&, const Vector<T>&, double);                                              \
  template RowMask is_neg_inf(const Vector<T>&);                                                                    \
  template Matrix<T> at(Site, Matrix<T>);                                                                           \
  template Vector<T> at(Site, Vector<T>);                                                                           \
  template Vector<double> values(const Vector<T>&);                                                                 \
  template Matrix<double> values(const Matrix<T>&);
// clang-format on

}  // namespace assay

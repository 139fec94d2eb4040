#pragma once
#include "reference/core/vocabulary.hpp"

namespace assay {

/// Linear projection y = x w + b (spec/model/linear.md).
///   x [T, n_in], w [n_in, n_out], b [n_out]  ->  y [T, n_out]
/// Accuracy in double: n_in u Σ |x_i w_i| (one chain of fma per output, i ascending), and u |y| for the bias. Throws
/// Error if the shapes do not fit.
template <class T>
Matrix<T> linear(const Matrix<T>& x, const Matrix<T>& w, const Vector<T>& b);
/// The same without a bias.
template <class T>
Matrix<T> linear(const Matrix<T>& x, const Matrix<T>& w);

/// Its vector-Jacobian product: dy [T, n_out] -> dx [T, n_in], dw [n_in, n_out], db [n_out].
template <class T>
struct LinearVjp {
  Matrix<T> dx, dw;
  Vector<T> db;
};
template <class T>
LinearVjp<T> linear_vjp(const Matrix<T>& x, const Matrix<T>& w, const Matrix<T>& dy);

}  // namespace assay

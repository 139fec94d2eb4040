#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/norm/layer.hpp"

namespace assay {

/// Layer normalization: each token less its mean, over its standard deviation, times a gain, plus a bias
/// (spec/norm/layer.md).
///   x [T, d], w [d], b [d]  ->  y [T, d]; without b: no bias
/// Accuracy in double: the mean's error u (|mu| + 2 mean |x|) over the standard deviation, then 7 u relative. Throws
/// Error if w or b is not [d]. Source: arXiv 1607.06450, eq. 4.
template <class T>
Matrix<T> layer_norm(const Matrix<T>& x, const Vector<T>& w, const Vector<T>& b, const LayerNormOptions& opt);
template <class T>
Matrix<T> layer_norm(const Matrix<T>& x, const Vector<T>& w, const LayerNormOptions& opt);

/// Its vector-Jacobian product for eps inside: dy [T, d] -> dx [T, d], dw [d], db [d] (spec/norm/layer.md, "Gradient").
template <class T>
struct LayerNormVjp {
  Matrix<T> dx;
  Vector<T> dw, db;
};
template <class T>
LayerNormVjp<T> layer_norm_vjp(const Matrix<T>& x, const Vector<T>& w, const Matrix<T>& dy,
                               const LayerNormOptions& opt);

}  // namespace assay

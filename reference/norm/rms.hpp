#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/norm/rms.hpp"

namespace assay {

/// RMSNorm: each token divided by its root mean square, times a gain (spec/norm/rms.md).
///   x [T, d], w [d]  ->  y [T, d]
/// Accuracy in double: 6 u relative if no square over- or underflows (compensated sum of terms of one sign). Throws
/// Error if w is not [d]. Source: arXiv 1910.07467, eq. 4.
template <class T>
Matrix<T> rms_norm(const Matrix<T>& x, const Vector<T>& w, const RmsNormOptions& opt);

/// Its vector-Jacobian product for eps inside: dy [T, d] -> dx [T, d] and dw [d] (spec/norm/rms.md, "Gradient").
template <class T>
struct RmsNormVjp {
  Matrix<T> dx;
  Vector<T> dw;
};
template <class T>
RmsNormVjp<T> rms_norm_vjp(const Matrix<T>& x, const Vector<T>& w, const Matrix<T>& dy, const RmsNormOptions& opt);

}  // namespace assay

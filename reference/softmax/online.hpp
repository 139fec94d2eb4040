#pragma once
#include "reference/softmax/merge.hpp"
#include "spec/softmax/online.hpp"

namespace assay {

/// How far a maximum may rise before option stale_max rescales: 8 in base 2, as a natural exponent.
inline constexpr double stale_threshold = 8 * 0.693147180559945309417;

/// The state before any entry: (-inf, 0, 0).
template <class T>
SoftmaxState<T> softmax_nothing(Index rows, Index d);

/// Takes in one chunk: x [T, c], v [c, d]. The shift follows the maximum once it has risen by more than `slack` (0: at
/// once).
template <class T>
SoftmaxState<T> softmax_step(const SoftmaxState<T>& s, const Matrix<T>& x, const Matrix<T>& v, double slack);

/// Online softmax: the mean of the rows of v weighted by the softmax of each row of x, chunk by chunk
/// (spec/softmax/online.md).
///   x [T, n], v [n, d]  ->  o [T, d], lse [T]
/// Accuracy in double, against sum_j p_j |v_j|: that of safe softmax, and u (|m_last - m_first| + 4 (chunks that raise
/// the maximum)). v finite. Throws Error if v does not fit x, or if the chunk is not a whole number from 1.
template <class T>
SoftmaxMean<T> online_softmax(const Matrix<T>& x, const Matrix<T>& v, const OnlineSoftmaxOptions& opt);

/// Vector-Jacobian products (spec/softmax/online.md, "Gradient"), from the stored lse and o: dout [T, d], dlse [T].
template <class T>
Matrix<T> online_softmax_vjp_x(const Matrix<T>& x, const Matrix<T>& v, const SoftmaxMean<T>& y, const Matrix<T>& dout,
                               const Vector<T>& dlse);  // -> dx [T, n]
template <class T>
Matrix<T> online_softmax_vjp_v(const Matrix<T>& x, const SoftmaxMean<T>& y, const Matrix<T>& dout);  // -> dv [n, d]

}  // namespace assay

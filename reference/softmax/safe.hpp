#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/softmax/safe.hpp"

namespace assay {

/// What a softmax returns: probabilities, their logarithms, and the log-sum-exp of each row (natural logarithm, sink
/// excluded).
template <class T>
struct Softmax {
  Matrix<T> p, log_p;  // [T, n]
  Vector<T> lse;       // [T]
};

/// Safe softmax of each row (spec/softmax/safe.md).
///   x [T, n], keep [T, n] (an empty mask keeps everything), sink [T] (-inf: none)  ->  p [T, n], log_p [T, n], lse [T]
/// Accuracy in double: u (|x_i - m| + sum_j p_j |x_j - m| + 2 + 6) relative for p: exp within 1 ulp, compensated sum.
/// Any input is valid. Throws Error if keep or sink does not fit x.
template <class T>
Softmax<T> softmax_safe(const Matrix<T>& x, const Mask& keep, const Vector<T>& sink, const SoftmaxOptions& opt);

/// LSE of each row: x [T, n] -> [T]; -inf for a row of -inf or of length 0.
template <class T>
Vector<T> log_sum_exp(const Matrix<T>& x);

/// Vector-Jacobian products (spec/softmax/safe.md, "Gradient"). p [T, n] as returned by the forward; dp, dlog_p [T, n];
/// dlse [T].
template <class T>
Matrix<T> softmax_vjp(const Matrix<T>& p, const Matrix<T>& dp);  // -> dx [T, n]
template <class T>
Vector<T> softmax_sink_vjp(const Matrix<T>& p, const Vector<T>& p_sink, const Matrix<T>& dp);  // -> dsink [T]
template <class T>
Matrix<T> log_softmax_vjp(const Matrix<T>& p, const Matrix<T>& dlog_p);  // -> dx [T, n]
template <class T>
Matrix<T> lse_vjp(const Matrix<T>& p, const Vector<T>& dlse);  // -> dx [T, n]

}  // namespace assay

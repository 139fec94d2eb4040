#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/softmax/plain.hpp"

namespace assay {

/// What a plain softmax returns: probabilities, and the log-sum-exp of each row (natural logarithm, sink excluded).
template <class T>
struct SoftmaxPlain {
  Matrix<T> p;    // [T, n]
  Vector<T> lse;  // [T]
};

/// Plain softmax of each row, without a shift (spec/softmax/plain.md).
///   x [T, n], keep [T, n] (an empty mask keeps everything), sink [T] (-inf: none)  ->  p [T, n], lse [T]
/// Accuracy in double: u (2 + 6) relative for p while |x| < 700: exp within 1 ulp, compensated sum; beyond that it
/// overflows as the formula does. Throws Error if keep or sink does not fit x.
template <class T>
SoftmaxPlain<T> softmax_plain(const Matrix<T>& x, const Mask& keep, const Vector<T>& sink);

}  // namespace assay

#pragma once
#include "reference/core/vocabulary.hpp"

namespace assay {

/// Soft-capped logits C tanh(x / C), within [-C, C] (spec/attention/softcap.md); x itself where C is 0.
/// Accuracy in double: u (|x| + 4 |x'|). Throws Error if C is negative or no number.
template <class T>
Matrix<T> softcap(const Matrix<T>& x, double C);

/// Gradient of the logits x [n, Sk] from that of the capped ones, d [n, Sk]: d_ij (1 - (x'_ij / C)^2).
template <class T>
Matrix<T> softcap_vjp(const Matrix<T>& d, const Matrix<T>& x, double C);

}  // namespace assay

#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/softmax/merge.hpp"

namespace assay {

/// What is known of a softmax-weighted mean after some of its entries: the shift m that its exponentials used (-inf:
/// none yet), their sum l, and the sum of weighted values o, not divided by l.
template <class T>
struct SoftmaxState {
  Vector<T> m, l;  // [T]
  Matrix<T> o;     // [T, d]
};

/// Joins the states, or the divided means, of two disjoint sets of entries (spec/softmax/merge.md).
/// Commutative; (-inf, 0, 0) is its identity. Accuracy in double: 4 + |m_a - m_b| u relative for l, and for o against
/// sum_j e_j |v_j|. Throws Error if shapes differ.
template <class T>
SoftmaxState<T> softmax_merge(const SoftmaxState<T>& a, const SoftmaxState<T>& b);
template <class T>
SoftmaxMean<T> softmax_merge(const SoftmaxMean<T>& a, const SoftmaxMean<T>& b);

/// o / l and m + ln l; 0 and -inf where no entry was met.
template <class T>
SoftmaxMean<T> softmax_finish(const SoftmaxState<T>& s);

}  // namespace assay

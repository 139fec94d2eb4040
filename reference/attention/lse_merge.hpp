#pragma once
#include <vector>

#include "reference/softmax/merge.hpp"

namespace assay {

/// Merge of partial attention states (spec/attention/lse_merge.md). A part is the attention over some keys: lse [T] and
/// its mean o [T, d]; lse = -inf where it has none, whatever o holds there. The binary merge is `softmax_merge`.
///
/// Of any number of parts with disjoint keys, at once. Of no part the empty state: then T and d are needed.
template <class T>
SoftmaxMean<T> merge_parts(const std::vector<SoftmaxMean<T>>& parts, Index rows, Index d);

/// The binary merge as O_1 - sigma(L_2 - L_1) (O_1 - O_2), L_1 + ln(1 + e^(L_2 - L_1)). Of finite L.
template <class T>
SoftmaxMean<T> merge_by_sigmoid(const SoftmaxMean<T>& a, const SoftmaxMean<T>& b);

/// The binary merge of parts whose lse is a logarithm of base 2; so is the result's.
template <class T>
SoftmaxMean<T> merge_base2(const SoftmaxMean<T>& a, const SoftmaxMean<T>& b);

/// log2 e, n times, to the accuracy of T.
template <class T>
Vector<T> log2_e(Index n);

}  // namespace assay

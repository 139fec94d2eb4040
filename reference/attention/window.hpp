#pragma once
#include "reference/attention/core.hpp"

namespace assay {

/// How many keys the query at key position t sees through a causal window of W: max(0, min(t + 1, W)), t < Sk.
Index window_count(Index t, Index W);

/// What a causal window of W removes from causal attention: j <= t - W, for queries of Sq at t = i + Sk - Sq.
Mask beyond_window(Index Sq, Index Sk, Index W);  // [Sq, Sk]

/// The slot of a ring buffer of W slots that holds position j.
Index ring_slot(Index j, Index W);

/// What a ring buffer of W slots holds once keys 0..t are written, oldest overwritten first: slot r has row
/// max{ j <= t : j mod W = r } of x [Sk, d]; slots that no key has reached are left out. [min(t + 1, W), d]
template <class T>
Matrix<T> ring_buffer(const Matrix<T>& x, Index t, Index W);

/// A decoding step at position t from a ring buffer: q [1, d] attends to everything in it, in the order of the slots.
template <class T>
Attention<T> ring_attention(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, Index t,
                            const AttentionOptions& opt);

/// n layers of windowed self-attention, q = k = v = x [S, d].
template <class T>
Matrix<T> window_layers(const Matrix<T>& x, Index n, const AttentionOptions& opt);

}  // namespace assay

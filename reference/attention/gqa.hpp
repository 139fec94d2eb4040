#pragma once
#include "reference/attention/core.hpp"

namespace assay {

/// The query heads that share one key-value head (spec/attention/gqa.md): head r of the group has q[r] [Sq, d] and
/// bias[r] [Sq, Sk] (no bias: empty); k [Sk, d], v [Sk, dv], keep [Sq, Sk] or Mask() are common to them.
template <class T>
struct HeadGroup {
  std::vector<Matrix<T>> q, bias;
  Matrix<T> k, v;
  Mask keep;
};

/// Each head of the group on the shared keys and values.
template <class T>
std::vector<Attention<T>> group_attention(const HeadGroup<T>& group, const AttentionOptions& opt);

/// The same as one problem of g Sq queries: packed row i g + r is query i of head r, and sees what query i sees.
template <class T>
Attention<T> packed_attention(const HeadGroup<T>& group, const AttentionOptions& opt);

/// Vector-Jacobian product: d_o[r] [Sq, dv], d_lse[r] [Sq]. dq by head; dk and dv are the sums over the heads.
template <class T>
struct GroupVjp {
  std::vector<Matrix<T>> dq;
  Matrix<T> dk, dv;
};
template <class T>
GroupVjp<T> group_vjp(const HeadGroup<T>& group, const std::vector<Matrix<T>>& d_o, const std::vector<Vector<T>>& d_lse,
                      const AttentionOptions& opt);

/// Row i g + r of the result is row i of matrix r; one matrix without an entry where there is none. Throws Error if
/// shapes differ.
template <class T>
Matrix<T> pack_rows(const std::vector<Matrix<T>>& heads);
/// Row i g + r of the result is row i of the mask.
Mask pack_mask(const Mask& keep, Index g);

/// Bytes of keys and values per token and layer, where an element takes `bytes`.
inline Index gqa_cache_bytes(Index Hkv, Index d, Index dv, Index bytes) { return Hkv * (d + dv) * bytes; }
/// FLOPs per byte of keys and values when one token is decoded, d = dv.
inline double gqa_intensity(Index g, Index bytes) { return 2.0 * static_cast<double>(g) / static_cast<double>(bytes); }

}  // namespace assay

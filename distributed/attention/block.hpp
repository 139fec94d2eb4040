#pragma once
#include <vector>

#include "reference/core/tensor.hpp"

// The local kernel: attention of the queries of one rank to one block of keys, in F (float or double), one row at a
// time. What a query does not see is not read.
namespace assay {

/// How queries see keys, by the positions of their tokens.
struct RingRule {
  bool causal = true;
  Index window = -1;  // keys a query sees at most, its own and those before it; -1: all
  bool sees(Index query, Index key) const { return (!causal || key <= query) && (window < 0 || key > query - window); }
};

/// What a rank holds of the sequence beside q, k, v.
struct RingSight {
  RingRule rule;
  std::vector<Index> queries, keys;             // positions of the tokens
  const Tensor<unsigned char>* mask = nullptr;  // [B, queries, S]: own queries, all keys; may be null

  bool sees(Index b, Index i, Index j) const {
    const Index at = keys[static_cast<std::size_t>(j)];
    if (!rule.sees(queries[static_cast<std::size_t>(i)], at)) return false;
    return mask == nullptr || mask->data()[(b * mask->shape()[1] + i) * mask->shape()[2] + at] != 0;
  }
  /// Whether position hides every pair.
  bool hidden() const {
    for (const Index i : queries)
      for (const Index j : keys)
        if (rule.sees(i, j)) return false;
    return true;
  }
};

/// The part (L, O) of a block: o [B, n, H, dv] divided by its own sum, lse [B, H, n]; 0 and -inf where nothing is seen.
template <class F>
struct RingPart {
  Tensor<F> o, lse;
};

///   q [B, n, H, d], k [B, m, Hkv, d], v [B, m, Hkv, dv]
template <class F>
RingPart<F> attend_block(const Tensor<F>& q, const Tensor<F>& k, const Tensor<F>& v, const RingSight& sight);

/// state = state + part. An empty part leaves every bit.
template <class F>
void merge_part(RingPart<F>& state, const RingPart<F>& part);

/// What the backward pass of a block reads: the final L (with the sink) and D of its queries, [B, H, n] each.
template <class F>
struct RingOwner {
  Tensor<F> q, d_o, lse, D;
};
/// Adds the gradients of a block: dq [B, n, H, d] of the queries, dk and dv of the block's keys.
template <class F>
void add_block_gradients(const RingOwner<F>& own, const Tensor<F>& k, const Tensor<F>& v, const RingSight& sight,
                         Tensor<F>& dq, Tensor<F>& dk, Tensor<F>& dv);

}  // namespace assay

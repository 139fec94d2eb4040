#pragma once
#include <vector>

#include "reference/attention/online.hpp"

namespace assay {

/// One head, as `attention` takes it, without a sink. keep and bias may be empty.
template <class T>
struct FlashInputs {
  Matrix<T> q, k, v;  // [Sq, d], [Sk, d], [Sk, dv]
  Mask keep;          // [Sq, Sk]: what the mask and positions leave
  Matrix<T> bias;     // [Sq, Sk]
  AttentionOptions opt;
};

/// Tiles of Br queries and Bc keys, of which the last may be smaller; the keys are met from the left or from the right.
struct Tiles {
  Index Br = 64, Bc = 64;
  bool from_right = false;
};

/// Keys below this one may be seen by a query before `last`: off + last within 0..Sk, off = Sk - Sq (bottom_right);
/// last (top_left); Sk (none). Tiles that start at it or later are wholly above the diagonal.
Index keys_below_diagonal(Index last, Index Sq, Index Sk, const AttentionOptions& opt);
/// First keys, or queries, of the tiles of 0..n-1, in the order they are met. Throws Error if size is below 1.
std::vector<Index> tile_starts(Index n, Index size, bool from_right);

/// The logits of one tile, -inf where a query does not see a key: rows first..last-1, keys from..to-1.
template <class T>
Matrix<T> tile_logits(const FlashInputs<T>& in, Index first, Index last, Index from, Index to);

/// What FlashAttention-2 returns, and saves for its backward: lse.
template <class T>
struct Flash2 {
  Matrix<T> o;        // [Sq, dv]
  Vector<T> lse;      // [Sq]
  Index visited = 0;  // tiles of logits that were computed
};

/// FlashAttention-2 (spec/attention/flash2.md): queries outside, keys inside, one division at the end. Equal to
/// `attention`. v finite.
template <class T>
Flash2<T> flash2(const FlashInputs<T>& in, const Tiles& tiles);

}  // namespace assay

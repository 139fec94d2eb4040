#pragma once
#include "reference/attention/lse_merge.hpp"
#include "reference/attention/online.hpp"

namespace assay {

/// Splits of the keys 0..keys-1 in order: `count` of nearly one size (empty ones where there are more than keys), or of
/// `size` keys each, the last with what is left. Throws Error if count or size is below 1.
Chunks splits_by_count(Index keys, Index count);
Chunks splits_by_size(Index keys, Index size);

/// What the splits write: the attention over each one's keys (spec/attention/split_kv.md). Of an empty one (-inf, 0).
template <class T>
std::vector<SoftmaxMean<T>> split_states(const SeenLogits<T>& in, const Chunks& splits);

/// Attention of one head in splits of its keys, merged. Equal to `attention` without a sink.
template <class T>
Attention<T> attention_split(const SeenLogits<T>& in, const Chunks& splits);

}  // namespace assay

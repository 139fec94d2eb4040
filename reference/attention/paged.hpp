#pragma once
#include "reference/attention/core.hpp"
#include "spec/attention/paged.hpp"

namespace assay {

/// Pages that hold `tokens` tokens at P a page: ceil(tokens / P).
Index pages_of(Index tokens, Index P);

/// Paged attention (spec/attention/paged.md): each request is attention over the tokens that its row of the table
/// names.
///   q [B, Sq, H, d]; k_pages, v_pages [Npages, P, Hkv, .] with layout nhd, [Npages, Hkv, P, .] with hnd;
///   block_table [B, maxblk]; lens [B]
/// Accuracy: that of `attention`. Throws Error if shapes do not fit, if a length is negative or exceeds its row of the
/// table, or if a page that a token lies in is none of the pool.
template <class T>
struct PagedInputs {
  Tensor<T> q, k_pages, v_pages;
  Tensor<Index> block_table, lens;
};
template <class T>
AttentionOutputs<T> attention_paged(const PagedInputs<T>& in, const AttentionPagedOptions& opt);

}  // namespace assay

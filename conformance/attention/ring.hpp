#pragma once
#include "conformance/engine/claim.hpp"
#include "reference/attention/ring.hpp"

// What claims on op attention_ring share.
namespace assay {

/// Whether the case has a token at all; gives it one of everything where it has not.
Check& some_tokens(Check& check);

/// The same problem as a call of op attention.
Call unsharded(const Call& call);

/// The keys that query i of batch entry b sees.
std::vector<Index> ring_seen(const Call& call, Index b, Index i);

/// The first head of the first batch entry, without what the ranks make of it.
struct RingCase {
  RingHead<Bound> head;
  Vector<Bound> sink;  // [S] or Vector()
  AttentionRingOptions opt;
  Tokens tokens;
  Attention<Bound> full() const;
};
RingCase ring_case(const Call& call);

/// O and L of two answers differ by no more than both may differ from the definition.
void agree_within_bounds(Check& check, const std::string& what, const Call& x, const Tensors& of_x, const Call& y,
                         const Tensors& of_y);

}  // namespace assay

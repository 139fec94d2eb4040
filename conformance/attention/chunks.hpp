#pragma once
#include <string>

#include "conformance/attention/head.hpp"
#include "reference/attention/online.hpp"

// Ways to cut the keys of a case, for claims on definitions of the forms of attention that go through them in parts.
namespace assay {

/// The keys 0..n-1 in order, cut at random into 1 to 6 chunks, some of them empty.
Chunks random_chunks(const Check& check, const std::string& name, Index n);
/// 0..n-1 in a random order.
std::vector<Index> random_order(const Check& check, const std::string& name, Index n);
/// The same keys in a random order.
Chunks shuffled_chunks(const Check& check, const std::string& name, Index n);

/// The logits of a head, -inf where a query does not see a key, and its values.
SeenLogits<Bound> seen_logits(const Head& head);

/// O and L of two forms agree.
void agree(Check& check, const std::string& what, const Attention<Bound>& left, const Attention<Bound>& right);

}  // namespace assay

#pragma once
#include <string>

#include "conformance/engine/claim.hpp"
#include "reference/attention/lse_merge.hpp"

// Calls and parts for claims on the merge of attention states.
namespace assay {

/// Element i of an input.
void put(Call& call, const std::string& input, Index i, double to);
/// Row t of part '1' or '2' of a call of merge_states in form lse.
void set_part(Call& call, char part, Index t, double lse, double o);

/// The case in form lse; by axis `empty` the first part of every row is empty (1), the second (2), both of every other
/// row (3).
Call two_parts(Check& check);

/// Logits and values made of the tensors of the case, and the attention over some of their keys.
struct Keys {
  Matrix<Bound> x, v;  // [T, n], [n, dv]

  SoftmaxMean<Bound> state(const std::vector<Index>& which) const {
    return softmax_mean(take_cols(x, which), take_rows(v, which), Mask(), Vector<Bound>());
  }
};
Keys keys_of(Check& check);

}  // namespace assay

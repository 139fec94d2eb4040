#pragma once
#include <string>
#include <vector>

#include "reference/core/readings/bound.hpp"
#include "reference/core/tensor.hpp"

// Decisions. A definition that decides (routing, top-k, sampling, quantizer codes) returns what it chose and accepts
// what a target chose: the judge first asks whether that choice is admissible - one that some values within the errors
// of the scores lead to - and then evaluates the rest under it. Otherwise one legal flip of a tie makes everything
// behind it "wrong".
namespace assay {

/// What a definition chooses: the k largest scores, the largest first, of equal ones the smaller index first, NaN last.
/// scores [n] -> k indices. Throws Error unless 0 <= k <= n.
std::vector<Index> top_k(const Vector<double>& scores, Index k);

/// Whether some scores within their bounds (min(w, b + z sigma) with the reading's z) make `chosen` the k largest, in
/// any order. scores [n], chosen: k distinct indices. Two scores without error compare exactly; equal ones may be
/// exchanged. NaN is never chosen over a number. Returns "" if admissible, otherwise why not, for a person. Throws
/// Error if an index is none of 0..n-1.
std::string inadmissible_top_k(const Vector<Bound>& scores, const std::vector<Index>& chosen);

/// Whether `chosen` is the only set that scores within their bounds can lead to. Throws as above.
bool only_top_k(const Vector<Bound>& scores, const std::vector<Index>& chosen);

/// inadmissible_top_k for one largest score.
std::string inadmissible_argmax(const Vector<Bound>& scores, Index chosen);

}  // namespace assay

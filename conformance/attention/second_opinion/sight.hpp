#pragma once
#include "conformance/engine/claim.hpp"

namespace assay {

/// Whether query i of batch entry b does not see key j: the page's V(i), for the second opinions of the ops that have
/// its options.
inline bool hidden(const Call& call, Index b, Index i, Index j) {
  const Index Sq = call["q"].shape()[1], Sk = call["k"].shape()[1];
  const Index t = call.option("causal") == 1 ? i : i + Sk - Sq;
  const auto window = static_cast<Index>(call.option("window"));
  if (call.option("causal") != 2 && j > t) return true;
  if (window > 0 && j <= t - window) return true;
  return call.inputs.has("mask") && call["mask"].at_flat((b * Sq + i) * Sk + j) == 0;
}

}  // namespace assay

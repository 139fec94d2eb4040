#pragma once
#include "reference/attention/core.hpp"
#include "spec/attention/varlen.hpp"

namespace assay {

/// Attention over packed sequences (spec/attention/varlen.md).
///   q [Tq, H, d], k [Tk, Hkv, d], v [Tk, Hkv, dv]; cu_q, cu_k [n + 1]
/// O [Tq, H, dv], L [H, Tq]. Accuracy: that of `attention`. Throws Error if shapes do not fit, if the ends are not 0,
/// never decreasing and the packed size last, or if max_q or max_k is below the longest sequence.
template <class T>
struct VarlenInputs {
  Tensor<T> q, k, v;
  Vector<Index> cu_q, cu_k;
};
template <class T>
AttentionOutputs<T> attention_varlen(const VarlenInputs<T>& in, const AttentionVarlenOptions& opt);

}  // namespace assay

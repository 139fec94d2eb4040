#pragma once
#include "conformance/engine/claim.hpp"
#include "reference/attention/flash_bwd.hpp"

// What the claims of page attention.flash_bwd share.
namespace assay {

template <class T>
AttentionBackwardInputs<T> backward_inputs(const Eval<T>& e) {
  AttentionBackwardInputs<T> in{e.tensor("q"),   e.tensor("k"),   e.tensor("v"),     e.tensor("o"),
                                e.tensor("lse"), e.tensor("d_o"), Tensor<T>(),       e.mask_tensor("mask"),
                                Tensor<T>(),     Vector<T>(),     e.mask_tensor("z")};
  if (e.has("d_lse")) in.d_lse = e.tensor("d_lse");
  if (e.has("bias")) in.bias = e.tensor("bias");
  if (e.has("sink")) in.sink = e.vector("sink");
  return in;
}

/// The call with o and lse of its own forward pass, in their formats.
Call consistent(const Call& call);

/// Whether query i of batch entry b sees key j.
bool pair_seen(const Call& call, Index b, Index i, Index j);

/// The heads of the first key-value head of the first batch entry of a case, in Bound, with o and lse of their forward
/// pass, and its gradients.
struct BackwardCase {
  Call call;
  AttentionBackwardOptions opt;
  AttentionStack<Bound> x;
  AttentionGradients<Bound> run() const { return attention_backward(x, opt); }
};
/// The case as it is but with something in it.
BackwardCase backward_case(Check& check);
/// The same where every query sees every key and no key has another reason to weigh 0.
BackwardCase full_rows(Check& check);

}  // namespace assay

#pragma once
#include "reference/attention/core.hpp"
#include "spec/attention/flash_bwd.hpp"

namespace assay {

/// What one key-value head and the query heads that share it are given (spec/attention/flash_bwd.md): the rows of the
/// query heads one below the other, n = (H / Hkv) Sq.
template <class T>
struct AttentionStack {
  Matrix<T> q, k, v;     // [n, d], [Sk, d], [Sk, dv]
  Mask keep;             // [n, Sk]
  Matrix<T> bias;        // [n, Sk] or Matrix()
  Vector<T> sink;        // [n] or Vector()
  Mask z;                // [n, Sk] or Mask()
  Matrix<T> o, d_o;      // [n, dv]
  Vector<T> lse, d_lse;  // [n]; [n] or Vector()
};

/// The forward pass whose gradients are taken: attention of core.hpp with a cap and dropout. Does not look at o, lse.
template <class T>
Attention<T> attention_stacked(const AttentionStack<T>& x, const AttentionBackwardOptions& opt);

template <class T>
struct AttentionGradients {
  Matrix<T> dq, dk, dv;  // [n, d], [Sk, d], [Sk, dv]
  Matrix<T> g;           // [n, Sk]: of the logits after cap and bias
  Vector<T> d_sink;      // [n] or Vector(): what each row adds to it
};
/// The gradients by recomputation. Rows with lse = -inf, and pairs that are not kept, give exactly 0. Accuracy in
/// double: u (d + 2 |s - L| + 4) relative of a weight, then that of the sums. Throws Error if shapes do not fit.
template <class T>
AttentionGradients<T> attention_backward(const AttentionStack<T>& x, const AttentionBackwardOptions& opt);

/// The op over batch and heads; the tensors of the page, those that the options leave out as Tensor().
template <class T>
struct AttentionBackwardInputs {
  Tensor<T> q, k, v, o, lse, d_o, d_lse;
  Tensor<unsigned char> mask;
  Tensor<T> bias;
  Vector<T> sink;
  Tensor<unsigned char> z;
};
template <class T>
struct AttentionBackwardOutputs {
  Tensor<T> d_q, d_k, d_v, d_bias, d_sink;
};
/// What key-value head `kv` of batch entry b is given.
template <class T>
AttentionStack<T> attention_stack(const AttentionBackwardInputs<T>& in, Index b, Index kv,
                                  const AttentionBackwardOptions& opt);
/// Throws Error if shapes do not fit, or an option has no meaning.
template <class T>
AttentionBackwardOutputs<T> attention_backward(const AttentionBackwardInputs<T>& in,
                                               const AttentionBackwardOptions& opt);

}  // namespace assay

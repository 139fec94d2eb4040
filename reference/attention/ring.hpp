#pragma once
#include "reference/attention/core.hpp"
#include "reference/attention/ring_schedules.hpp"

namespace assay {

/// The rank whose keys and values rank r of R holds at step n.
Index ring_source(Index r, Index n, Index R, Index start);

/// Which keys queries see by position, as op attention means it: j <= i, j > i - W. Mask() where that is all of them.
Mask ring_visible(Index S, const AttentionRingOptions& opt);  // [S, S]

/// One head of all tokens, and what its queries see.
template <class T>
struct RingHead {
  Matrix<T> q, k, v;  // [S, d], [S, d], [S, dv]
  Mask keep;          // [S, S] or Mask()
};

/// Attention step by step: each rank merges the part of each block into its state.
template <class T>
Attention<T> ring_forward(const RingHead<T>& head, const Tokens& tokens, Index start);

/// The gradients of sum dO O step by step, from what the owner of a query keeps: L (with the sink, where there is one)
/// and D = sum_c dO_c O_c, [S] each. dK and dV are added up in the order in which the ring meets them.
template <class T>
struct RingGradient {
  Matrix<T> dq, dk, dv;
};
template <class T>
RingGradient<T> ring_backward(const RingHead<T>& head, const Matrix<T>& d_o, const Vector<T>& lse, const Vector<T>& D,
                              const Tokens& tokens, Index start);

/// The op: attention itself, in whatever parts.
///   q [B, S, H, d], k [B, S, Hkv, d], v [B, S, Hkv, dv], mask [B, S, S] or Tensor(), sink [H] or Vector(),
///   grad_o [B, S, H, dv] or Tensor()
template <class T>
struct AttentionRingInputs {
  Tensor<T> q, k, v;
  Tensor<unsigned char> mask;
  Vector<T> sink;
  Tensor<T> grad_o;
};
template <class T>
struct AttentionRingOutputs {
  Tensor<T> o, lse;                  // [B, S, H, dv], [B, H, S]
  Tensor<T> grad_q, grad_k, grad_v;  // as q, k, v; Tensor() without grad_o
};
/// Throws Error if shapes do not fit, or if there are no shards of this length.
template <class T>
AttentionRingOutputs<T> attention_ring(const AttentionRingInputs<T>& in, const AttentionRingOptions& opt);

/// The same call as attention without ranks.
AttentionOptions unsharded(const AttentionRingOptions& opt);

}  // namespace assay

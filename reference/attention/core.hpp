#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/attention/core.hpp"

namespace assay {

/// Which keys the queries first..first+rows-1 of Sq see by position: j <= t (causal) and j > t - W (window), where
/// query i stands at key t = i + Sk - Sq (bottom_right, none) or t = i (top_left). Mask() where that is all of them.
/// Throws Error if the window is 0 or below -1.
Mask visible(Index first, Index rows, Index Sq, Index Sk, const AttentionOptions& opt);  // [rows, Sk]
/// What both keep.
Mask both(const Mask& x, const Mask& y);

template <class T>
struct Attention {
  Matrix<T> o;    // [Sq, dv]
  Vector<T> lse;  // [Sq]
};

/// Scaled dot-product attention of one head (spec/attention/core.md): each query takes the mean of the values, weighted
/// by the softmax of its products with the keys.
///   q [Sq, d], k [Sk, d], v [Sk, dv], keep [Sq, Sk] or Mask(), bias [Sq, Sk] or Matrix(), sink [Sq] or Vector()
/// A query that sees no key gives o = 0 and lse = -inf. What a query does not see has no influence on it, NaN included.
/// Accuracy in double: that of `softmax_mean`, and u (d + 2) scale sum_c |q_c k_jc| for a logit. Throws Error if shapes
/// do not fit.
template <class T>
Attention<T> attention(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Mask& keep,
                       const Matrix<T>& bias, const Vector<T>& sink, const AttentionOptions& opt);

/// The factor of q k, n times: what is given, or 1 / sqrt(d) where that is 0.
template <class T>
Vector<T> attention_scale(Index n, Index d, double given);

/// The logits s_ij = cap(scale q_i k_j) + bias_ij of it (softcap.hpp).
template <class T>
Matrix<T> attention_logits(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& bias, const AttentionOptions& opt);

/// The log-sum-exp that counts a sink, of one that does not.
template <class T>
Vector<T> lse_with_sink(const Vector<T>& lse, const Vector<T>& sink);

/// The weights P_ij = exp(s_ij - L_i) that a backward pass recomputes.
template <class T>
Matrix<T> attention_weights(const Matrix<T>& s, const Mask& keep, const Vector<T>& lse);

/// Its vector-Jacobian product: given dO [Sq, dv] and dLSE [Sq], returns dq, dk, dv and the gradient of the logits.
template <class T>
struct AttentionVjp {
  Matrix<T> dq, dk, dv, ds;
};
template <class T>
AttentionVjp<T> attention_vjp(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Mask& keep,
                              const Matrix<T>& bias, const Matrix<T>& d_o, const Vector<T>& d_lse,
                              const AttentionOptions& opt);

/// The last step of it: what the gradient of the logits ds [Sq, Sk] and the weights p [Sq, Sk] of kept pairs give.
template <class T>
AttentionVjp<T> attention_vjp_of_logits(const Matrix<T>& q, const Matrix<T>& k, const Mask& keep, const Matrix<T>& p,
                                        const Matrix<T>& ds, const Matrix<T>& d_o, const AttentionOptions& opt);

/// Attention over batch and heads: query head h reads key-value head h / (H / Hkv).
///   q [B, Sq, H, d], k [B, Sk, Hkv, d], v [B, Sk, Hkv, dv], mask [B, Sq, Sk], bias [H, Sq, Sk], sink [H];
///   the last three may be Tensor()
template <class T>
struct AttentionInputs {
  Tensor<T> q, k, v;
  Tensor<unsigned char> mask;
  Tensor<T> bias;
  Vector<T> sink;
};
template <class T>
struct AttentionOutputs {
  Tensor<T> o;    // [B, Sq, H, dv]
  Tensor<T> lse;  // [B, H, Sq]
};
template <class T>
AttentionOutputs<T> attention(const AttentionInputs<T>& in, const AttentionOptions& opt);

}  // namespace assay

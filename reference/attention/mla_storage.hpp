#pragma once
#include "reference/attention/core.hpp"
#include "spec/attention/mla_storage.hpp"

namespace assay {

/// One head of multi-head latent attention (spec/attention/mla_storage.md): what it reads of the cache, of the queries
/// and of the weights.
template <class T>
struct MlaHead {
  Matrix<T> c, k_rope;       // [Sk, dc], [Sk, dr]: as cached
  Matrix<T> q_nope, q_rope;  // [Sq, dn], [Sq, dr]: rotated
  Matrix<T> w_uk, w_uv;      // [dc, dn], [dc, dvh]
  Mask keep;                 // [Sq, Sk] or Mask()
};

/// scale = (dn + dr)^-1/2 mscale², mscale = 0.1 mscale_all_dim ln(factor) + 1. Throws Error if factor is below 1.
template <class T>
T mla_scale(Index dn, Index dr, const MlaDecodeOptions& opt);

/// What is held between two products: the accumulator's value, or rounded to the output's format.
template <class T>
Matrix<T> held(const Matrix<T>& x, const MlaDecodeOptions& opt);

/// The nope keys c W_UK, or values c W_UV, of a head.
template <class T>
Matrix<T> mla_expand(const Matrix<T>& c, const Matrix<T>& w, const MlaDecodeOptions& opt);

/// The head with its keys and values expanded. A row that sees no key gives o = 0, lse = -inf.
template <class T>
Attention<T> mla_expanded(const MlaHead<T>& head, const MlaDecodeOptions& opt);

/// The op: multi-head latent attention over batch and heads, with the cache it writes.
///   c [B, Sk, ng, gw], k_rope [B, Sk, dr], q_nope [B, Sq, H, dn], q_rope [B, Sq, H, dr], w_uk [dc, H, dn],
///   w_uv [dc, H, dvh], mask [B, Sq, Sk] or Tensor(); gain [dc] and tables [Sk, r], [Sq, r] with latent=raw, dr = 2 r
template <class T>
struct MlaInputs {
  Tensor<T> c, k_rope, q_nope, q_rope, w_uk, w_uv;
  Tensor<unsigned char> mask;
  Vector<T> gain;
  Matrix<T> cos, sin, cos_q, sin_q;
};
template <class T>
struct MlaOutputs {
  Tensor<T> o, lse;            // [B, Sq, H, dvh], [B, H, Sq]
  Tensor<T> c_cache, k_cache;  // latent=raw: [B, Sk, ng, gw], [B, Sk, dr]
  Tensor<T> codes, scales;     // latent=fp8: [B, Sk, ng, gw], [B, Sk, ng]
};
/// Throws Error if shapes do not fit.
template <class T>
MlaOutputs<T> mla_decode(const MlaInputs<T>& in, const MlaDecodeOptions& opt);

}  // namespace assay

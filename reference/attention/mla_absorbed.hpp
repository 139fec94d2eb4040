#pragma once
#include "reference/attention/mla_storage.hpp"

namespace assay {

/// The queries against the latent itself, q_nope W_UKᵀ [Sq, dc] (spec/attention/mla_absorbed.md).
template <class T>
Matrix<T> mla_absorb(const Matrix<T>& q_nope, const Matrix<T>& w_uk, const MlaDecodeOptions& opt);

/// One head of multi-head latent attention without expanding keys and values: the same o and lse as mla_expanded, from
/// the cache as it is.
template <class T>
Attention<T> mla_absorbed(const MlaHead<T>& head, const MlaDecodeOptions& opt);

}  // namespace assay

#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/cache/kv_cache.hpp"

namespace assay {

/// One step of a decoder's attention with its cache (spec/cache/kv_cache.md): the new tokens are appended, then each
/// attends to all tokens up to it.
///   q [B, n, H, d], k [B, n, Hkv, d], v [B, n, Hkv, dv] not rotated; k_cache [B, S, Hkv, d], v_cache [B, S, Hkv, dv];
///   past, shift [B]; cos, sin [R, d/2]
/// Accuracy: that of `attention`, with keys of the cache's format. Throws Error if shapes do not fit, if a row has no
/// room for n tokens, or if the tables have no such position.
template <class T>
struct KvCacheInputs {
  Tensor<T> q, k, v, k_cache, v_cache;
  Tensor<Index> past, shift;
  Matrix<T> cos, sin;
};
template <class T>
struct KvCacheOutputs {
  Tensor<T> o;             // [B, n, H, dv]
  Tensor<T> k_new, v_new;  // [B, S, Hkv, d], [B, S, Hkv, dv]
};
template <class T>
KvCacheOutputs<T> kv_cache(const KvCacheInputs<T>& in, const KvCacheOptions& opt);

/// Rows of x [rows, d] rotated to positions first, first + 1, ... by tables [R, d/2].
template <class T>
Matrix<T> rotated(const Matrix<T>& x, Index first, const Matrix<T>& cos, const Matrix<T>& sin);

}  // namespace assay

#pragma once
#include "reference/attention/mla_storage.hpp"

// What multi-head latent attention writes to its cache (spec/attention/mla_storage.md, "The cache").
namespace assay {

/// RoPE over neighbouring columns: (x, y) -> (x cos - y sin, x sin + y cos).
///   x [S, 2 r], cos, sin [S, r]  ->  [S, 2 r]
/// Throws Error if shapes do not fit.
template <class T>
Matrix<T> rope_pairs(const Matrix<T>& x, const Matrix<T>& cos, const Matrix<T>& sin);

/// A latent packed to e4m3, group by group of columns, and as it is read back. Scale and quotient are exact in every
/// format, so this is a decision about values and carries no error.
template <class T>
struct PackedLatent {
  Matrix<T> c, codes, scales;  // [S, dc], [S, dc], [S, dc / width]
};
/// The values of x [S, dc] in groups of `width` columns. NaN gets the code of NaN.
template <class T>
PackedLatent<T> pack_latent(const Matrix<T>& x, Index width);

}  // namespace assay

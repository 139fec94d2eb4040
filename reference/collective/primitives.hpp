#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/collective/primitives.hpp"

namespace assay {

/// A collective call of n ranks: what the memory that each writes holds afterwards (spec/collective/primitives.md).
///   x [n, S]: row r is what rank r passes to be read; before [n, S]: what it passes to be written, before the call
///   (not looked at in place, where that is x); counts [n, n]: of all_to_all_v, or empty  ->  y [n, S]
/// Blocks have c = floor(S / n) elements. Data movement is exact; a reduction errs as its order does
/// (reduction_order.hpp). Throws Error if shapes do not fit, a count is negative or above c, or root is no whole
/// number.
template <class T>
Matrix<T> collective(const Matrix<T>& x, const Matrix<T>& before, const Matrix<Index>& counts,
                     const CollectiveOptions& opt);

}  // namespace assay

#pragma once
#include "reference/core/vocabulary.hpp"
#include "spec/collective/primitives.hpp"

namespace assay {

/// How often a contribution of n ranks is rounded on its longest way to the result: the depth of the tree that `order`
/// is. 0 for one rank; 1 for `exact`; of an unknown order (`library`) the most that any can have, n - 1.
Index reduction_depth(CollectiveOptions::Order order, Index n);

/// The contributions x_0 .. x_{n-1} of n ranks to one chunk of a reduction, combined as opt says
/// (spec/collective/reduction_order.md).
///   x [n, w], `chunk`: the number of the chunk, which a ring begins behind  ->  [w]
/// Every node of the tree is rounded to the accumulator, or to the elements' format (opt.node); an average divides what
/// comes out once. Accuracy in double: that of the order itself, u = 2^-53 at each node. Throws Error without a rank.
template <class T>
Vector<T> reduce_over_ranks(const Matrix<T>& x, const CollectiveOptions& opt, Index chunk);

}  // namespace assay

#pragma once
#include "conformance/engine/claim.hpp"
#include "reference/collective/primitives.hpp"
#include "reference/collective/reduction_order.hpp"

// What claims on op collective share.
namespace assay {

/// A case whose calls have all of: 2 ranks, a whole block, buffers apart.
Check& some_elements(Check& check);
/// A case of a call that moves elements, among all of them but all_to_all_v and barrier.
Check& some_movement(Check& check);

/// Integers wrap where double does not: small ones do neither.
Check& no_overflow(Check& check);

/// The call with the memory that is written holding this value everywhere.
Call holding(Call call, double value);
/// The call with x replaced.
Call reading(Call call, const Tensor<double>& x);

/// Row r of a tensor [n, S].
inline double element(const Tensor<double>& x, Index r, Index i) { return x.at_flat(r * x.shape()[1] + i); }

/// What the op defines with every rounding site of the contract rounded: the bits that an order has.
Tensor<double> emulated(Check& check, const Call& call);

/// Unit roundoff of what partial results of a call are rounded to.
double u_node(const Call& call);
/// What rounding y to the elements' format may add; 0 where partial results are of that format.
double last_rounding(const Call& call, double y);
/// depth u sum_r |x_ri| / (1 - depth u), for a sum of that depth.
double depth_bound(const Call& call, Index i, Index depth);

}  // namespace assay

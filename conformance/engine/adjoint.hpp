#pragma once
#include "conformance/engine/claim.hpp"

// What claims about gradients are made of: <ybar, J v> = <J^T ybar, v>, the left side from the definition in Dual, the
// right from its vector-Jacobian product in Bound.
namespace assay {

/// An input moving along a fixed direction of small values of both signs.
Tensors along(const Call& call, const std::string& input);
/// A cotangent of small values of both signs.
Matrix<Bound> cotangent(Index rows, Index cols);
/// The derivative part of an output; a vector becomes one column.
Matrix<Bound> derivative(const Tensor<Dual>& y);
/// Exact values as Bound; a vector becomes one column.
Matrix<Bound> lifted(const Tensor<double>& x);

}  // namespace assay

#pragma once
#include <string>

#include "reference/core/format.hpp"
#include "reference/core/safetensors.hpp"
#include "reference/core/tensor.hpp"

namespace assay {

/// The number format behind a dtype of the safetensors format; nullptr for BOOL, integers and C64, which are no rows
/// of that table or not its codes byte for byte.
const Format* safetensors_format(const std::string& dtype);

/// The values of a tensor; exact. BOOL gives 0 and 1. Throws Error naming tensor and element if a value is no double
/// (an integer beyond 2^53, C64), if a BOOL byte is neither 0 nor 1, or if the data disagrees with dtype and shape.
Tensor<double> decode_tensor(const RawTensor& raw);

/// A tensor of that dtype with exactly these values, any strides; every NaN is the format's canonical quiet NaN.
/// Storing never rounds: throws Error naming tensor, element and value if the dtype does not hold the value, its zero's
/// sign included (round first, with `round_to`).
RawTensor encode_tensor(const std::string& name, const std::string& dtype, const Tensor<double>& values);

}  // namespace assay

#pragma once
#include "gpu/ptx/formats.cuh"
#include "reference/core/format.hpp"

namespace assay::ptx {

inline float to_float(std::uint16_t x, Bf16) { return static_cast<float>(decode(formats::bf16, x)); }
inline float to_float(std::uint16_t x, Fp16) { return static_cast<float>(decode(formats::fp16, x)); }

}  // namespace assay::ptx

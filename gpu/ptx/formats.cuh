#pragma once
#include <cstdint>

// The 16-bit formats as types, and what kernels ask of their bits.
namespace assay::ptx {

struct Fp16 {};
struct Bf16 {};

/// Whether the bits are an infinity or a NaN, and that value as float.
__device__ inline bool special(std::uint16_t bits, Fp16) { return (bits & 0x7C00u) == 0x7C00u; }
__device__ inline bool special(std::uint16_t bits, Bf16) { return (bits & 0x7F80u) == 0x7F80u; }
__device__ inline float special_value(std::uint16_t bits, Fp16) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  return __uint_as_float((bits & 0x03FFu) != 0 ? 0x7FFFFFFFu : sign | 0x7F800000u);
}
__device__ inline float special_value(std::uint16_t bits, Bf16) {
  return __uint_as_float((bits & 0x007Fu) != 0 ? 0x7FFFFFFFu : static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace assay::ptx

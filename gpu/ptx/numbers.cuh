#pragma once
#include <cstdint>

#include "gpu/ptx/formats.cuh"

// Elements of a tensor as floats: what a format's bits mean, and the nearest bits of a float (ties to even).
namespace assay::ptx {

struct Fp32 {};

template <class F>
struct Bits {
  using Type = std::uint16_t;
};
template <>
struct Bits<Fp32> {
  using Type = float;
};

__device__ inline float to_float(float x, Fp32) { return x; }
__device__ inline float to_float(std::uint16_t x, Bf16) { return __uint_as_float(static_cast<std::uint32_t>(x) << 16); }
__device__ inline float to_float(std::uint16_t x, Fp16) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
__device__ inline float from_float(float x, Fp32) { return x; }
__device__ inline std::uint16_t from_float(float x, Bf16) {
  std::uint16_t y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
__device__ inline std::uint16_t from_float(float x, Fp16) {
  std::uint16_t y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}

}  // namespace assay::ptx

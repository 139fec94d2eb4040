#pragma once
#include <cstdint>

#include "gpu/ptx/formats.cuh"

// PTX ISA, "Warp-level matrix instructions: mma" with 16-bit floats (sm_80), and the conversions that fill its
// operands.
namespace assay::ptx {

/// c[16, 8] += a[16, 16] b[16, 8], accumulated in fp32. Lane t holds, g = t / 4 and k = 2 (t % 4):
///   a: (g, k) (g + 8, k) (g, k + 8) (g + 8, k + 8)    b: (k, g) (k + 8, g)    c: (g, k) (g, k + 1) (g + 8, k) (g + 8,
///   k + 1)
/// where an operand's register has the named element low and its neighbour in k high.
__device__ inline void mma_16x8x16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                   Fp16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void mma_16x8x16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                   Bf16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two floats rounded to nearest even, low and high.
__device__ inline std::uint32_t pack(float low, float high, Fp16) {
  std::uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ inline std::uint32_t pack(float low, float high, Bf16) {
  std::uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

/// 2^x, at most 2 ulp off, subnormal results included as the hardware gives them; 2^-inf = 0.
__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace assay::ptx

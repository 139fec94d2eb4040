#pragma once
#include <cstdint>

// PTX ISA, "Warp-level Matrix Load Instruction: ldmatrix" (sm_75).
namespace assay::ptx {

/// Four 8x8 matrices of 16-bit elements. Lane 8 m + r gives the address of row r of matrix m; register m of lane t
/// receives elements (t / 4, 2 (t % 4)) and the next one of matrix m.
__device__ inline void ldmatrix_x4(std::uint32_t (&to)[4], std::uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
/// The same, each matrix transposed: register m receives elements (2 (t % 4), t / 4) and the one below it.
__device__ inline void ldmatrix_x4_trans(std::uint32_t (&to)[4], std::uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

}  // namespace assay::ptx

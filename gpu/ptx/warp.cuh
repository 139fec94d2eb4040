#pragma once
#include <cstdint>

// PTX ISA, "Data Movement and Conversion Instructions: shfl.sync" (sm_70): what the 32 lanes of a warp know together.
namespace assay::ptx {

constexpr std::uint32_t all_lanes = 0xFFFFFFFFu;

/// The sum over the warp, the same bits in every lane: a butterfly adds the same pairs everywhere.
__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(all_lanes, x, distance);
  return x;
}
/// The largest of the warp; NaN if a lane has one.
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(all_lanes, x, distance);
    x = x != x || other != other ? __uint_as_float(0x7FFFFFFFu) : fmaxf(x, other);
  }
  return x;
}

}  // namespace assay::ptx

#pragma once
#include <cmath>
#include <cstdint>
#include <functional>

// Runs a thread block on a CPU, lane by lane: what kernels use of CUDA C++, for tests. A lane runs until it meets a
// barrier, or an instruction that a warp executes together; then the next one does. In this folder `gpu/ptx` has the
// meaning of each instruction wrapper of that name, as the PTX ISA words it. No clock, no threads: every run is the
// same.
namespace assay::host {

struct Position {
  int x = 0, y = 0, z = 0;
};
struct Lane {
  Position thread, block;
};

constexpr int lanes_of_warp = 32;

/// The lane that runs.
const Lane& lane();
/// Shared memory of the block; every element holds a NaN of both formats before a block starts.
unsigned char* shared();

/// Waits for all lanes of the warp, of the block.
void sync_warp();
void sync_block();
/// 64 bytes of this lane that its warp may read between two waits.
void* slot();
const void* slot_of(int lane_of_warp);

/// Runs body on `threads` lanes of every block of the grid; the kernel declares its shared memory, the test defines it.
void run_grid(Position grid, int threads, void* shared, std::size_t shared_bytes, const std::function<void()>& body);

template <class T>
T& mine() {
  static_assert(sizeof(T) <= 64);
  return *static_cast<T*>(slot());
}
template <class T>
const T& of(int lane_of_warp) {
  return *static_cast<const T*>(slot_of(lane_of_warp));
}

}  // namespace assay::host

#define __device__
#define __global__
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
#define threadIdx (::assay::host::lane().thread)
#define blockIdx (::assay::host::lane().block)

inline int max(int x, int y) { return x > y ? x : y; }
inline int min(int x, int y) { return x < y ? x : y; }
inline float __uint_as_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline void __syncthreads() { assay::host::sync_block(); }
int __syncthreads_or(int value);
float __shfl_xor_sync(std::uint32_t mask, float value, int lanes);

#pragma once
#include <cstdint>

// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous Copy" (sm_80).
namespace assay::ptx {

/// The address of shared memory as the instructions below take it.
__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Starts a copy of 16 bytes, past the first-level cache; with bytes = 0 it writes zeros and reads nothing. Both
/// addresses are multiples of 16.
__device__ inline void cp_async_16(std::uint32_t to, const void* from, std::uint32_t bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
/// Closes the group of copies that this thread has started since the last group.
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most N groups of this thread are under way. What other threads copied needs a barrier too.
template <int N>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace assay::ptx

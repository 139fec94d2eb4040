#pragma once
#include <array>
#include <cstdint>

// What an instruction works on: one register of a warp is 32 lanes wide. Everything of reference/ptx is written over
// lanes.
namespace assay::ptx {

inline constexpr int warp_size = 32;

/// A set of lanes, bit i for lane i: the predicate, the mask of a .sync instruction, the lanes that execute.
using Mask = std::uint32_t;
inline constexpr Mask full_mask = 0xffffffffu;

inline constexpr bool has(Mask mask, int lane) { return (mask >> lane & 1u) != 0; }

/// One register of a warp: a value per lane. Registers are bits (uint32_t, uint64_t); an instruction says what they
/// mean.
template <class T>
struct alignas(64) Lanes {
  std::array<T, warp_size> lane{};
  constexpr T& operator[](int i) { return lane[static_cast<std::size_t>(i)]; }
  constexpr const T& operator[](int i) const { return lane[static_cast<std::size_t>(i)]; }
  friend bool operator==(const Lanes&, const Lanes&) = default;
};
using Reg32 = Lanes<std::uint32_t>;
using Reg64 = Lanes<std::uint64_t>;

}  // namespace assay::ptx

#pragma once
#include <cstdint>
#include <cstring>

#include "gpu/tests/host/lanes.hpp"

namespace assay::ptx {

inline std::uint32_t element(std::uint32_t row_address, int column) {
  std::uint16_t bits;
  std::memcpy(&bits, host::shared() + row_address + 2 * column, 2);
  return bits;
}
inline void ldmatrix_x4(std::uint32_t (&to)[4], std::uint32_t from) {
  const int t = threadIdx.x % host::lanes_of_warp;
  host::mine<std::uint32_t>() = from;
  host::sync_warp();
  for (int m = 0; m < 4; ++m) {
    const auto row = host::of<std::uint32_t>(8 * m + t / 4);
    to[m] = element(row, t % 4 * 2) | element(row, t % 4 * 2 + 1) << 16;
  }
  host::sync_warp();
}
inline void ldmatrix_x4_trans(std::uint32_t (&to)[4], std::uint32_t from) {
  const int t = threadIdx.x % host::lanes_of_warp;
  host::mine<std::uint32_t>() = from;
  host::sync_warp();
  for (int m = 0; m < 4; ++m)
    to[m] = element(host::of<std::uint32_t>(8 * m + t % 4 * 2), t / 4) |
            element(host::of<std::uint32_t>(8 * m + t % 4 * 2 + 1), t / 4) << 16;
  host::sync_warp();
}

}  // namespace assay::ptx

#pragma once
#include <cstdint>
#include <vector>

#include "gpu/ptx/formats.cuh"
#include "gpu/tests/host/lanes.hpp"
#include "reference/core/format.hpp"

namespace assay::ptx {

inline const Format& format_of(Fp16) { return format("fp16"); }
inline const Format& format_of(Bf16) { return format("bf16"); }

/// All codes of a format, decoded once.
template <class F>
const std::vector<double>& values_of(F) {
  static const std::vector<double> all = [] {
    std::vector<double> x;
    for (std::uint32_t code = 0; code < 65536; ++code) x.push_back(decode(format_of(F()), code));
    return x;
  }();
  return all;
}

/// Each product exact, their sum and c rounded once.
template <class F>
void mma_16x8x16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, F) {
  struct Operands {
    std::uint32_t a[4], b[2];
  };
  const int t = threadIdx.x % host::lanes_of_warp;
  host::mine<Operands>() = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  host::sync_warp();
  const auto value = [](std::uint32_t two, int high) { return values_of(F())[high ? two >> 16 : two & 0xFFFFu]; };
  for (int e = 0; e < 4; ++e) {
    const int row = t / 4 + e / 2 * 8, column = t % 4 * 2 + e % 2;
    double sum = c[e];
    for (int k = 0; k < 16; ++k) {
      const auto& of_row = host::of<Operands>(row % 8 * 4 + k % 8 / 2);
      const auto& of_column = host::of<Operands>(column * 4 + k % 8 / 2);
      sum += value(of_row.a[row / 8 + k / 8 * 2], k % 2) * value(of_column.b[k / 8], k % 2);
    }
    c[e] = static_cast<float>(sum);
  }
  host::sync_warp();
}

template <class F>
std::uint32_t pack(float low, float high, F) {
  const auto code = [](float x) {
    const Format& f = format_of(F());
    return static_cast<std::uint32_t>(encode(f, round_to(f, x)));
  };
  return code(low) | code(high) << 16;
}

inline float exp2_approx(float x) { return std::exp2(x); }

}  // namespace assay::ptx

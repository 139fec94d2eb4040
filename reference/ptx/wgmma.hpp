#pragma once
#include <cstdint>
#include <type_traits>

#include "reference/ptx/mma.hpp"

// wgmma.mma_async (PTX ISA 9.0, section 9.7.15): D(64 x N) = A(64 x K) B(K x N) + D by a warpgroup of four warps. A
// comes from registers or from shared memory, B from shared memory (smemdesc.hpp).
namespace assay::ptx {

struct Wgmma {
  int n;
  Element a, b;
  bool half = false, satfinite = false;
  bool negate_a = false, negate_b = false;  ///< imm-scale -1; floats alone
};
/// 32 bytes of A: 16 elements of 16 bits, 8 of tf32, 32 of 8 bits, 256 bits.
constexpr int depth(const Wgmma& i) { return 256 / element_bits(i.a); }
/// N is a multiple of 8 up to 256; of integers and bits above 32 a multiple of 16.
constexpr bool is_width(const Wgmma& i) {
  return i.n >= 8 && i.n <= 256 && i.n % (is_float(i.a) || i.n <= 32 ? 8 : 16) == 0;
}
constexpr int registers_of_d(const Wgmma& i) { return i.n / (i.half ? 4 : 2); }

/// D of warp w of the four, element i of the N / 2 that a lane 4 g + t holds: row 16 w + g + 8 ((i >> 1) & 1), column
/// 8 (i >> 2) + 2 t + (i & 1). Of f16 a register holds elements 2 r and 2 r + 1.
constexpr Place place_in_wgmma_d(int warp, int lane, int i) {
  return {16 * warp + lane / 4 + 8 * (i >> 1 & 1), 8 * (i >> 2) + 2 * (lane % 4) + (i & 1)};
}
/// A in registers: as mma's, 16 rows a warp.
constexpr Place place_in_wgmma_a(int bits, int warp, int lane, int r, int j) {
  const Place p = place_in_a(bits, lane, r, j);
  return {16 * warp + p.row, p.col};
}

/// The whole instruction. a(row, k) and b(k, n) are the codes of elements; d[w * registers_of_d + r] are the registers
/// of the warps, of which nothing is read with scale_d = false.
template <class A, class B>
void wgmma(const Wgmma& i, A a, B b, Reg32* d, bool scale_d, Arithmetic how = {}) {
  how.wgmma = true;
  const int k = depth(i), registers = registers_of_d(i);
  const Mma one{16, k, i.a, i.b, i.half, i.satfinite};
  const auto multiply = [&](auto zero) {
    using T = decltype(zero);
    const auto value = [](Element e, std::uint32_t code, bool negate) {
      if constexpr (std::is_same_v<T, double>)
        return negate ? -float_element(e, code) : float_element(e, code);
      else
        return integer_element(e, code);
    };
    T rows[64][256], column[256];
    for (int row = 0; row < 64; ++row)
      for (int x = 0; x < k; ++x) rows[row][x] = value(i.a, a(row, x), i.negate_a);
    for (int n = 0; n < i.n; ++n) {
      for (int x = 0; x < k; ++x) column[x] = value(i.b, b(x, n), i.negate_b);
      for (int row = 0; row < 64; ++row) {
        // The place of (row, n): the inverse of place_in_wgmma_d.
        const int lane = row % 8 * 4 + n % 8 / 2, element = n / 8 * 4 + row % 16 / 8 * 2 + n % 2;
        std::uint32_t& word = d[row / 16 * registers + (i.half ? element / 2 : element)][lane];
        const int shift = i.half ? 16 * (element % 2) : 0;
        const std::uint32_t mask = i.half ? 0xffffu << shift : 0xffffffffu;
        const std::uint32_t c = scale_d ? (word & mask) >> shift : 0;
        word = (word & ~mask) | element_of_d(one, rows[row], column, c, how) << shift;
      }
    }
  };
  if (is_float(i.a))
    multiply(double{});
  else
    multiply(std::int32_t{});
}

}  // namespace assay::ptx

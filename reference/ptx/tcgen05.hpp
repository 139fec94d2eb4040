#pragma once
#include <cstdint>

#include "reference/ptx/tcgen05_descriptor.hpp"
#include "reference/ptx/tmem.hpp"

// tcgen05.mma, cp and shift (PTX ISA 9.0, section 9.7.16): what they do to tensor memory. Elements of A and B come as
// codes, from shared memory (smemdesc.hpp) or tensor memory; ordering is not here.
namespace assay::ptx {

/// The value of an element code: fp6 and fp4 in their low bits, wherever they came from.
inline double tcgen05_value(Element e, std::uint32_t code) {
  return float_element(e, e == Element::e2m1 ? code << 2 : code);
}

/// D = A B + (accumulate ? D 2^-scale_d : 0). a(m, k) and b(k, n) are codes; d[i] the memory of CTA i of the group,
/// `address` the same in both. disabled: 4 words a CTA, bit l of word w keeps lane 32 w + l as it is; or null.
template <class A, class B>
void tcgen05_mma(Tcgen05Kind kind, int group, bool ws, const Tcgen05Descriptor& i, A a, B b, TensorMemory* const* d,
                 std::uint32_t address, bool accumulate, int scale_d = 0, const std::uint32_t* disabled = nullptr,
                 Arithmetic how = {Reading::exact, Architecture::blackwell, false}) {
  Element ea{}, eb{};
  if (!tcgen05_element(kind, i.a_format, ea) || !tcgen05_element(kind, i.b_format, eb)) return;
  const int k = tcgen05_depth(kind);
  const bool half = i.d_format == DFormat::f16;
  const Mma one{16, k, ea, eb, half, i.saturate};
  for (int m = 0; m < i.m; ++m)
    for (int n = 0; n < i.n; ++n) {
      const TmemCell c = tmem_place_of_d(group, ws, i.m, i.n, m, n);
      const int lane = tmem_lane(address) + c.lane;
      if (disabled != nullptr && (disabled[4 * c.cta + lane / 32] >> (lane % 32) & 1) != 0) continue;
      std::uint32_t& cell = d[c.cta]->at(lane, tmem_column(address) + c.column);
      std::uint32_t old = accumulate ? cell : 0;
      if (is_float(ea)) {
        double x[64], y[64];
        for (int j = 0; j < k; ++j) {
          x[j] = i.negate_a ? -tcgen05_value(ea, a(m, j)) : tcgen05_value(ea, a(m, j));
          y[j] = i.negate_b ? -tcgen05_value(eb, b(j, n)) : tcgen05_value(eb, b(j, n));
        }
        if (scale_d != 0)
          old = half ? to_half(formats::fp16, static_cast<double>(f16_value(old)) * pow2(-scale_d))
                     : bits(static_cast<float>(static_cast<double>(f32(old)) * pow2(-scale_d)));
        cell = element_of_d(one, x, y, old, how);
      } else {
        std::int32_t x[64], y[64];
        for (int j = 0; j < k; ++j) x[j] = integer_element(ea, a(m, j)), y[j] = integer_element(eb, b(j, n));
        cell = element_of_d(one, x, y, old, how);
      }
    }
}

/// Where scale word of row n of B lies: as A's, but with M = 128 in a group of 2 the halves of N are on different
/// lanes.
constexpr TmemCell tmem_place_of_scale_b(int group, int rows, int width, int n) {
  if (group == 2 && rows == 128) return {n % 32 + 64 * (n / (width / 2)), n % (width / 2) / 32};
  return tmem_place_of_scale(n);
}

/// The scaled kinds: D = (A o SA)(B o SB) + (accumulate ? D : 0) in f32. `scales` a row: 1, 2 or 4; scale words at the
/// addresses scale_a and scale_b of each CTA, bytes from the ids on.
template <class A, class B>
void tcgen05_mma_scaled(Tcgen05Kind kind, int group, const Tcgen05Descriptor& i, int scales, A a, B b,
                        TensorMemory* const* d, std::uint32_t address, std::uint32_t scale_a, std::uint32_t scale_b,
                        bool accumulate, Reading reading = Reading::exact) {
  Element ea{}, eb{};
  if (!tcgen05_element(kind, i.a_format, ea) || !tcgen05_element(kind, i.b_format, eb)) return;
  const ScaleType type = i.ue8m0 ? ScaleType::ue8m0 : ScaleType::ue4m3;
  const BlockScaled one{tcgen05_depth(kind), scales, ea, eb, type};
  for (int m = 0; m < i.m; ++m)
    for (int n = 0; n < i.n; ++n) {
      const TmemCell c = tmem_place_of_d(group, false, i.m, i.n, m, n);
      TensorMemory& memory = *d[c.cta];
      const auto word = [&](std::uint32_t base, const TmemCell& s) {
        return memory.at(tmem_lane(base) + s.lane, tmem_column(base) + s.column);
      };
      // A CTA has the scales of its own rows of A, and of all columns of B.
      const std::uint32_t wa = word(scale_a, tmem_place_of_scale(m % (i.m / group)));
      const std::uint32_t wb = word(scale_b, tmem_place_of_scale_b(group, i.m, i.n, n));
      double x[64], y[64], sa[4], sb[4];
      for (int j = 0; j < one.k; ++j) {
        x[j] = i.negate_a ? -tcgen05_value(ea, a(m, j)) : tcgen05_value(ea, a(m, j));
        y[j] = i.negate_b ? -tcgen05_value(eb, b(j, n)) : tcgen05_value(eb, b(j, n));
      }
      for (int v = 0; v < scales; ++v) {
        sa[v] = scale_value(type, wa >> (8 * (i.scale_a_id + v)));
        sb[v] = scale_value(type, wb >> (8 * (i.scale_b_id + v)));
      }
      std::uint32_t& cell = memory.at(tmem_lane(address) + c.lane, tmem_column(address) + c.column);
      cell = bits(block_scaled_dot(one, x, y, sa, sb, accumulate ? f32(cell) : 0.0F, reading));
    }
}

/// tcgen05.cp: ROWSxBITS from shared memory, to one or more groups of lanes.
enum class TmemCopy : std::uint8_t { r128_b256, r4_b256, r128_b128, r64_b128_02_13, r64_b128_01_23, r32_b128_x4 };
constexpr int copy_rows(TmemCopy s) {
  return s == TmemCopy::r4_b256                                           ? 4
         : s == TmemCopy::r32_b128_x4                                     ? 32
         : s == TmemCopy::r64_b128_02_13 || s == TmemCopy::r64_b128_01_23 ? 64
                                                                          : 128;
}
constexpr int copy_columns(TmemCopy s) { return s == TmemCopy::r128_b256 || s == TmemCopy::r4_b256 ? 8 : 4; }
constexpr int copy_count(TmemCopy s) {
  return s == TmemCopy::r32_b128_x4 ? 4 : s == TmemCopy::r64_b128_02_13 || s == TmemCopy::r64_b128_01_23 ? 2 : 1;
}
/// The lane of row r in copy c.
constexpr int copy_lane(TmemCopy s, int r, int c) {
  switch (s) {
    case TmemCopy::r4_b256:
      return 32 * r;
    case TmemCopy::r64_b128_02_13:
      return r + 64 * c;
    case TmemCopy::r64_b128_01_23:
      return 64 * (r / 32) + r % 32 + 32 * c;
    case TmemCopy::r32_b128_x4:
      return r + 32 * c;
    default:
      return r;
  }
}
/// word(r, j) is the j-th word of row r.
template <class F>
void tcgen05_cp(TmemCopy s, F word, TensorMemory& m, std::uint32_t address) {
  for (int r = 0; r < copy_rows(s); ++r)
    for (int j = 0; j < copy_columns(s); ++j)
      for (int c = 0; c < copy_count(s); ++c)
        m.at(tmem_lane(address) + copy_lane(s, r, c), tmem_column(address) + j) = word(r, j);
}

/// tcgen05.shift.down: of 32 lanes from the address on, which is a multiple of 32, each but the last takes the 8
/// columns of the next one.
inline void tcgen05_shift(TensorMemory& m, std::uint32_t address) {
  for (int r = 0; r < 31; ++r)
    for (int j = 0; j < 8; ++j)
      m.at(tmem_lane(address) + r, tmem_column(address) + j) =
          m.at(tmem_lane(address) + r + 1, tmem_column(address) + j);
}

}  // namespace assay::ptx

#pragma once
#include <cstdint>

#include "reference/ptx/mma.hpp"

// mma.sync with block scaling (PTX ISA 9.0, section 9.7.14.5.3; sm_120a): D(16 x 8) = (A o SA)(B o SB) + C in f32,
// where blocks of K / V elements of a row of A, or of a column of B, share one of V scales.
namespace assay::ptx {

enum class ScaleType : std::uint8_t { ue8m0, ue4m3 };
/// 2^(x-127), 0xff NaN; or e4m3 without its sign, 0x7f NaN. Bit 7 of ue4m3 does not count.
inline double scale_value(ScaleType type, std::uint32_t code) {
  return type == ScaleType::ue8m0 ? decode(formats::e8m0, code & 0xff) : decode(formats::ue4m3, code & 0x7f);
}
inline int scale_exponent(ScaleType type, double x) { return exponent_of(x, type == ScaleType::ue8m0 ? -127 : -6); }

/// kind::mxf8f6f4 is k = 32, 1 scale; kind::mxf4 k = 64, 2; kind::mxf4nvf4 k = 64, 2 or 4.
struct BlockScaled {
  int k, scales;
  Element a, b;  ///< k = 64: e2m1_packed
  ScaleType type = ScaleType::ue8m0;
};
/// {byte-id, thread-id} of scale-a or scale-b: which lanes and bytes count.
struct ScaleSelector {
  int byte = 0, thread = 0;
};
/// 1X: bytes 0 .. 3; 2X: 0 or 2; 4X: 0. thread-id of a: 0 or 1; of b: 0 .. 3.
constexpr bool is_selector(const BlockScaled& i, const ScaleSelector& s, bool of_a) {
  return s.thread >= 0 && s.thread < (of_a ? 2 : 4) && s.byte >= 0 && s.byte % i.scales == 0 && s.byte + i.scales <= 4;
}
/// The lane that holds the scales of row m of A: 4 (m mod 8) + 2 thread-id + m div 8. Of column n of B: 4 n +
/// thread-id.
constexpr int lane_of_scale_a(int m, const ScaleSelector& s) { return 4 * (m % 8) + 2 * s.thread + m / 8; }
constexpr int lane_of_scale_b(int n, const ScaleSelector& s) { return 4 * n + s.thread; }

/// One element: a and b are the values of a row and a column, sa and sb their V scales.
inline float block_scaled_dot(const BlockScaled& i, const double* a, const double* b, const double* sa,
                              const double* sb, float c, Reading reading) {
  const int block = i.k / i.scales;
  if (reading == Reading::hardware) {
    double p[32];
    int e[32];
    // K = 32: scales multiply each product, F = 25. K = 64: exact sums of 16 products, with the exponent of their
    // scales, F = 35.
    const int group = i.k == 64 ? 16 : 1, terms = i.k / group;
    const int ea = element_format(i.a).emin(), eb = element_format(i.b).emin();
    for (int t = 0; t < terms; ++t) {
      const int from = group * t, s = from / block;
      double sum = 0;
      for (int k = from; k < from + group; ++k) sum += a[k] * b[k];
      p[t] = sum * (sa[s] * sb[s]);
      e[t] = scale_exponent(i.type, sa[s]) + scale_exponent(i.type, sb[s]);
      if (group == 1) e[t] += exponent_of(a[t], ea) + exponent_of(b[t], eb);
    }
    return cut_to_f32(fused_sum(p, e, terms, static_cast<double>(c), -126, i.k == 64 ? 35 : 25), 23);
  }
  double x[64], y[64];
  for (int k = 0; k < i.k; ++k) x[k] = a[k] * sa[k / block], y[k] = b[k] * sb[k / block];
  if (reading == Reading::exact) return dot_exact(x, y, i.k, c);
  // A chain in f32: scaled factors may lie outside of its range, products are rounded once with what they are added to.
  for (int k = 0; k < i.k; ++k) c = dot_exact(x + k, y + k, 1, c);
  return c;
}

/// The whole instruction, registers as in mma.hpp; sa and sb one register each.
inline void mma_block_scaled(const BlockScaled& i, const Reg32* a, const Reg32* b, const Reg32* c, Reg32* d,
                             const Reg32& sa, ScaleSelector select_a, const Reg32& sb, ScaleSelector select_b,
                             Reading reading = Reading::exact) {
  const Mma form{16, i.k, i.a, i.b};
  double rows[16][64], cols[8][64], scale_rows[16][4], scale_cols[8][4];
  for (int lane = 0; lane < warp_size; ++lane) {
    for (int r = 0; r < registers_of_a(form); ++r)
      for (int j = 0; j < 32 / element_bits(i.a); ++j) {
        const Place p = place_in_a(form, lane, r, j);
        rows[p.row][p.col] = float_element(i.a, element_code(i.a, a[r][lane], j));
      }
    for (int r = 0; r < registers_of_b(form); ++r)
      for (int j = 0; j < 32 / element_bits(i.b); ++j) {
        const Place p = place_in_b(element_bits(i.b), lane, r, j);
        cols[p.col][p.row] = float_element(i.b, element_code(i.b, b[r][lane], j));
      }
  }
  // Scale v of a row is byte byte-id + v: the lower byte belongs to the lower k.
  for (int v = 0; v < i.scales; ++v) {
    for (int m = 0; m < 16; ++m)
      scale_rows[m][v] = scale_value(i.type, sa[lane_of_scale_a(m, select_a)] >> (8 * (select_a.byte + v)));
    for (int n = 0; n < 8; ++n)
      scale_cols[n][v] = scale_value(i.type, sb[lane_of_scale_b(n, select_b)] >> (8 * (select_b.byte + v)));
  }
  for (int lane = 0; lane < warp_size; ++lane)
    for (int r = 0; r < 4; ++r) {
      const Place p = place_in_c(lane, r);
      const float old = f32(c[r][lane]);
      d[r][lane] =
          bits(block_scaled_dot(i, rows[p.row], cols[p.col], scale_rows[p.row], scale_cols[p.col], old, reading));
    }
}

}  // namespace assay::ptx

#pragma once
#include <cstdint>
#include <type_traits>

#include "reference/ptx/lanes.hpp"
#include "reference/ptx/mma_num.hpp"

// mma.sync: which element of a matrix each lane holds, and the whole instruction (PTX ISA 9.0, section 9.7.14.5; the
// formulas agree with the layouts that CUTLASS publishes). D(M x N) = A(M x K) B(K x N) + C; lane 4 g + t. A register
// of 32 bits holds e = 32 / bits elements, from its low bits on.
namespace assay::ptx {

struct Place {
  int row, col;
  friend bool operator==(const Place&, const Place&) = default;
};

/// A, element j of register r: row g + 8 (r & 1), column e t + j + 4 e (r >> 1). The forms m8n8 have one row g a lane,
/// so theirs is place_in_b transposed. f64 is counted as 32 bits: an element a register.
constexpr Place place_in_a(int bits, int lane, int r, int j) {
  const int g = lane / 4, t = lane % 4, e = 32 / bits;
  return {g + 8 * (r & 1), e * t + j + 4 * e * (r >> 1)};
}
/// B, element j of register r: row e t + j + 4 e r, column g.
constexpr Place place_in_b(int bits, int lane, int r, int j) {
  const int g = lane / 4, t = lane % 4, e = 32 / bits;
  return {e * t + j + 4 * e * r, g};
}
/// C and D, element i of the four that a lane holds (two in m8n8): row g + 8 (i >> 1), column 2 t + (i & 1). Of 32 bits
/// one is a register, of 16 bits registers hold elements 0, 1 and 2, 3.
constexpr Place place_in_c(int lane, int i) { return {lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1)}; }

/// ldmatrix.m8n8.b16: register q of a lane holds two elements of matrix q, whose row i is at the address of lane 8 q +
/// i. Plain: (g, 2t) and (g, 2t + 1); .trans: (2t, g) and (2t + 1, g).
constexpr Place place_in_8x8(bool trans, int lane, int j) {
  const int g = lane / 4, t = lane % 4;
  return trans ? Place{2 * t + j, g} : Place{g, 2 * t + j};
}

/// What A and B are made of. Floats of 8 bits and less come in a byte each with .kind::f8f6f4: fp6 in bits 5..0, fp4 in
/// bits 5..2; `e2m1_packed` is the fp4 of the block-scaled kinds, two a byte.
enum class Element : std::uint8_t {
  f16,
  bf16,
  tf32,
  f64,
  e4m3,
  e5m2,
  e3m2,
  e2m3,
  e2m1,
  e2m1_packed,
  s8,
  u8,
  s4,
  u4,
  b1
};

/// Bits from one element to the next in a register.
constexpr int element_bits(Element e) {
  switch (e) {
    case Element::f16:
    case Element::bf16:
      return 16;
    case Element::tf32:
    case Element::f64:
      return 32;
    case Element::e2m1_packed:
    case Element::s4:
    case Element::u4:
      return 4;
    case Element::b1:
      return 1;
    default:
      return 8;
  }
}
/// The format of a float element.
constexpr const Format& element_format(Element e) {
  switch (e) {
    case Element::f16:
      return formats::fp16;
    case Element::bf16:
      return formats::bf16;
    case Element::tf32:
      return formats::tf32;
    case Element::e4m3:
      return formats::e4m3;
    case Element::e5m2:
      return formats::e5m2;
    case Element::e3m2:
      return formats::e3m2;
    case Element::e2m3:
      return formats::e2m3;
    default:
      return formats::e2m1;
  }
}
/// Element j of a register: its bits, then its value.
constexpr std::uint32_t element_code(Element e, std::uint32_t word, int j) {
  const int n = element_bits(e);
  return n == 32 ? word : word >> (n * j) & ((1u << n) - 1);
}
inline double float_element(Element e, std::uint32_t code) {
  switch (e) {
    case Element::f16:
      return static_cast<double>(f16_value(code));
    case Element::bf16:
      return static_cast<double>(bf16_value(code));
    case Element::tf32:
      return static_cast<double>(f32(code & 0xffffe000u));  // the low 13 bits are ignored
    case Element::e3m2:
    case Element::e2m3:
      return decode(element_format(e), code & 0x3f);
    case Element::e2m1:
      return decode(formats::e2m1, code >> 2 & 0xf);
    default:
      return decode(element_format(e), code);
  }
}
constexpr std::int32_t integer_element(Element e, std::uint32_t code) {
  const auto x = static_cast<std::int32_t>(code);
  if (e == Element::s8) return x - (x >= 128 ? 256 : 0);
  if (e == Element::s4) return x - (x >= 8 ? 16 : 0);
  return x;
}
constexpr bool is_float(Element e) { return e < Element::s8; }

/// Which reading of the sum (mma_num.hpp); `hardware` with its architecture.
enum class Reading : std::uint8_t { exact, f32_chain, hardware };
struct Arithmetic {
  Reading reading = Reading::exact;
  Architecture architecture = Architecture::hopper;
  bool wgmma = false;  ///< the instruction is wgmma, whose hardware sums fp8 otherwise
};

/// An instruction of one word a register: m16n8kK, and m8n8kK of integers and bits. Results of floats are f32, or f16
/// with `half`; of integers s32.
struct Mma {
  int m, k;
  Element a, b;
  bool half = false, satfinite = false;
  bool exclusive = false;  ///< b1: .xor.popc instead of .and.popc
};
constexpr int registers_of_a(const Mma& i) { return i.m * i.k * element_bits(i.a) / (32 * warp_size); }
constexpr int registers_of_b(const Mma& i) { return 8 * i.k * element_bits(i.b) / (32 * warp_size); }
constexpr int registers_of_c(const Mma& i) { return i.m * 8 / warp_size / (i.half ? 2 : 1); }
constexpr Place place_in_a(const Mma& i, int lane, int r, int j) {
  if (i.m == 16) return place_in_a(element_bits(i.a), lane, r, j);
  const Place p = place_in_b(element_bits(i.a), lane, r, j);
  return {p.col, p.row};
}

/// One element of D: row of A, column of B as values, c and the result as bits.
inline std::uint32_t element_of_d(const Mma& i, const double* a, const double* b, std::uint32_t c,
                                  const Arithmetic& how) {
  if (how.reading == Reading::hardware) {
    const Fused h = fused(how.architecture, element_bits(i.a), how.wgmma);
    const int ea = element_format(i.a).emin(), eb = element_format(i.b).emin();
    return i.half ? dot_hardware_f16(a, b, i.k, c, ea, eb, h) : bits(dot_hardware(a, b, i.k, f32(c), ea, eb, h));
  }
  if (how.reading == Reading::exact) return i.half ? dot_exact_f16(a, b, i.k, c) : bits(dot_exact(a, b, i.k, f32(c)));
  const float d = dot_chain(a, b, i.k, i.half ? f16_value(c) : f32(c));
  return i.half ? to_half(formats::fp16, static_cast<double>(d)) : bits(d);
}
inline std::uint32_t element_of_d(const Mma& i, const std::int32_t* a, const std::int32_t* b, std::uint32_t c,
                                  const Arithmetic&) {
  std::int32_t x[256], y[256];
  for (int k = 0; k < i.k; ++k) {
    const bool bit = i.a == Element::b1;  // popc of and: the sum of a b; popc of xor: of a + b - 2 a b
    x[k] = bit && i.exclusive ? a[k] ^ b[k] : a[k];
    y[k] = bit && i.exclusive ? 1 : b[k];
  }
  return static_cast<std::uint32_t>(dot_integer(x, y, i.k, static_cast<std::int32_t>(c), i.satfinite));
}

namespace detail {
template <class T>
void mma(const Mma& i, const Reg32* a, const Reg32* b, const Reg32* c, Reg32* d, const Arithmetic& how) {
  T rows[16][256], cols[8][256];
  const auto value = [](Element e, std::uint32_t code) {
    if constexpr (std::is_same_v<T, double>)
      return float_element(e, code);
    else
      return integer_element(e, code);
  };
  for (int lane = 0; lane < warp_size; ++lane) {
    for (int r = 0; r < registers_of_a(i); ++r)
      for (int j = 0; j < 32 / element_bits(i.a); ++j) {
        const Place p = place_in_a(i, lane, r, j);
        rows[p.row][p.col] = value(i.a, element_code(i.a, a[r][lane], j));
      }
    for (int r = 0; r < registers_of_b(i); ++r)
      for (int j = 0; j < 32 / element_bits(i.b); ++j) {
        const Place p = place_in_b(element_bits(i.b), lane, r, j);
        cols[p.col][p.row] = value(i.b, element_code(i.b, b[r][lane], j));
      }
  }
  for (int lane = 0; lane < warp_size; ++lane)
    for (int r = 0; r < registers_of_c(i); ++r) {
      const std::uint32_t old = c[r][lane];
      std::uint32_t word = 0;
      for (int h = 0; h < (i.half ? 2 : 1); ++h) {
        const Place p = place_in_c(lane, i.half ? 2 * r + h : r);
        word |= element_of_d(i, rows[p.row], cols[p.col], i.half ? old >> (16 * h) & 0xffff : old, how) << (16 * h);
      }
      d[r][lane] = word;
    }
}
}  // namespace detail

/// mma.sync: registers a, b, c to d, which may be c.
inline void mma(const Mma& i, const Reg32* a, const Reg32* b, const Reg32* c, Reg32* d, const Arithmetic& how = {}) {
  if (is_float(i.a))
    detail::mma<double>(i, a, b, c, d, how);
  else
    detail::mma<std::int32_t>(i, a, b, c, d, how);
}

/// f64: m8n8k4 and m16n8k{4, 8, 16}. Registers of 64 bits, one element each.
inline void mma_f64(int m, int k, const Reg64* a, const Reg64* b, const Reg64* c, Reg64* d) {
  const Mma i{m, k, Element::f64, Element::f64};
  double rows[16][16], cols[8][16];
  for (int lane = 0; lane < warp_size; ++lane) {
    for (int r = 0; r < registers_of_a(i); ++r) {
      const Place p = place_in_a(i, lane, r, 0);
      rows[p.row][p.col] = f64(a[r][lane]);
    }
    for (int r = 0; r < registers_of_b(i); ++r) {
      const Place p = place_in_b(32, lane, r, 0);
      cols[p.col][p.row] = f64(b[r][lane]);
    }
  }
  for (int lane = 0; lane < warp_size; ++lane)
    for (int r = 0; r < registers_of_c(i); ++r) {
      const Place p = place_in_c(lane, r);
      d[r][lane] = bits(dot_f64(rows[p.row], cols[p.col], k, f64(c[r][lane])));
    }
}

}  // namespace assay::ptx

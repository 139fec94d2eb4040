#pragma once
#include <cstdint>
#include <string>

#include "reference/ptx/mma_bs.hpp"

// The instruction descriptor of tcgen05.mma (PTX ISA 9.0, section 9.7.16.4.2): types, shape and layout in 32 bits, and
// which of them are instructions.
namespace assay::ptx {

enum class Tcgen05Kind : std::uint8_t { tf32, f16, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr bool is_scaled(Tcgen05Kind k) { return k >= Tcgen05Kind::mxf8f6f4; }
constexpr bool is_packed_fp4(Tcgen05Kind k) { return k >= Tcgen05Kind::mxf4; }
/// K of a dense instruction: 32 bytes of A.
constexpr int tcgen05_depth(Tcgen05Kind k) {
  return k == Tcgen05Kind::tf32 ? 8 : k == Tcgen05Kind::f16 ? 16 : is_packed_fp4(k) ? 64 : 32;
}

enum class DFormat : std::uint8_t { f16, f32, s32 };

struct Tcgen05Descriptor {
  int m = 128, n = 128;
  int a_format = 0, b_format = 0;
  DFormat d_format = DFormat::f32;  ///< of the scaled kinds always f32
  bool a_mn_major = false, b_mn_major = false;
  bool negate_a = false, negate_b = false;
  bool saturate = false;  ///< i8
  bool sparse = false;
  int sparse_id = 0, max_shift = 0;
  int scale_a_id = 0, scale_b_id = 0;  ///< the scaled kinds: which bytes of a scale word
  bool ue8m0 = true;                   ///< their scale type; else ue4m3
  bool k96 = false;                    ///< sm_103: K = 96
  friend bool operator==(const Tcgen05Descriptor&, const Tcgen05Descriptor&) = default;
};

/// Plain kinds: 1..0 sparsity selector, 2 sparse, 3 saturate, 5..4 D, 9..7 A, 12..10 B, 13 and 14 negate A and B, 15
/// and 16 A and B MN-major, 22..17 N / 8, 28..24 M / 16, 31..30 maximum shift. Scaled kinds: 5..4 scale id of B, 23
/// scale type, 28..27 M / 128, 30..29 scale id of A, 31 K = 96, the others as above.
constexpr std::uint32_t encode(Tcgen05Kind kind, const Tcgen05Descriptor& d) {
  const auto put = [](int x, int at) { return static_cast<std::uint32_t>(x) << at; };
  const std::uint32_t common = put(d.sparse, 2) | put(d.a_format, 7) | put(d.b_format, 10) | put(d.negate_a, 13) |
                               put(d.negate_b, 14) | put(d.a_mn_major, 15) | put(d.b_mn_major, 16) | put(d.n >> 3, 17) |
                               put(d.m >> 4, 24);
  if (is_scaled(kind)) return common | put(d.scale_b_id, 4) | put(d.ue8m0, 23) | put(d.scale_a_id, 29) | put(d.k96, 31);
  return common | put(d.sparse_id, 0) | put(d.saturate, 3) | put(static_cast<int>(d.d_format), 4) |
         put(d.max_shift, 30);
}
/// False if a bit is set that has no meaning in this kind.
constexpr bool decode(Tcgen05Kind kind, std::uint32_t code, Tcgen05Descriptor& d) {
  const auto get = [&](int at, int width) { return static_cast<int>(code >> at & ((1u << width) - 1)); };
  d = {};
  d.sparse = get(2, 1) != 0;
  d.a_format = get(7, 3), d.b_format = get(10, 3);
  d.negate_a = get(13, 1) != 0, d.negate_b = get(14, 1) != 0;
  d.a_mn_major = get(15, 1) != 0, d.b_mn_major = get(16, 1) != 0;
  d.n = get(17, 6) << 3;
  if (is_scaled(kind)) {
    d.m = get(27, 2) << 7;
    d.scale_b_id = get(4, 2), d.scale_a_id = get(29, 2);
    d.ue8m0 = get(23, 1) != 0, d.k96 = get(31, 1) != 0;
  } else {
    d.m = get(24, 5) << 4;
    d.sparse_id = get(0, 2), d.max_shift = get(30, 2);
    d.saturate = get(3, 1) != 0;
    if (get(4, 2) == 3) return false;
    d.d_format = static_cast<DFormat>(get(4, 2));
  }
  return encode(kind, d) == code;
}

/// What a format number of A or B means; false if nothing.
constexpr bool tcgen05_element(Tcgen05Kind kind, int format, Element& e) {
  constexpr Element f8f6f4[] = {Element::e4m3, Element::e5m2, Element::b1, Element::e2m3, Element::e3m2, Element::e2m1};
  switch (kind) {
    case Tcgen05Kind::tf32:
      e = Element::tf32;
      return format == 2;
    case Tcgen05Kind::f16:
      e = format == 0 ? Element::f16 : Element::bf16;
      return format <= 1;
    case Tcgen05Kind::i8:
      e = format == 0 ? Element::u8 : Element::s8;
      return format <= 1;
    case Tcgen05Kind::f8f6f4:
    case Tcgen05Kind::mxf8f6f4:
      if (format > 5 || format == 2) return false;
      e = f8f6f4[format];
      return true;
    default:
      e = Element::e2m1_packed;
      return format == 1;
  }
}

/// The rule that an instruction breaks, in words; empty if it is one. Dense forms. `group`: .cta_group; `ws`: .ws.
inline std::string broken_rule(Tcgen05Kind kind, int group, bool ws, const Tcgen05Descriptor& d) {
  const std::string shape = "M = " + std::to_string(d.m) + ", N = " + std::to_string(d.n) + ": ";
  Element a{}, b{};
  if (!tcgen05_element(kind, d.a_format, a)) return "A has no format " + std::to_string(d.a_format) + " in this kind";
  if (!tcgen05_element(kind, d.b_format, b)) return "B has no format " + std::to_string(d.b_format) + " in this kind";
  const bool integer = kind == Tcgen05Kind::i8;
  if (integer != (d.d_format == DFormat::s32)) return "D is s32 in kind i8, and only there";
  if (d.d_format == DFormat::f16 && kind != Tcgen05Kind::f16 && kind != Tcgen05Kind::f8f6f4)
    return "D in f16 is of kinds f16 and f8f6f4";
  if (d.saturate && !integer) return "saturation is of kind i8";
  if (integer && (d.negate_a || d.negate_b)) return "kind i8 negates nothing";
  if (is_packed_fp4(kind) && (d.a_mn_major || d.b_mn_major)) return "the mxf4 kinds are K-major";
  if (d.sparse) return "sparse matrices are not described here";
  if (ws) {
    if (is_scaled(kind)) return "scaled kinds have no .ws";
    if (group != 1) return ".ws is of .cta_group::1";
    if (d.m != 32 && d.m != 64 && d.m != 128) return shape + ".ws has M = 32, 64, 128";
    return d.n == 64 || d.n == 128 || d.n == 256 ? "" : shape + ".ws has N = 64, 128, 256";
  }
  if (group == 1 ? d.m != 128 && (d.m != 64 || is_scaled(kind)) : d.m != 128 && d.m != 256)
    return shape + "this M is not of .cta_group::" + std::to_string(group);
  // 8-bit B by rows and integers beyond 32 come in wider steps.
  const bool wide = integer || (d.b_mn_major && (kind == Tcgen05Kind::f8f6f4 || kind == Tcgen05Kind::mxf8f6f4));
  const bool narrow_integer = integer && d.n <= 32 && !d.b_mn_major;
  const int step = 8 * group * (wide && !(group == 1 && narrow_integer) ? 2 : 1);
  if (d.n < step || d.n > 256 || d.n % step != 0)
    return shape + "N is a multiple of " + std::to_string(step) + " up to 256";
  return "";
}

}  // namespace assay::ptx

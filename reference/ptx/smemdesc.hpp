#pragma once
#include <cstdint>

#include "reference/ptx/swizzle.hpp"

// Matrix descriptors: how wgmma (sm_90) and tcgen05 (sm_100) are told where the elements of a matrix in shared memory
// lie (PTX ISA 9.0, sections 9.7.15.5.1 and 9.7.16.4.1).
namespace assay::ptx {

/// Byte offsets and addresses of 18 bits, multiples of 16. Leading and stride dimension offsets: see address_in_matrix.
struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0;
  std::uint32_t base_offset =
      0;  ///< (where the swizzle pattern begins >> 7) & 7; 0 if that is a multiple of its period
  Swizzle swizzle = Swizzle::none;
  bool absolute = false;  ///< sm_103: `leading` is an address
  friend bool operator==(const MatrixDescriptor&, const MatrixDescriptor&) = default;
};

namespace detail {
constexpr std::uint64_t descriptor_field(std::uint32_t x) { return (x & 0x3ffff) >> 4; }
constexpr std::uint64_t descriptor_fields(const MatrixDescriptor& d) {
  return descriptor_field(d.start) | descriptor_field(d.leading) << 16 | descriptor_field(d.stride) << 32 |
         std::uint64_t{d.base_offset & 7} << 49;
}
constexpr MatrixDescriptor descriptor_of(std::uint64_t code) {
  const auto field = [&](int at) { return static_cast<std::uint32_t>(code >> at & 0x3fff) << 4; };
  return {field(0), field(16), field(32), static_cast<std::uint32_t>(code >> 49 & 7), Swizzle::none, false};
}
}  // namespace detail

/// wgmma: bits 13..0 start, 29..16 leading, 45..32 stride (each >> 4), 51..49 base offset, 63..62 swizzle: 0 none, 1
/// 128 bytes, 2 64, 3 32. All others 0.
constexpr std::uint64_t encode_sm90(const MatrixDescriptor& d) {
  const std::uint64_t mode = d.swizzle == Swizzle::b128  ? 1
                             : d.swizzle == Swizzle::b64 ? 2
                             : d.swizzle == Swizzle::b32 ? 3
                                                         : 0;
  return detail::descriptor_fields(d) | mode << 62;
}
/// False if bits are set that mean nothing.
constexpr bool decode_sm90(std::uint64_t code, MatrixDescriptor& d) {
  constexpr Swizzle modes[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
  d = detail::descriptor_of(code);
  d.swizzle = modes[code >> 62];
  return encode_sm90(d) == code;
}

/// tcgen05: the same with 001 in bits 48..46, bit 52 for an absolute leading address, and 63..61 swizzle: 0 none, 1 128
/// bytes in units of 32, 2 128, 4 64, 6 32.
constexpr std::uint64_t encode_sm100(const MatrixDescriptor& d) {
  const std::uint64_t mode = d.swizzle == Swizzle::b128_atom32 ? 1
                             : d.swizzle == Swizzle::b128      ? 2
                             : d.swizzle == Swizzle::b64       ? 4
                             : d.swizzle == Swizzle::b32       ? 6
                                                               : 0;
  return detail::descriptor_fields(d) | std::uint64_t{1} << 46 | std::uint64_t{d.absolute} << 52 | mode << 61;
}
constexpr bool decode_sm100(std::uint64_t code, MatrixDescriptor& d) {
  constexpr Swizzle modes[] = {Swizzle::none, Swizzle::b128_atom32, Swizzle::b128, Swizzle::none,
                               Swizzle::b64,  Swizzle::none,        Swizzle::b32,  Swizzle::none};
  d = detail::descriptor_of(code);
  d.absolute = (code >> 52 & 1) != 0;
  d.swizzle = modes[code >> 61];
  return encode_sm100(d) == code;
}

/// Which way the matrix lies: rows of A (columns of B) along K, or along M or N.
enum class Major : std::uint8_t { k, mn };

/// Address of the byte that is `kb` bytes (K-major) or index k along K, and index mn or `mb` bytes along M or N.
/// `along` counts bytes in the major direction, `across` rows of the other.
constexpr std::uint32_t address_in_matrix(const MatrixDescriptor& d, Major major, std::uint32_t along,
                                          std::uint32_t across) {
  const auto w = static_cast<std::uint32_t>(swizzle_bytes(d.swizzle));
  std::uint32_t a = d.start;
  if (major == Major::k) {
    if (d.swizzle == Swizzle::none)  // start + (r/8) SBO + (kb/16) LBO + (r%8) 16 + kb%16
      a += across / 8 * d.stride + along / 16 * d.leading + across % 8 * 16 + along % 16;
    else  // start + (r/8) SBO + (r%8) W + kb
      a += across / 8 * d.stride + across % 8 * w + along;
  } else if (d.swizzle == Swizzle::none) {  // start + (mb/16) SBO + (k/8) LBO + (k%8) 16 + mb%16
    a += along / 16 * d.stride + across / 8 * d.leading + across % 8 * 16 + along % 16;
  } else {  // start + (mb/W) LBO + (k/8) SBO + (k%8) W + mb%W; with units of 32 bytes the atom has 4 rows of k
    const std::uint32_t rows = d.swizzle == Swizzle::b128_atom32 ? 4 : 8;
    a += along / w * d.leading + across / rows * d.stride + across % rows * w + along % w;
  }
  // The pattern is anchored at multiples of its period, moved by the base offset in lines of 128 bytes.
  const std::uint32_t moved = d.base_offset << 7;
  return swizzled(d.swizzle, a - moved) + moved;
}

}  // namespace assay::ptx

#pragma once
#include <cstdint>

// How tensor copies and matrix descriptors permute the bytes of shared memory (PTX ISA 9.0, section 5.5.7): by the
// address, so that a pattern begins at address 0 and not where a tile begins.
namespace assay::ptx {

/// Width of the swizzled row in bytes; of the 128-byte ones also the unit that moves: 16 bytes, 32, 32 with the halves
/// of 16 bytes turned around in odd lines, 64.
enum class Swizzle : std::uint8_t { none, b32, b64, b128, b128_atom32, b128_atom32_flip8, b128_atom64 };

constexpr int swizzle_bytes(Swizzle s) {
  return s == Swizzle::none ? 16 : s == Swizzle::b32 ? 32 : s == Swizzle::b64 ? 64 : 128;
}
/// Bytes after which the pattern repeats.
constexpr int swizzle_period(Swizzle s) {
  switch (s) {
    case Swizzle::none:
      return 16;
    case Swizzle::b32:
    case Swizzle::b128_atom64:
      return 256;
    case Swizzle::b64:
    case Swizzle::b128_atom32:
    case Swizzle::b128_atom32_flip8:
      return 512;
    default:
      return 1024;
  }
}
/// Where the byte of a linear address lies. Bits 7 and up number lines of 128 bytes; they move units within a row. Its
/// own inverse.
constexpr std::uint32_t swizzled(Swizzle s, std::uint32_t a) {
  const std::uint32_t line = a >> 7;
  switch (s) {
    case Swizzle::none:
      return a;
    case Swizzle::b32:
      return a ^ (line & 1) << 4;
    case Swizzle::b64:
      return a ^ (line & 3) << 4;
    case Swizzle::b128:
      return a ^ (line & 7) << 4;
    case Swizzle::b128_atom32:
      return a ^ (line & 3) << 5;
    case Swizzle::b128_atom32_flip8:
      return a ^ (line & 3) << 5 ^ (line & 1) << 3;
    default:
      return a ^ (line & 1) << 6;
  }
}

}  // namespace assay::ptx

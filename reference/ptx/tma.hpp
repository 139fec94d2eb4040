#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "reference/ptx/swizzle.hpp"

// Tensor maps and the copies that read them (PTX ISA 9.0, section 5.5; the limits are those of the driver's encode
// function): a box of a tensor of up to five dimensions in global memory, to and from a tile in shared memory. Tile
// mode, not interleaved.
namespace assay::ptx {

/// As the driver numbers them. Of the last three 16 numbers are 8, 8 and 12 bytes in global memory, and in shared
/// memory 8, 8 with 8 bytes of gap, 12 with 4 bytes of gap.
enum class TensorType : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  u4_align8,
  u4_align16,
  u6_align16
};

constexpr bool is_packed(TensorType t) { return t >= TensorType::u4_align8; }
constexpr bool is_padded(TensorType t) { return t >= TensorType::u4_align16; }
constexpr bool is_float(TensorType t) { return t >= TensorType::f16 && t <= TensorType::tf32_ftz; }

/// What is copied as one: an element, of packed types 16 of them.
constexpr int unit_elements(TensorType t) { return is_packed(t) ? 16 : 1; }
constexpr int unit_global_bytes(TensorType t) {
  switch (t) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
    case TensorType::u4_align8:
    case TensorType::u4_align16:
      return 8;
    case TensorType::u6_align16:
      return 12;
    default:
      return 4;
  }
}
constexpr int unit_shared_bytes(TensorType t) { return is_padded(t) ? 16 : unit_global_bytes(t); }

struct TensorMap {
  TensorType type = TensorType::f16;
  int rank = 1;
  std::uint64_t base = 0;
  std::array<std::uint64_t, 5> dims{1, 1, 1, 1, 1};   ///< elements, innermost first
  std::array<std::uint64_t, 5> strides{};             ///< bytes; [0] is not used: the innermost dimension is dense
  std::array<std::uint32_t, 5> box{1, 1, 1, 1, 1};    ///< elements
  std::array<std::uint32_t, 5> steps{1, 1, 1, 1, 1};  ///< element strides; [0] is ignored
  Swizzle swizzle = Swizzle::none;
  bool nan_fill = false;  ///< what lies outside is NaN instead of 0
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// The rule that a map breaks, in words; empty if it may be encoded.
inline std::string broken_rule(const TensorMap& m) {
  const auto size = [](std::size_t d) { return "dimension " + std::to_string(d); };
  if (m.rank < 1 || m.rank > 5) return "rank " + std::to_string(m.rank) + ": 1 to 5 are possible";
  const bool padded = is_padded(m.type);
  const std::uint64_t align = padded ? 32 : 16;
  if (m.base % align != 0) return "the base is no multiple of " + std::to_string(align);
  for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d) {
    if (m.dims[d] < 1 || m.dims[d] > std::uint64_t{1} << 32) return size(d) + " is not in 1 .. 2^32";
    if (m.box[d] < 1 || m.box[d] > 256) return "box of " + size(d) + " is not in 1 .. 256";
    if (m.steps[d] < 1 || m.steps[d] > 8) return "element stride of " + size(d) + " is not in 1 .. 8";
    if (d == 0) continue;
    if (m.strides[d] % align != 0) return "stride of " + size(d) + " is no multiple of " + std::to_string(align);
    if (m.strides[d] >= std::uint64_t{1} << 40) return "stride of " + size(d) + " is not below 2^40";
  }
  const auto units = static_cast<std::uint32_t>(unit_elements(m.type));
  if (m.box[0] % units != 0 || m.dims[0] % units != 0)
    return "the innermost box and dimension are no multiples of 16 elements";
  const std::uint32_t inner = m.box[0] / units * static_cast<std::uint32_t>(unit_shared_bytes(m.type));
  if (inner % 16 != 0) return "a row of the box has " + std::to_string(inner) + " bytes, no multiple of 16";
  if (padded && (m.box[0] != 128 || m.dims[0] % 128 != 0))
    return "of padded types the innermost box is 128 and its dimension a multiple of 128";
  if (padded && m.swizzle != Swizzle::none && m.swizzle != Swizzle::b128 && m.swizzle != Swizzle::b128_atom32 &&
      !(m.swizzle == Swizzle::b128_atom64 && m.type == TensorType::u6_align16))
    return "this swizzle is not possible for a padded type";
  if (m.swizzle != Swizzle::none && inner > static_cast<std::uint32_t>(swizzle_bytes(m.swizzle)))
    return "a row of the box has " + std::to_string(inner) + " bytes, more than the swizzle's " +
           std::to_string(swizzle_bytes(m.swizzle));
  if (m.nan_fill && !is_float(m.type)) return "fill with NaN is for floats alone";
  return "";
}

/// One unit of a copy. `inside`: it is in the tensor; if not, a load writes the fill and a store drops it.
struct TensorUnit {
  std::uint32_t shared;  ///< address of its first byte; a unit does not leave its 16 bytes
  std::uint64_t global;
  bool inside;
};

/// The box at coordinates c (elements, innermost first, negative too) and a tile from shared address `tile` on:
///   x_d = c_d + i_d step_d     address = base + sum_d x_d stride_d     offset = size (i_0 + n_0 (i_1 + n_1 (...)))
/// for all i_d in 0 .. n_d - 1, i_0 fastest, n_d = ceil(box_d / step_d).
template <class F>
void for_each_unit(const TensorMap& m, const std::array<std::int64_t, 5>& c, std::uint32_t tile, F f) {
  const int per = unit_elements(m.type), global_bytes = unit_global_bytes(m.type),
            shared_bytes = unit_shared_bytes(m.type);
  std::array<std::int64_t, 5> n{1, 1, 1, 1, 1};
  for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d) {
    const std::uint32_t step = d == 0 ? static_cast<std::uint32_t>(per) : m.steps[d];
    n[d] = (m.box[d] + step - 1) / step;
  }
  std::uint32_t index = 0;
  std::array<std::int64_t, 5> i{};
  for (i[4] = 0; i[4] < n[4]; ++i[4])
    for (i[3] = 0; i[3] < n[3]; ++i[3])
      for (i[2] = 0; i[2] < n[2]; ++i[2])
        for (i[1] = 0; i[1] < n[1]; ++i[1])
          for (i[0] = 0; i[0] < n[0]; ++i[0]) {
            TensorUnit u{swizzled(m.swizzle, tile + index * static_cast<std::uint32_t>(shared_bytes)), m.base, true};
            ++index;
            for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d) {
              const std::int64_t x = c[d] + i[d] * (d == 0 ? per : static_cast<std::int64_t>(m.steps[d]));
              u.inside = u.inside && x >= 0 && x < static_cast<std::int64_t>(m.dims[d]);
              const std::int64_t bytes = d == 0 ? x / per * global_bytes : x * static_cast<std::int64_t>(m.strides[d]);
              u.global += static_cast<std::uint64_t>(bytes);
            }
            f(u);
          }
}
/// What a load reports to its mbarrier: the bytes of the whole box, those outside of the tensor too.
inline std::uint32_t box_bytes(const TensorMap& m) {
  std::uint32_t units = 0;
  for_each_unit(m, {}, 0, [&](const TensorUnit&) { ++units; });
  return units * static_cast<std::uint32_t>(unit_shared_bytes(m.type));
}
/// The code of an element that lies outside.
constexpr std::uint64_t fill_code(const TensorMap& m) {
  if (!m.nan_fill) return 0;
  return m.type == TensorType::f16 || m.type == TensorType::bf16 ? 0x7fff
         : m.type == TensorType::f64                             ? 0x7fffffffffffffffu
                                                                 : 0x7fffffffu;
}

}  // namespace assay::ptx

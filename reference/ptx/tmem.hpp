#pragma once
#include <array>
#include <cstdint>

#include "reference/ptx/mma.hpp"

// Tensor memory (PTX ISA 9.0, section 9.7.16): 128 lanes by 512 columns of 32 bits a CTA, the places of accumulators,
// scales and registers in it, and its allocator. An address is lane << 16 | column.
namespace assay::ptx {

inline constexpr int tmem_lanes = 128, tmem_columns = 512;
constexpr int tmem_lane(std::uint32_t address) { return static_cast<int>(address >> 16); }
constexpr int tmem_column(std::uint32_t address) { return static_cast<int>(address & 0xffff); }

/// A cell, relative to an address; in `cta` of a pair.
struct TmemCell {
  int lane, column, cta = 0;
  friend bool operator==(const TmemCell&, const TmemCell&) = default;
};

/// tcgen05.ld and st: LANESxBITS of a piece; x N of them side by side.
enum class TmemShape : std::uint8_t { l32_b32, l16_b64, l16_b128, l16_b256, l16_b32_x2 };
/// Registers of .xN, and the most that N may be; N is a power of two.
constexpr int tmem_registers(TmemShape s, int n) {
  return s == TmemShape::l16_b256 ? 4 * n : s == TmemShape::l16_b128 ? 2 * n : n;
}
constexpr bool is_tmem_count(TmemShape s, int n) { return n >= 1 && (n & (n - 1)) == 0 && tmem_registers(s, n) <= 128; }
/// The cell of register r of lane L = 4 g + t. A warp reaches lanes 32 (warp mod 4) .. + 31; the shapes of 16 lanes
/// begin at the first or the 17th of them. `second`: where the other half of 16x32bx2 begins, in columns.
constexpr TmemCell tmem_cell(TmemShape s, int lane, int r, int second = 0) {
  const int g = lane / 4, t = lane % 4;
  switch (s) {
    case TmemShape::l32_b32:
      return {lane, r};
    case TmemShape::l16_b64:
      return {g + 8 * (lane & 1), 2 * r + (lane >> 1 & 1)};
    case TmemShape::l16_b128:
      return {g + 8 * (r & 1), 4 * (r >> 1) + t};
    case TmemShape::l16_b256:  // the shape of mma's C
      return {g + 8 * (r >> 1 & 1), 8 * (r >> 2) + 2 * t + (r & 1)};
    default:
      return {lane % 16, r + lane / 16 * second};
  }
}

struct TensorMemory {
  std::array<std::array<std::uint32_t, tmem_columns>, tmem_lanes> cell{};
  std::uint32_t& at(int lane, int column) {
    return cell[static_cast<std::size_t>(lane)][static_cast<std::size_t>(column)];
  }
};
/// tcgen05.ld.SHAPE.xN; `pack` (.pack::16b): the low halves of columns 2 c and 2 c + 1 in one register.
inline void tmem_load(TensorMemory& m, std::uint32_t address, TmemShape s, int n, Reg32* d, bool pack = false,
                      int second = 0) {
  for (int r = 0; r < tmem_registers(s, n); ++r)
    for (int lane = 0; lane < warp_size; ++lane) {
      const TmemCell c = tmem_cell(s, lane, r, second);
      const int row = tmem_lane(address) + c.lane, column = tmem_column(address);
      d[r][lane] = pack ? (m.at(row, column + 2 * c.column) & 0xffff) | m.at(row, column + 2 * c.column + 1) << 16
                        : m.at(row, column + c.column);
    }
}
/// tcgen05.st; `unpack` (.unpack::16b) is its inverse: the halves of a register to the low halves of two columns.
inline void tmem_store(TensorMemory& m, std::uint32_t address, TmemShape s, int n, const Reg32* a, bool unpack = false,
                       int second = 0) {
  for (int r = 0; r < tmem_registers(s, n); ++r)
    for (int lane = 0; lane < warp_size; ++lane) {
      const TmemCell c = tmem_cell(s, lane, r, second);
      const int row = tmem_lane(address) + c.lane, column = tmem_column(address);
      if (unpack) {
        m.at(row, column + 2 * c.column) = a[r][lane] & 0xffff;
        m.at(row, column + 2 * c.column + 1) = a[r][lane] >> 16;
      } else {
        m.at(row, column + c.column) = a[r][lane];
      }
    }
}

/// Where tcgen05.mma keeps element (m, n) of D, M x N, relative to the address of D; every result takes a column, f16
/// in its low half. `group`: .cta_group; `ws`: .ws.
constexpr TmemCell tmem_place_of_d(int group, bool ws, int rows, int width, int m, int n) {
  if (ws && rows == 32) return {m + 32 * (n / (width / 4)), n % (width / 4)};
  if (ws && rows == 64) return {m + 64 * (n / (width / 2)), n % (width / 2)};
  if (group == 1 && rows == 64) return {m % 16 + 32 * (m / 16), n};  // 16 of each 32 lanes
  if (group == 2 && rows == 128) return {m % 64 + 64 * (n / (width / 2)), n % (width / 2), m / 64};
  return {m % 128, n, m / 128};
}
/// Where it looks for scale s of row m of A (column n of B the same way), s = 0 .. 3 of a column: lane m mod 32 of each
/// 32, byte s.
constexpr TmemCell tmem_place_of_scale(int m) { return {m % 32, m / 32}; }
/// And where that is in the 512 bytes of an atom of 128 rows by 4 scales in memory.
constexpr int scale_atom_byte(int m, int s) { return m % 32 * 16 + m / 32 * 4 + s; }

enum class TmemFault : std::uint8_t { none, columns, grows, relinquished, not_allocated };

/// What one CTA did so far.
struct TmemOwner {
  int last = tmem_columns;  ///< sizes do not grow from one allocation to the next
  bool relinquished = false;
  int held = 0;  ///< columns to give back before the CTA ends
};

/// The allocator of an SM, in blocks of 32 columns.
struct TmemAllocator {
  std::array<bool, 16> taken{};
  TmemFault fault = TmemFault::none;

  /// tcgen05.alloc: the first of n columns, or -1 while there is no room. n is a power of two, 32 .. 512.
  int allocate(TmemOwner& cta, int n) {
    fault = n < 32 || n > tmem_columns || (n & (n - 1)) != 0 ? TmemFault::columns
            : cta.relinquished                               ? TmemFault::relinquished
            : n > cta.last                                   ? TmemFault::grows
                                                             : TmemFault::none;
    if (fault != TmemFault::none) return -1;
    const auto blocks = static_cast<std::size_t>(n / 32);
    for (std::size_t first = 0; first + blocks <= taken.size(); ++first) {
      bool room = true;
      for (std::size_t i = first; i < first + blocks; ++i) room = room && !taken[i];
      if (!room) continue;
      for (std::size_t i = first; i < first + blocks; ++i) taken[i] = true;
      cta.last = n;
      cta.held += n;
      return static_cast<int>(32 * first);
    }
    return -1;
  }
  /// tcgen05.dealloc
  void release(TmemOwner& cta, int column, int n) {
    fault = n < 32 || n > tmem_columns || (n & (n - 1)) != 0 ? TmemFault::columns : TmemFault::none;
    if (column < 0 || column % 32 != 0 || column + n > tmem_columns) fault = TmemFault::not_allocated;
    if (fault != TmemFault::none) return;
    for (int i = column / 32; i < (column + n) / 32; ++i)
      if (!taken[static_cast<std::size_t>(i)]) fault = TmemFault::not_allocated;
    if (fault != TmemFault::none) return;
    for (int i = column / 32; i < (column + n) / 32; ++i) taken[static_cast<std::size_t>(i)] = false;
    cta.held -= n;
  }
};

}  // namespace assay::ptx

#pragma once
#include <array>
#include <cstdint>

#include "reference/ptx/mma.hpp"

// ldmatrix, stmatrix, movmatrix (PTX ISA 9.0, sections 9.7.14.5.15 to 17): matrices between shared memory and the
// registers of a warp. A row is 16 bytes at an address that one lane gives, a multiple of 16.
namespace assay::ptx {

/// 16 bytes of shared memory.
using MatrixRow = std::array<std::uint8_t, 16>;

/// The forms: elements of 16 bits (8 x 8), of 8 bits (16 x 16, always transposed; 16 x 8, stored transposed), and of 4
/// or 6 bits that are packed in memory and take a byte each in registers (8 x 16; 16 x 16, transposed).
enum class MatrixForm : std::uint8_t {
  m8n8,
  m8n8_trans,
  m16n16_trans,
  m8n16_b4,
  m8n16_b6,
  m16n16_trans_b4,
  m16n16_trans_b6,
  m16n8_trans
};

constexpr bool is_m16n16(MatrixForm f) {
  return f == MatrixForm::m16n16_trans || f == MatrixForm::m16n16_trans_b4 || f == MatrixForm::m16n16_trans_b6;
}
/// Rows of a matrix in memory: row i of matrix q is at the address of lane (rows q + i). m16n8 has its 8 columns there.
constexpr int matrix_rows(MatrixForm f) { return is_m16n16(f) ? 16 : 8; }
/// Registers that a matrix takes.
constexpr int matrix_registers(MatrixForm f) { return is_m16n16(f) ? 2 : 1; }
/// Elements in a register: two of 16 bits, or four of a byte.
constexpr int matrix_elements(MatrixForm f) { return f == MatrixForm::m8n8 || f == MatrixForm::m8n8_trans ? 2 : 4; }

/// Element j of register r of a matrix, in lane 4 g + t: its row and column in memory.
constexpr Place place_in_matrix(MatrixForm f, int lane, int r, int j) {
  const int g = lane / 4, t = lane % 4;
  switch (f) {
    case MatrixForm::m8n8:
      return {g, 2 * t + j};
    case MatrixForm::m8n8_trans:
      return {2 * t + j, g};
    case MatrixForm::m8n16_b4:
    case MatrixForm::m8n16_b6:
      return {g, 4 * t + j};
    case MatrixForm::m16n8_trans:  // two columns of rows 2t and 2t + 1: a 16 x 8 tile of mma's C, stored by columns
      return {2 * t + (j & 1), g + 8 * (j >> 1)};
    default:
      return {4 * t + j, g + 8 * r};
  }
}

/// Element `col` of a row: 16 bits; a byte; bits 4 col.. or 6 col.. of the row (8 or 12 bytes, the rest is padding).
constexpr std::uint32_t element_of_row(MatrixForm f, const MatrixRow& row, int col) {
  const auto byte = [&](int i) { return static_cast<std::uint32_t>(row[static_cast<std::size_t>(i)]); };
  switch (f) {
    case MatrixForm::m8n8:
    case MatrixForm::m8n8_trans:
      return byte(2 * col) | byte(2 * col + 1) << 8;
    case MatrixForm::m8n16_b4:
    case MatrixForm::m16n16_trans_b4:
      return byte(col / 2) >> (4 * (col % 2)) & 15;
    case MatrixForm::m8n16_b6:
    case MatrixForm::m16n16_trans_b6: {
      const int at = 6 * col;
      return (byte(at / 8) | byte(at / 8 + 1) << 8) >> (at % 8) & 63;
    }
    default:
      return byte(col);
  }
}

/// ldmatrix.FORM.xCOUNT: rows[l] are the 16 bytes at the address of lane l; registers of matrix q follow those of q
/// - 1.
inline void ldmatrix(MatrixForm f, int count, const MatrixRow* rows, Reg32* d) {
  const int registers = matrix_registers(f), elements = matrix_elements(f);
  for (int q = 0; q < count; ++q)
    for (int r = 0; r < registers; ++r)
      for (int lane = 0; lane < warp_size; ++lane) {
        std::uint32_t word = 0;
        for (int j = 0; j < elements; ++j) {
          const Place p = place_in_matrix(f, lane, r, j);
          word |= element_of_row(f, rows[matrix_rows(f) * q + p.row], p.col) << (32 / elements * j);
        }
        d[registers * q + r][lane] = word;
      }
}

/// stmatrix.m8n8[.trans].xCOUNT.b16 and .m16n8.trans.xCOUNT.b8: into the rows of lanes 0 .. 8 count - 1.
inline void stmatrix(MatrixForm f, int count, const Reg32* a, MatrixRow* rows) {
  const int elements = matrix_elements(f);
  for (int q = 0; q < count; ++q)
    for (int lane = 0; lane < warp_size; ++lane)
      for (int j = 0; j < elements; ++j) {
        const Place p = place_in_matrix(f, lane, 0, j);
        MatrixRow& row = rows[matrix_rows(f) * q + p.row];
        const std::uint32_t x = a[q][lane] >> (32 / elements * j);
        if (elements == 2) {
          row[static_cast<std::size_t>(2 * p.col)] = static_cast<std::uint8_t>(x);
          row[static_cast<std::size_t>(2 * p.col + 1)] = static_cast<std::uint8_t>(x >> 8);
        } else {
          row[static_cast<std::size_t>(p.col)] = static_cast<std::uint8_t>(x);
        }
      }
}

/// movmatrix.m8n8.trans.b16: element (row, col) of the result is (col, row) of a.
inline void movmatrix(const Reg32& a, Reg32& d) {
  const Reg32 from = a;  // d may be a
  for (int lane = 0; lane < warp_size; ++lane) {
    std::uint32_t word = 0;
    for (int j = 0; j < 2; ++j) {
      const Place p = place_in_matrix(MatrixForm::m8n8, lane, 0, j);
      word |= (from[4 * p.col + p.row / 2] >> (16 * (p.row % 2)) & 0xffff) << (16 * j);
    }
    d[lane] = word;
  }
}

}  // namespace assay::ptx

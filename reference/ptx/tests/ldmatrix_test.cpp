// ldmatrix, stmatrix and movmatrix: every element of memory is looked for in the registers where it belongs, and what
// is loaded feeds mma.
#include "reference/ptx/ldmatrix.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

std::vector<MatrixRow> memory(testing::Random& r) {
  std::vector<MatrixRow> rows(32);
  for (MatrixRow& row : rows)
    for (std::uint8_t& x : row) x = static_cast<std::uint8_t>(r());
  return rows;
}
/// `width` bits from bit `from` of a row on, one by one.
std::uint32_t bits_of_row(const MatrixRow& row, int from, int width) {
  std::uint32_t x = 0;
  for (int i = 0; i < width; ++i)
    x |= static_cast<std::uint32_t>(row[static_cast<std::size_t>((from + i) / 8)] >> ((from + i) % 8) & 1) << i;
  return x;
}
/// Part j of `parts` of a register.
std::uint32_t part(std::uint32_t word, int j, int parts) {
  return word >> (32 / parts * j) & (parts == 2 ? 0xffff : 0xff);
}

TEST(Ldmatrix, EveryElementIsWhereItBelongs) {
  testing::Random r{71};
  for (int count : {1, 2, 4}) {
    const auto rows = memory(r);
    const auto at = [&](int i) -> const MatrixRow& { return rows[static_cast<std::size_t>(i)]; };
    Reg32 d[8];
    for (int q = 0; q < count; ++q)
      for (int row = 0; row < 8; ++row) {
        for (int col = 0; col < 8; ++col) {
          const std::uint32_t x = bits_of_row(at(8 * q + row), 16 * col, 16);
          ldmatrix(MatrixForm::m8n8, count, rows.data(), d);
          ASSERT_EQ(part(d[q][4 * row + col / 2], col % 2, 2), x);
          ldmatrix(MatrixForm::m8n8_trans, count, rows.data(), d);
          ASSERT_EQ(part(d[q][4 * col + row / 2], row % 2, 2), x);
        }
        for (int col = 0; col < 16; ++col) {
          ldmatrix(MatrixForm::m8n16_b4, count, rows.data(), d);
          ASSERT_EQ(part(d[q][4 * row + col / 4], col % 4, 4), bits_of_row(at(8 * q + row), 4 * col, 4));
          ldmatrix(MatrixForm::m8n16_b6, count, rows.data(), d);
          ASSERT_EQ(part(d[q][4 * row + col / 4], col % 4, 4), bits_of_row(at(8 * q + row), 6 * col, 6));
        }
      }
    if (count == 4) continue;
    for (auto [form, width] :
         {std::pair{MatrixForm::m16n16_trans, 8}, {MatrixForm::m16n16_trans_b4, 4}, {MatrixForm::m16n16_trans_b6, 6}}) {
      ldmatrix(form, count, rows.data(), d);
      for (int q = 0; q < count; ++q)
        for (int row = 0; row < 16; ++row)
          for (int col = 0; col < 16; ++col)
            ASSERT_EQ(part(d[2 * q + col / 8][col % 8 * 4 + row / 4], row % 4, 4),
                      bits_of_row(at(16 * q + row), width * col, width));
    }
  }
}

TEST(Ldmatrix, StoreUndoesLoad) {
  testing::Random r{72};
  for (MatrixForm form : {MatrixForm::m8n8, MatrixForm::m8n8_trans})
    for (int count : {1, 2, 4}) {
      const auto rows = memory(r);
      auto stored = memory(r);
      const auto before = stored;
      Reg32 d[4];
      ldmatrix(form, count, rows.data(), d);
      stmatrix(form, count, d, stored.data());
      for (std::size_t i = 0; i < 32; ++i)
        ASSERT_EQ(stored[i], i < static_cast<std::size_t>(8 * count) ? rows[i] : before[i]);
    }
}

// stmatrix.m16n8.trans stores what has the shape of mma's C, four bytes a lane, by columns.
TEST(Ldmatrix, StoreOfBytesByColumns) {
  testing::Random r{73};
  for (int count : {1, 2, 4}) {
    Reg32 a[4];
    for (Reg32& x : a)
      for (std::uint32_t& y : x.lane) y = static_cast<std::uint32_t>(r());
    auto rows = memory(r);
    stmatrix(MatrixForm::m16n8_trans, count, a, rows.data());
    for (int q = 0; q < count; ++q)
      for (int row = 0; row < 16; ++row)
        for (int col = 0; col < 8; ++col)
          ASSERT_EQ(rows[static_cast<std::size_t>(8 * q + col)][static_cast<std::size_t>(row)],
                    part(a[q][row % 8 * 4 + col / 2], row / 8 * 2 + col % 2, 4));
  }
}

TEST(Ldmatrix, TransposedIsPlainThenMovmatrix) {
  testing::Random r{74};
  const auto rows = memory(r);
  Reg32 plain[4], trans[4];
  ldmatrix(MatrixForm::m8n8, 4, rows.data(), plain);
  ldmatrix(MatrixForm::m8n8_trans, 4, rows.data(), trans);
  for (int q = 0; q < 4; ++q) {
    movmatrix(plain[q], plain[q]);  // in place
    ASSERT_EQ(plain[q], trans[q]);
  }
}

// A (16 x 16, rows) by x4; B (16 x 8) by x2 from its columns, and by x2.trans from its rows.
TEST(Ldmatrix, FeedsMma) {
  testing::Random r{75};
  int va[16][16], vb[16][8];
  std::vector<MatrixRow> a(32), by_columns(16), by_rows(16);
  const auto put = [](MatrixRow& row, int at, int value) {
    const std::uint16_t code = to_half(formats::fp16, value);
    row[static_cast<std::size_t>(2 * at)] = static_cast<std::uint8_t>(code);
    row[static_cast<std::size_t>(2 * at + 1)] = static_cast<std::uint8_t>(code >> 8);
  };
  const auto at = [](std::vector<MatrixRow>& m, int i) -> MatrixRow& { return m[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) {
      va[i][k] = static_cast<int>(r.below(9)) - 4;
      put(at(a, i + 16 * (k / 8)), k % 8,
          va[i][k]);  // matrices: rows 0-7 and 8-15 of columns 0-7, then of columns 8-15
    }
  for (int k = 0; k < 16; ++k)
    for (int n = 0; n < 8; ++n) {
      vb[k][n] = static_cast<int>(r.below(9)) - 4;
      put(at(by_columns, n + k / 8 * 8), k % 8, vb[k][n]);
      put(at(by_rows, k), n, vb[k][n]);
    }
  Reg32 ra[4], rb[2], other[2], c[4], d[4];
  ldmatrix(MatrixForm::m8n8, 4, a.data(), ra);
  ldmatrix(MatrixForm::m8n8, 2, by_columns.data(), rb);
  ldmatrix(MatrixForm::m8n8_trans, 2, by_rows.data(), other);
  ASSERT_TRUE(rb[0] == other[0] && rb[1] == other[1]);
  mma({16, 16, Element::f16, Element::f16}, ra, rb, c, d);
  for (int i = 0; i < 16; ++i)
    for (int n = 0; n < 8; ++n) {
      int expected = 0;
      for (int k = 0; k < 16; ++k) expected += va[i][k] * vb[k][n];
      ASSERT_EQ(f32(d[i / 8 * 2 + n % 2][i % 8 * 4 + n / 2]), static_cast<float>(expected));
    }
}

}  // namespace
}  // namespace assay::ptx

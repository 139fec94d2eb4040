// Tensor memory: shapes of loads and stores from the side of the cells, accumulators as partitions, the allocator.
#include "reference/ptx/tmem.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

std::unique_ptr<TensorMemory> filled(testing::Random& r) {
  auto m = std::make_unique<TensorMemory>();
  for (auto& lane : m->cell)
    for (std::uint32_t& x : lane) x = static_cast<std::uint32_t>(r());
  return m;
}

struct Row {
  TmemShape shape;
  int lanes, columns;  // of x1
};
const Row kRows[] = {{TmemShape::l32_b32, 32, 1},
                     {TmemShape::l16_b64, 16, 2},
                     {TmemShape::l16_b128, 16, 4},
                     {TmemShape::l16_b256, 16, 8}};

/// The lane and register of cell (row, column), by the pictures of the ISA.
std::pair<int, int> holder(TmemShape s, int row, int column) {
  switch (s) {
    case TmemShape::l32_b32:
      return {row, column};
    case TmemShape::l16_b64:  // two columns a register; quads hold row and row + 8 in turn
      return {row % 8 * 4 + row / 8 + column % 2 * 2, column / 2};
    case TmemShape::l16_b128:
      return {row % 8 * 4 + column % 4, column / 4 * 2 + row / 8};
    default:
      return {row % 8 * 4 + column % 8 / 2, column / 8 * 4 + row / 8 * 2 + column % 2};
  }
}

TEST(TensorMemories, EveryShapeReadsTheSameImage) {
  testing::Random r{131};
  const auto image = filled(r);
  for (const Row& row : kRows)
    for (int n = 1; is_tmem_count(row.shape, n); n *= 2) {
      std::vector<Reg32> d(128), back(128);
      const int base_lane = row.lanes == 32 ? 32 : 48, base = row.columns * n > 256 ? 0 : 7;
      const std::uint32_t address = static_cast<std::uint32_t>(base_lane) << 16 | static_cast<std::uint32_t>(base);
      tmem_load(*image, address, row.shape, n, d.data());
      for (int lane = 0; lane < row.lanes; ++lane)
        for (int column = 0; column < row.columns * n; ++column) {
          const auto [holding, reg] = holder(row.shape, lane, column);
          ASSERT_LT(reg, tmem_registers(row.shape, n));
          ASSERT_EQ(d[static_cast<std::size_t>(reg)][holding], image->at(base_lane + lane, base + column))
              << static_cast<int>(row.shape);
        }
      auto other = filled(r);
      const auto before = std::make_unique<TensorMemory>(*other);
      tmem_store(*other, address, row.shape, n, d.data());
      for (int lane = 0; lane < 128; ++lane)
        for (int column = 0; column < 512; ++column) {
          const bool in =
              lane >= base_lane && lane < base_lane + row.lanes && column >= base && column < base + row.columns * n;
          ASSERT_EQ(other->at(lane, column), in ? image->at(lane, column) : before->at(lane, column));
        }
    }
}

TEST(TensorMemories, TwoHalves) {
  testing::Random r{132};
  const auto image = filled(r);
  Reg32 d[4];
  tmem_load(*image, 16 << 16 | 5, TmemShape::l16_b32_x2, 4, d, false, 100);
  for (int reg = 0; reg < 4; ++reg)
    for (int lane = 0; lane < 32; ++lane)
      ASSERT_EQ(d[reg][lane], image->at(16 + lane % 16, 5 + reg + (lane < 16 ? 0 : 100)));
}

TEST(TensorMemories, PackedHalves) {
  testing::Random r{133};
  for (const Row& row : kRows) {
    const auto image = filled(r);
    Reg32 d[8], again[8];
    tmem_load(*image, 0, row.shape, 2, d, true);
    for (int lane = 0; lane < row.lanes; ++lane)
      for (int column = 0; column < 4 * row.columns; ++column) {
        const auto [holding, reg] = holder(row.shape, lane, column / 2);
        ASSERT_EQ(d[reg][holding] >> (column % 2 * 16) & 0xffff, image->at(lane, column) & 0xffff);
      }
    const auto other = filled(r);
    tmem_store(*other, 0, row.shape, 2, d, true);
    tmem_load(*other, 0, row.shape, 2, again, true);
    for (int reg = 0; reg < tmem_registers(row.shape, 2); ++reg) ASSERT_EQ(again[reg], d[reg]);
    ASSERT_EQ(other->at(0, 0) >> 16, 0U);
  }
}

TEST(TensorMemories, Counts) {
  for (auto [shape, most] : {std::pair{TmemShape::l32_b32, 128},
                             {TmemShape::l16_b64, 128},
                             {TmemShape::l16_b128, 64},
                             {TmemShape::l16_b256, 32},
                             {TmemShape::l16_b32_x2, 128}})
    for (int n = -1; n < 300; ++n) {
      int bits = 0;
      for (int x = n; x > 0; x /= 2) bits += x % 2;
      EXPECT_EQ(is_tmem_count(shape, n), n > 0 && bits == 1 && n <= most) << n;
    }
}

TEST(TensorMemories, AccumulatorsArePartitions) {
  for (auto [group, ws, rows] : {std::tuple{1, false, 128},
                                 {1, false, 64},
                                 {2, false, 256},
                                 {2, false, 128},
                                 {1, true, 32},
                                 {1, true, 64},
                                 {1, true, 128}})
    for (int width : {64, 128, 256}) {
      std::set<std::tuple<int, int, int>> seen;
      int most = 0;
      for (int m = 0; m < rows; ++m)
        for (int n = 0; n < width; ++n) {
          const TmemCell c = tmem_place_of_d(group, ws, rows, width, m, n);
          ASSERT_TRUE(c.lane >= 0 && c.lane < 128 && c.column >= 0 && c.cta >= 0 && c.cta < group);
          ASSERT_TRUE(seen.insert({c.cta, c.lane, c.column}).second);
          most = std::max(most, c.column + 1);
        }
      const bool half = !ws && group == 1 && rows == 64;  // 64 of 128 lanes
      ASSERT_EQ(most * 128 * group, static_cast<int>(seen.size()) * (half ? 2 : 1)) << rows << ws;
    }
  // By hand: rows of each data path.
  EXPECT_EQ(tmem_place_of_d(1, false, 128, 64, 77, 5), (TmemCell{77, 5}));
  EXPECT_EQ(tmem_place_of_d(1, false, 64, 64, 35, 5), (TmemCell{67, 5}));
  EXPECT_EQ(tmem_place_of_d(2, false, 256, 64, 200, 5), (TmemCell{72, 5, 1}));
  EXPECT_EQ(tmem_place_of_d(2, false, 128, 64, 70, 40), (TmemCell{70, 8, 1}));
  EXPECT_EQ(tmem_place_of_d(1, true, 32, 64, 3, 50), (TmemCell{99, 2}));
  EXPECT_EQ(tmem_place_of_d(1, true, 64, 64, 3, 50), (TmemCell{67, 18}));
}

TEST(TensorMemories, ScaleAtoms) {
  std::set<int> bytes;
  for (int m = 0; m < 128; ++m)
    for (int s = 0; s < 4; ++s) {
      const int byte = scale_atom_byte(m, s);
      EXPECT_TRUE(byte >= 0 && byte < 512 && bytes.insert(byte).second);
      // tcgen05.cp 32x128b: row byte / 16 of the atom to that lane, its four words to four columns.
      EXPECT_EQ(tmem_place_of_scale(m), (TmemCell{byte / 16, byte % 16 / 4}));
      EXPECT_EQ(byte % 4, s);
    }
  EXPECT_EQ(scale_atom_byte(33, 1), 16 + 4 + 1);
}

TEST(TensorMemories, Allocator) {
  TmemAllocator a;
  TmemOwner one, two;
  for (int n : {0, 16, 48, 1024, -32}) {
    EXPECT_EQ(a.allocate(one, n), -1);
    EXPECT_EQ(a.fault, TmemFault::columns) << n;
  }
  EXPECT_EQ(a.allocate(one, 256), 0);
  EXPECT_EQ(a.allocate(two, 512), -1);  // blocks
  EXPECT_EQ(a.fault, TmemFault::none);
  EXPECT_EQ(a.allocate(two, 256), 256);
  EXPECT_EQ(a.allocate(one, 32), -1);
  EXPECT_EQ(a.fault, TmemFault::none);
  a.release(two, 256, 256);
  EXPECT_EQ(a.fault, TmemFault::none);
  EXPECT_EQ(two.held, 0);
  EXPECT_EQ(a.allocate(one, 32), 256);
  EXPECT_EQ(one.held, 288);
  EXPECT_EQ(a.allocate(one, 64), -1);
  EXPECT_EQ(a.fault, TmemFault::grows);
  one.relinquished = true;
  EXPECT_EQ(a.allocate(one, 32), -1);
  EXPECT_EQ(a.fault, TmemFault::relinquished);
  a.release(one, 288, 32);
  EXPECT_EQ(a.fault, TmemFault::not_allocated);
  a.release(one, 256, 64);
  EXPECT_EQ(a.fault, TmemFault::not_allocated);
  a.release(one, 16, 32);
  EXPECT_EQ(a.fault, TmemFault::not_allocated);
  a.release(one, 512, 32);
  EXPECT_EQ(a.fault, TmemFault::not_allocated);
  a.release(one, 0, 24);
  EXPECT_EQ(a.fault, TmemFault::columns);
  a.release(one, 0, 256);
  a.release(one, 256, 32);
  EXPECT_EQ(one.held, 0);
  EXPECT_EQ(a.allocate(two, 256), 0);
}

}  // namespace
}  // namespace assay::ptx

// mma.sync against the product of matrices whose elements are put into registers by the ISA's tables, written out here
// with groups of four lanes and pairs, fours and eights of columns.
#include "reference/ptx/mma.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

struct Case {
  std::string name;
  Mma i;
};
const std::vector<Case> kCases = {{"f16 k16", {16, 16, Element::f16, Element::f16}},
                                  {"f16 k8", {16, 8, Element::f16, Element::f16}},
                                  {"f16 half", {16, 16, Element::f16, Element::f16, true}},
                                  {"f16 half k8", {16, 8, Element::f16, Element::f16, true}},
                                  {"bf16 k16", {16, 16, Element::bf16, Element::bf16}},
                                  {"bf16 k8", {16, 8, Element::bf16, Element::bf16}},
                                  {"tf32 k8", {16, 8, Element::tf32, Element::tf32}},
                                  {"tf32 k4", {16, 4, Element::tf32, Element::tf32}},
                                  {"e4m3 e5m2", {16, 32, Element::e4m3, Element::e5m2}},
                                  {"e5m2 e4m3 k16 half", {16, 16, Element::e5m2, Element::e4m3, true}},
                                  {"e3m2 e2m1", {16, 32, Element::e3m2, Element::e2m1}},
                                  {"e2m1 e2m3", {16, 32, Element::e2m1, Element::e2m3}},
                                  {"s8 u8 k32", {16, 32, Element::s8, Element::u8}},
                                  {"u8 s8 k16", {16, 16, Element::u8, Element::s8}},
                                  {"u8 s8 m8", {8, 16, Element::u8, Element::s8}},
                                  {"s4 u4 k64", {16, 64, Element::s4, Element::u4}},
                                  {"s4 u4 k32", {16, 32, Element::s4, Element::u4}},
                                  {"u4 s4 m8", {8, 32, Element::u4, Element::s4}},
                                  {"b1 k256", {16, 256, Element::b1, Element::b1}},
                                  {"b1 k128", {16, 128, Element::b1, Element::b1}},
                                  {"b1 xor m8", {8, 128, Element::b1, Element::b1, false, false, true}}};

/// Where the ISA's tables put element (row, col) of A: lane, and number of the element among those of the lane. A row
/// of four lanes holds runs of `run` elements in turn, 4 lanes to a block of columns; blocks and halves of rows follow
/// each other: rows 0-7 first, then rows 8-15, then the next block.
struct Spot {
  int lane, index;
};
Spot spot_of_a(int m, int bits, int row, int col) {
  const int run = 32 / bits, block = col / (4 * run), t = col % (4 * run) / run, within = col % run;
  const int part = m == 16 ? 2 * block + (row >= 8 ? 1 : 0) : block;
  return {row % 8 * 4 + t, part * run + within};
}
Spot spot_of_b(int bits, int k, int n) {
  const int run = 32 / bits;
  return {n * 4 + k % (4 * run) / run, k / (4 * run) * run + k % run};
}
Spot spot_of_c(int row, int col) { return {row % 8 * 4 + col / 2, (row >= 8 ? 2 : 0) + col % 2}; }

void put(std::vector<Reg32>& registers, int bits, Spot s, std::uint32_t code) {
  const int per = 32 / bits;
  registers[static_cast<std::size_t>(s.index / per)][s.lane] |= code << (s.index % per * bits % 32);
}
std::uint32_t get(const std::vector<Reg32>& registers, int bits, Spot s) {
  const int per = 32 / bits;
  const std::uint32_t word = registers[static_cast<std::size_t>(s.index / per)][s.lane];
  return bits == 32 ? word : word >> (s.index % per * bits) & ((1U << bits) - 1);
}

/// A code of a small number: its value and its bits in the container.
std::uint32_t small(Element e, testing::Random& r, int& value) {
  const int width = element_bits(e);
  const bool is_signed = is_float(e) || e == Element::s8 || e == Element::s4;
  const int size = is_float(e) ? 4 : 1 << width;  // integers: all of them
  value =
      static_cast<int>(r.below(static_cast<std::uint64_t>(size + (is_float(e) ? 1 : 0)))) - (is_signed ? size / 2 : 0);
  if (!is_float(e)) return static_cast<std::uint32_t>(value) & ((1U << element_bits(e)) - 1);
  const auto code = static_cast<std::uint32_t>(encode(element_format(e), value));
  const auto noise = static_cast<std::uint32_t>(r());
  if (e == Element::tf32) return code | (noise & 0x1fff);     // ignored
  if (e == Element::e2m1) return code << 2 | (noise & 0xc3);  // bits 5..2 of a byte
  if (e == Element::e3m2 || e == Element::e2m3) return code | (noise & 0xc0);
  return code;
}

TEST(MmaInstruction, EqualsTheProduct) {
  testing::Random r{61};
  for (const Case& c : kCases)
    for (int turn = 0; turn < 4; ++turn) {
      const Mma& i = c.i;
      const int ba = element_bits(i.a), bb = element_bits(i.b), bc = i.half ? 16 : 32;
      std::vector<Reg32> a(static_cast<std::size_t>(registers_of_a(i))), b(static_cast<std::size_t>(registers_of_b(i)));
      std::vector<Reg32> acc(static_cast<std::size_t>(registers_of_c(i)));
      int va[16][256], vb[256][8], vc[16][8];
      for (int row = 0; row < i.m; ++row)
        for (int k = 0; k < i.k; ++k) put(a, ba, spot_of_a(i.m, ba, row, k), small(i.a, r, va[row][k]));
      for (int k = 0; k < i.k; ++k)
        for (int n = 0; n < 8; ++n) put(b, bb, spot_of_b(bb, k, n), small(i.b, r, vb[k][n]));
      for (int row = 0; row < i.m; ++row)
        for (int n = 0; n < 8; ++n) {
          vc[row][n] = static_cast<int>(r.below(200)) - 100;
          const std::uint32_t code = !is_float(i.a) ? static_cast<std::uint32_t>(vc[row][n])
                                     : i.half       ? to_half(formats::fp16, vc[row][n])
                                                    : bits(static_cast<float>(vc[row][n]));
          put(acc, bc, spot_of_c(row, n), code);
        }
      for (Arithmetic how :
           {Arithmetic{}, Arithmetic{Reading::f32_chain}, Arithmetic{Reading::hardware, Architecture::ampere},
            Arithmetic{Reading::hardware, Architecture::blackwell}}) {
        std::vector<Reg32> d = acc;
        mma(i, a.data(), b.data(), d.data(), d.data(), how);
        for (int row = 0; row < i.m; ++row)
          for (int n = 0; n < 8; ++n) {
            int expected = vc[row][n];
            for (int k = 0; k < i.k; ++k) expected += i.exclusive ? va[row][k] ^ vb[k][n] : va[row][k] * vb[k][n];
            const std::uint32_t code = get(d, bc, spot_of_c(row, n));
            const double got = !is_float(i.a) ? static_cast<std::int32_t>(code)
                               : i.half       ? half_value(formats::fp16, code)
                                              : static_cast<double>(f32(code));
            ASSERT_EQ(got, expected) << c.name << ' ' << row << ' ' << n;
          }
      }
    }
}

// Every element has one place, and no place is left over.
TEST(MmaInstruction, PlacesAreAPartition) {
  for (const Case& c : kCases) {
    std::set<std::pair<int, int>> in_a, in_b;
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < registers_of_a(c.i); ++r)
        for (int j = 0; j < 32 / element_bits(c.i.a); ++j) {
          const Place p = place_in_a(c.i, lane, r, j);
          EXPECT_TRUE(p.row < c.i.m && p.col < c.i.k && in_a.insert({p.row, p.col}).second) << c.name;
        }
      for (int r = 0; r < registers_of_b(c.i); ++r)
        for (int j = 0; j < 32 / element_bits(c.i.b); ++j) {
          const Place p = place_in_b(element_bits(c.i.b), lane, r, j);
          EXPECT_TRUE(p.row < c.i.k && p.col < 8 && in_b.insert({p.row, p.col}).second) << c.name;
        }
    }
    EXPECT_EQ(in_a.size(), static_cast<std::size_t>(c.i.m * c.i.k)) << c.name;
    EXPECT_EQ(in_b.size(), static_cast<std::size_t>(8 * c.i.k)) << c.name;
  }
}

TEST(MmaInstruction, IntegersWrapOrSaturate) {
  for (bool satfinite : {false, true}) {
    const Mma i{16, 32, Element::u8, Element::u8, false, satfinite};
    Reg32 a[4], b[2], c[4], d[4];
    for (Reg32& x : a) x.lane.fill(0xffffffff);
    for (Reg32& x : b) x.lane.fill(0xffffffff);
    for (Reg32& x : c) x.lane.fill(0x7fffffff);
    mma(i, a, b, c, d);
    EXPECT_EQ(d[3][17], satfinite ? 0x7fffffffU : 0x7fffffffU + 32 * 255 * 255);
  }
}

TEST(MmaInstruction, ReadingsDiffer) {
  const Mma i{16, 16, Element::f16, Element::f16};
  Reg32 a[4], b[2], c[4], exact[4], chain[4], hardware[4];
  a[0].lane.fill(0x3c003c00), b[0].lane.fill(0x3c003c00);  // eight ones in a row
  for (Reg32& x : c) x.lane.fill(bits(0x1p24F));
  mma(i, a, b, c, exact);
  mma(i, a, b, c, chain, {Reading::f32_chain});
  EXPECT_EQ(f32(exact[0][0]), 0x1p24F + 8);
  EXPECT_EQ(f32(chain[0][0]), 0x1p24F);
  // Terms of 2^-24 beside 1: two of them are an ulp, which F = 24 keeps and F = 23 loses.
  for (Reg32& x : c) x.lane.fill(bits(1.0F));
  a[0].lane.fill(0x0c000c00), b[0].lane.fill(0x0c000c00);  // 2^-12
  mma(i, a, b, c, hardware, {Reading::hardware, Architecture::volta});
  EXPECT_EQ(f32(hardware[0][0]), 1.0F);
  mma(i, a, b, c, hardware, {Reading::hardware, Architecture::ampere});
  EXPECT_EQ(f32(hardware[0][0]), 1 + 8 * 0x1p-24F);
}

// f16 results are rounded once: 2048 + 1 + 2^-30 is above the middle of two, in f32 it is the middle.
TEST(MmaInstruction, HalfResultsAreRoundedOnce) {
  const Mma i{16, 16, Element::f16, Element::f16, true};
  Reg32 a[4], b[2], c[2], d[2];
  a[0].lane.fill(0x02003c00), b[0].lane.fill(0x02003c00);  // 1 1, and 2^-15 2^-15, in four pairs of a row
  c[0].lane.fill(0x68006800);                              // 2048
  for (int lane = 0; lane < 32; ++lane)
    if (lane % 4 != 0) a[0][lane] = 0;
  mma(i, a, b, c, d);
  EXPECT_EQ(d[0][0], 0x68016801U);  // 2050
}

TEST(MmaInstruction, Doubles) {
  testing::Random r{62};
  for (auto [m, k] : {std::pair{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
    Reg64 a[8], b[4], c[4], d[4];
    double va[16][16], vb[16][8], vc[16][8];
    const auto draw = [&] {
      return static_cast<double>(static_cast<std::int64_t>(r())) * pow2(-static_cast<int>(r.below(90)));
    };
    for (int row = 0; row < m; ++row)
      for (int n = 0; n < k; ++n) {
        const Spot s = spot_of_a(m, 32, row, n);
        a[s.index][s.lane] = bits(va[row][n] = draw());
      }
    for (int row = 0; row < k; ++row)
      for (int n = 0; n < 8; ++n) {
        const Spot s = spot_of_b(32, row, n);
        b[s.index][s.lane] = bits(vb[row][n] = draw());
      }
    for (int row = 0; row < m; ++row)
      for (int n = 0; n < 8; ++n) {
        const Spot s = spot_of_c(row, n);
        c[s.index][s.lane] = bits(vc[row][n] = draw());
      }
    mma_f64(m, k, a, b, c, d);
    for (int row = 0; row < m; ++row)
      for (int n = 0; n < 8; ++n) {
        double x = vc[row][n];
        for (int j = 0; j < k; ++j) x = std::fma(va[row][j], vb[j][n], x);
        const Spot s = spot_of_c(row, n);
        ASSERT_EQ(f64(d[s.index][s.lane]), x) << m << ' ' << k;
      }
  }
}

}  // namespace
}  // namespace assay::ptx

// wgmma against four warps of mma.sync tiles, and against the product.
#include "reference/ptx/wgmma.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

TEST(Wgmma, PlacesAreAPartition) {
  for (int n : {8, 24, 256}) {
    std::set<std::pair<int, int>> seen;
    for (int w = 0; w < 4; ++w)
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < n / 2; ++i) {
          const Place p = place_in_wgmma_d(w, lane, i);
          const Place tile = place_in_c(lane, i % 4);  // of mma, 16 rows a warp and 8 columns a tile
          EXPECT_EQ(p, (Place{16 * w + tile.row, i / 4 * 8 + tile.col}));
          EXPECT_TRUE(p.row >= 0 && p.row < 64 && p.col >= 0 && p.col < n && seen.insert({p.row, p.col}).second);
        }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(64 * n));
  }
}

TEST(Wgmma, Widths) {
  const auto ok = [](int n, Element e) { return is_width({n, e, e}); };
  for (int n = -8; n < 300; ++n) {
    EXPECT_EQ(ok(n, Element::f16), n >= 8 && n <= 256 && n % 8 == 0) << n;
    EXPECT_EQ(ok(n, Element::s8), n == 8 || n == 24 || (n >= 16 && n <= 256 && n % 16 == 0)) << n;
  }
  EXPECT_EQ(depth({8, Element::bf16, Element::bf16}), 16);
  EXPECT_EQ(depth({8, Element::tf32, Element::tf32}), 8);
  EXPECT_EQ(depth({8, Element::e4m3, Element::e5m2}), 32);
  EXPECT_EQ(depth({8, Element::b1, Element::b1}), 256);
}

// Each warp's 16 rows and each 8 columns are one mma.sync of the same depth, whose registers are part of wgmma's.
TEST(Wgmma, EqualsTilesOfMma) {
  testing::Random r{111};
  const Wgmma forms[] = {{8, Element::f16, Element::f16},    {24, Element::bf16, Element::bf16},
                         {256, Element::f16, Element::f16},  {16, Element::f16, Element::f16, true},
                         {40, Element::tf32, Element::tf32}, {16, Element::e4m3, Element::e5m2},
                         {32, Element::s8, Element::u8},     {32, Element::u8, Element::s8, false, true},
                         {16, Element::b1, Element::b1}};
  for (const Wgmma& i : forms)
    for (Reading reading : {Reading::exact, Reading::f32_chain, Reading::hardware})
      for (bool scale_d : {true, false}) {
        const int k = depth(i), bits_a = element_bits(i.a), bits_b = element_bits(i.b), registers = registers_of_d(i);
        const Mma tile{16, k, i.a, i.b, i.half, i.satfinite};
        // Registers of A for each warp; from them the matrix that shared memory would hold.
        std::vector<Reg32> ra(static_cast<std::size_t>(4 * registers_of_a(tile)));
        std::vector<std::uint32_t> ma(static_cast<std::size_t>(64 * k)), mb(static_cast<std::size_t>(i.n * k));
        const auto code = [&](int width) {
          // Exponents in the middle, so that sums are neither infinite nor one term alone.
          if (width == 1 || !is_float(i.a)) return static_cast<std::uint32_t>(r()) & ((1U << width) - 1);
          return static_cast<std::uint32_t>(
              encode(element_format(i.a), static_cast<double>(r.below(64)) / 16 - 2, Round::nearest_even));
        };
        for (std::uint32_t& x : ma) x = code(bits_a);
        for (std::uint32_t& x : mb)
          x = is_float(i.a) ? static_cast<std::uint32_t>(encode(
                                  element_format(i.b), static_cast<double>(r.below(64)) / 16 - 2, Round::nearest_even))
                            : code(bits_b);
        const auto a = [&](int row, int x) { return ma[static_cast<std::size_t>(row * k + x)]; };
        const auto b = [&](int x, int n) { return mb[static_cast<std::size_t>(n * k + x)]; };
        for (int w = 0; w < 4; ++w)
          for (int lane = 0; lane < 32; ++lane)
            for (int reg = 0; reg < registers_of_a(tile); ++reg)
              for (int j = 0; j < 32 / bits_a; ++j) {
                const Place p = place_in_wgmma_a(bits_a, w, lane, reg, j);
                ra[static_cast<std::size_t>(w * registers_of_a(tile) + reg)][lane] |=
                    a(p.row, p.col) << (bits_a == 32 ? 0 : bits_a * j);
              }
        std::vector<Reg32> d(static_cast<std::size_t>(4 * registers)), c;
        for (Reg32& x : d)
          for (std::uint32_t& y : x.lane)
            y = is_float(i.a) ? (i.half ? 0x3c004200 : 0x40490fdb)
                : i.satfinite ? 0x7fffff00 + static_cast<std::uint32_t>(r.below(255))
                              : static_cast<std::uint32_t>(r());
        c = d;
        wgmma(i, a, b, d.data(), scale_d, {reading, Architecture::hopper});
        for (int w = 0; w < 4; ++w)
          for (int block = 0; block < i.n / 8; ++block) {
            Reg32 rb[4], rc[4], rd[4];
            for (int lane = 0; lane < 32; ++lane)
              for (int reg = 0; reg < registers_of_b(tile); ++reg)
                for (int j = 0; j < 32 / bits_b; ++j) {
                  const Place p = place_in_b(bits_b, lane, reg, j);
                  rb[reg][lane] |= b(p.row, 8 * block + p.col) << (bits_b == 32 ? 0 : bits_b * j);
                }
            const int count = registers_of_c(tile);
            if (scale_d)
              for (int reg = 0; reg < count; ++reg)
                rc[reg] = c[static_cast<std::size_t>(w * registers + block * count + reg)];
            mma(tile, &ra[static_cast<std::size_t>(w * registers_of_a(tile))], rb, rc, rd,
                {reading, Architecture::hopper, true});
            for (int reg = 0; reg < count; ++reg)
              ASSERT_EQ(d[static_cast<std::size_t>(w * registers + block * count + reg)], rd[reg])
                  << i.n << ' ' << static_cast<int>(i.a);
          }
      }
}

TEST(Wgmma, NegationAndFp8OfHopper) {
  const Wgmma plain{8, Element::f16, Element::f16};
  Wgmma minus = plain, both = plain;
  minus.negate_a = both.negate_a = both.negate_b = true;
  const auto one = [](int, int) { return 0x3c00U; };
  for (auto [form, expected] : {std::pair{plain, 17.0F}, {minus, -15.0F}, {both, 17.0F}}) {
    Reg32 d[16];
    for (Reg32& x : d) x.lane.fill(bits(1.0F));
    wgmma(form, one, one, d, true);
    EXPECT_EQ(f32(d[15][31]), expected);
  }
  // 1 + 2^-14 has more than 13 fraction bits.
  const auto first = [](int, int k) { return k < 2 ? 0x38U : 0U; };
  const auto small = [](int k, int) { return k == 0 ? 0x38U : 0x01U; };  // 1, 2^-9
  Reg32 d[16];
  for (Reg32& x : d) x.lane.fill(bits(0x1p-14F));
  wgmma({8, Element::e4m3, Element::e4m3}, first, small, d, true, {Reading::hardware, Architecture::hopper});
  EXPECT_EQ(f32(d[0][0]), 1 + 0x1p-9F);
}

}  // namespace
}  // namespace assay::ptx

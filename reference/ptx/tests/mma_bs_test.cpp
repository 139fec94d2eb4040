// Block-scaled mma: against products with scales looked up by row and block, written with the text's lanes and bytes.
#include "reference/ptx/mma_bs.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

struct Case {
  std::string name;
  BlockScaled i;
};
const std::vector<Case> kCases = {
    {"mxf8f6f4 e4m3 e5m2", {32, 1, Element::e4m3, Element::e5m2}},
    {"mxf8f6f4 e2m3 e2m1", {32, 1, Element::e2m3, Element::e2m1}},
    {"mxf4", {64, 2, Element::e2m1_packed, Element::e2m1_packed}},
    {"mxf4nvf4 4X ue4m3", {64, 4, Element::e2m1_packed, Element::e2m1_packed, ScaleType::ue4m3}},
    {"mxf4nvf4 4X ue8m0", {64, 4, Element::e2m1_packed, Element::e2m1_packed}}};

void fill(Reg32& x, testing::Random& r) {
  for (std::uint32_t& y : x.lane) y = static_cast<std::uint32_t>(r());
}
/// The values of A and B by the registers; the places are mma's, tested there.
double of_a(const BlockScaled& i, const Reg32* a, int row, int k) {
  const int e = 32 / element_bits(i.a), lane = row % 8 * 4 + k % (4 * e) / e, reg = k / (4 * e) * 2 + row / 8;
  return float_element(i.a, element_code(i.a, a[reg][lane], k % e));
}
double of_b(const BlockScaled& i, const Reg32* b, int k, int n) {
  const int e = 32 / element_bits(i.b);
  return float_element(i.b, element_code(i.b, b[k / (4 * e)][n * 4 + k % (4 * e) / e], k % e));
}

TEST(MmaBlockScaled, EqualsTheScaledProduct) {
  testing::Random r{121};
  for (const Case& c : kCases)
    for (int thread_a = 0; thread_a < 2; ++thread_a)
      for (int thread_b = 0; thread_b < 4; ++thread_b)
        for (int byte = 0; byte < 4; byte += c.i.scales) {
          Reg32 a[4], b[2], acc[4], d[4], sa, sb;
          for (Reg32& x : a) fill(x, r);
          for (Reg32& x : b) fill(x, r);
          const bool e8 = c.i.type == ScaleType::ue8m0;
          for (int lane = 0; lane < 32; ++lane)
            for (int v = 0; v < 4; ++v) {  // 2^-3 .. 2^3; or any e4m3, bit 7 too
              sa[lane] |= static_cast<std::uint32_t>(e8 ? 124 + r.below(7) : r.below(256) & 0xf7) << (8 * v);
              sb[lane] |= static_cast<std::uint32_t>(e8 ? 124 + r.below(7) : r.below(256) & 0xf7) << (8 * v);
            }
          for (Reg32& x : acc)
            for (std::uint32_t& y : x.lane) y = bits(static_cast<float>(r.below(100)) - 50);
          const ScaleSelector select_a{byte, thread_a}, select_b{(byte + c.i.scales) % 4, thread_b};
          ASSERT_TRUE(is_selector(c.i, select_a, true) && is_selector(c.i, select_b, false));
          for (Reading reading : {Reading::exact, Reading::hardware, Reading::f32_chain}) {
            mma_block_scaled(c.i, a, b, acc, d, sa, select_a, sb, select_b, reading);
            for (int row = 0; row < 16; ++row)
              for (int n = 0; n < 8; ++n) {
                const int place = row / 8 * 2 + n % 2, lane = row % 8 * 4 + n / 2;
                long double sum = static_cast<long double>(f32(acc[place][lane])), size = std::fabs(sum);
                bool nan = false;
                for (int k = 0; k < c.i.k; ++k) {
                  const int v = k * c.i.scales / c.i.k;
                  // Rows 0-7 in the first lane of the pair, rows 8-15 in the second.
                  const std::uint32_t byte_a =
                      sa[4 * (row % 8) + 2 * thread_a + (row >= 8 ? 1 : 0)] >> (8 * (select_a.byte + v)) & 255;
                  const std::uint32_t byte_b = sb[4 * n + thread_b] >> (8 * (select_b.byte + v)) & 255;
                  const double fa = e8 ? pow2(static_cast<int>(byte_a) - 127) : decode(formats::e4m3, byte_a & 127);
                  const double fb = e8 ? pow2(static_cast<int>(byte_b) - 127) : decode(formats::e4m3, byte_b & 127);
                  const double x = of_a(c.i, a, row, k) * of_b(c.i, b, k, n);
                  nan = nan || !std::isfinite(x);
                  sum += static_cast<long double>(x) * static_cast<long double>(fa) * static_cast<long double>(fb);
                  size += std::fabs(x * fa * fb);
                }
                const float got = f32(d[place][lane]);
                if (nan) {
                  ASSERT_FALSE(std::isfinite(got));
                } else if (reading == Reading::exact) {
                  ASSERT_EQ(got, static_cast<float>(sum)) << c.name;
                } else {
                  ASSERT_NEAR(got, static_cast<double>(sum), static_cast<double>(size) * 0x1p-17) << c.name;
                }
              }
          }
        }
}

TEST(MmaBlockScaled, Selectors) {
  const BlockScaled one = kCases[0].i, two = kCases[2].i, four = kCases[3].i;
  for (int byte = -1; byte < 5; ++byte) {
    EXPECT_EQ(is_selector(one, {byte, 0}, true), byte >= 0 && byte <= 3);
    EXPECT_EQ(is_selector(two, {byte, 0}, true), byte == 0 || byte == 2);
    EXPECT_EQ(is_selector(four, {byte, 0}, true), byte == 0);
  }
  for (int thread = -1; thread < 6; ++thread) {
    EXPECT_EQ(is_selector(one, {0, thread}, true), thread == 0 || thread == 1);
    EXPECT_EQ(is_selector(one, {0, thread}, false), thread >= 0 && thread <= 3);
  }
}

TEST(MmaBlockScaled, NanScalesAndOnes) {
  testing::Random r{122};
  const BlockScaled i{32, 1, Element::e4m3, Element::e4m3};
  Reg32 a[4], b[2], c[4], d[4], plain[4], sa, sb;
  for (Reg32& x : a)
    for (std::uint32_t& y : x.lane) y = static_cast<std::uint32_t>(r()) & 0x37373737;
  for (Reg32& x : b)
    for (std::uint32_t& y : x.lane) y = static_cast<std::uint32_t>(r()) & 0x37373737;
  sa.lane.fill(127), sb.lane.fill(127);
  for (Reading reading : {Reading::exact, Reading::f32_chain, Reading::hardware}) {
    mma_block_scaled(i, a, b, c, d, sa, {}, sb, {}, reading);
    mma({16, 32, Element::e4m3, Element::e4m3}, a, b, c, plain, {reading, Architecture::rtx_blackwell});
    for (int j = 0; j < 4; ++j) EXPECT_EQ(d[j], plain[j]);
  }
  sa[4 * 3 + 1] = 0xff;  // row 11
  for (Reading reading : {Reading::exact, Reading::f32_chain, Reading::hardware}) {
    mma_block_scaled(i, a, b, c, d, sa, {}, sb, {}, reading);
    for (int lane = 0; lane < 32; ++lane)
      for (int j = 0; j < 4; ++j) EXPECT_EQ(d[j][lane] == 0x7fffffff, lane / 4 + 8 * (j / 2) == 11);
  }
}

// The hardware of K = 64 cuts sums of 16 at 2^-35 below the largest scale, that of K = 32 products at 2^-25.
TEST(MmaBlockScaled, WhatTheHardwareCuts) {
  const BlockScaled i{64, 4, Element::e2m1_packed, Element::e2m1_packed};
  double a[64] = {}, b[64] = {};
  a[0] = b[0] = 1, a[16] = b[16] = 1;
  const double one[] = {1, 1, 1, 1}, kept[] = {1, 0x1p-18, 1, 1}, cut[] = {1, 0x1p-17, 1, 1},
               other[] = {1, 0x1p-18, 1, 1};
  EXPECT_EQ(block_scaled_dot(i, a, b, one, one, -1, Reading::hardware), 1);
  EXPECT_EQ(block_scaled_dot(i, a, b, cut, other, -1, Reading::hardware), 0x1p-35F);
  EXPECT_EQ(block_scaled_dot(i, a, b, kept, other, -1, Reading::hardware), 0);
  EXPECT_EQ(block_scaled_dot(i, a, b, kept, other, -1, Reading::exact), 0x1p-36F);
  const BlockScaled j{32, 1, Element::e5m2, Element::e5m2};
  double x[32] = {1, 0x1p-12}, y[32] = {1, 0x1p-13};
  EXPECT_EQ(block_scaled_dot(j, x, y, one, one, -1, Reading::hardware), 0x1p-25F);
  y[1] = 0x1p-14;
  EXPECT_EQ(block_scaled_dot(j, x, y, one, one, -1, Reading::hardware), 0);
  EXPECT_EQ(block_scaled_dot(j, x, y, one, one, -1, Reading::exact), 0x1p-26F);
  // What is cut depends on the exponents of scales, of ue4m3 not below -6, and of factors.
  const double large[] = {16, 0x1p-15, 1, 1}, small[] = {1, 0x1p-17, 1, 1};
  EXPECT_EQ(block_scaled_dot(i, a, b, large, small, -16, Reading::hardware), 0);
  EXPECT_EQ(block_scaled_dot(i, a, b, large, small, -16, Reading::exact), 0x1p-32F);
  const double least[] = {0x1p-9, 0x1p-9, 1, 1};
  a[16] = -1;
  BlockScaled u = i;
  u.type = ScaleType::ue4m3;
  EXPECT_EQ(block_scaled_dot(u, a, b, least, one, 0x1p-43F, Reading::hardware), 0);
  EXPECT_EQ(block_scaled_dot(i, a, b, least, one, 0x1p-43F, Reading::hardware), 0x1p-43F);
  double p[32] = {32, 0x1p-10, -32}, q[32] = {1, 0x1p-11, 1};
  EXPECT_EQ(block_scaled_dot(j, p, q, one, one, 0, Reading::hardware), 0);
  EXPECT_EQ(block_scaled_dot(j, p, q, one, one, 0, Reading::exact), 0x1p-21F);
}

}  // namespace
}  // namespace assay::ptx

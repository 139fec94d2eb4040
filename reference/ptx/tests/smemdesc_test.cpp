// Matrix descriptors: what a tensor copy puts into shared memory is found by the descriptor that belongs to it.
#include "reference/ptx/smemdesc.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "reference/ptx/tests/testing.hpp"
#include "reference/ptx/tma.hpp"

namespace assay::ptx {
namespace {

TEST(MatrixDescriptors, Fields) {
  // 128-byte swizzle, tile at 0x400, 64 f16 a row: groups of 8 rows are 1024 bytes apart.
  const MatrixDescriptor d{0x400, 16, 1024, 0, Swizzle::b128, false};
  EXPECT_EQ(encode_sm90(d), 0x4000004000010040u);
  EXPECT_EQ(encode_sm100(d), 0x4000404000010040u);
  EXPECT_EQ(encode_sm90({0, 0, 0, 5, Swizzle::b64, false}), 0x800a000000000000u);
  EXPECT_EQ(encode_sm90({0, 0, 0, 0, Swizzle::b32, false}), 0xc000000000000000u);
  EXPECT_EQ(encode_sm100({0, 0, 0, 0, Swizzle::b32, false}), 0xc000400000000000u);
  EXPECT_EQ(encode_sm100({0, 0, 0, 0, Swizzle::b64, false}), 0x8000400000000000u);
  EXPECT_EQ(encode_sm100({0, 0, 0, 0, Swizzle::b128_atom32, true}), 0x2010400000000000u);
  MatrixDescriptor e;
  EXPECT_TRUE(decode_sm90(0x4000004000010040u, e) && e == d);
  EXPECT_TRUE(decode_sm100(0x4000404000010040u, e) && e == d);
  EXPECT_FALSE(decode_sm100(0x4000004000010040u, e));  // the version is missing
  EXPECT_FALSE(decode_sm90(0x4000404000010040u, e));
  EXPECT_FALSE(decode_sm100(0x6000404000010040u, e));  // swizzle 3
  testing::Random r{101};
  for (int i = 0; i < 2000; ++i) {
    MatrixDescriptor a{static_cast<std::uint32_t>(r.below(1 << 14)) << 4,
                       static_cast<std::uint32_t>(r.below(1 << 14)) << 4,
                       static_cast<std::uint32_t>(r.below(1 << 14)) << 4,
                       static_cast<std::uint32_t>(r.below(8)),
                       static_cast<Swizzle>(r.below(4)),
                       false};
    EXPECT_TRUE(decode_sm90(encode_sm90(a), e) && e == a);
    a.swizzle = static_cast<Swizzle>(r.below(5));
    a.absolute = r.below(2) != 0;
    EXPECT_TRUE(decode_sm100(encode_sm100(a), e) && e == a);
    const std::uint64_t junk = std::uint64_t{1} << (i % 2 == 0 ? 14 + r.below(2) : 53 + r.below(8));
    EXPECT_FALSE(decode_sm100(encode_sm100(a) | junk, e));
  }
}

constexpr std::uint32_t kStart = 4096;

/// Where a copy of `rows` rows of `bytes` bytes puts byte b of row r, in a tile from `tile` on.
std::vector<std::uint32_t> copied(Swizzle s, std::uint32_t bytes, std::uint32_t rows, std::uint32_t tile) {
  TensorMap m;
  m.type = TensorType::u8;
  m.rank = 2;
  m.dims = {bytes, rows, 1, 1, 1};
  m.strides = {0, bytes};
  m.box = {bytes, rows, 1, 1, 1};
  m.swizzle = s;
  EXPECT_EQ(broken_rule(m), "");
  std::vector<std::uint32_t> at;
  for_each_unit(m, {}, tile, [&](const TensorUnit& u) { at.push_back(u.shared); });
  return at;
}

// One copy per atom along K: rows of W bytes, groups of 8 rows 8 W apart.
TEST(MatrixDescriptors, KMajorSwizzled) {
  for (Swizzle s : {Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const auto w = static_cast<std::uint32_t>(swizzle_bytes(s));
    const auto at = copied(s, w, 64, kStart);
    const MatrixDescriptor d{kStart, 0, 8 * w, 0, s, false};
    for (std::uint32_t row = 0; row < 64; ++row)
      for (std::uint32_t b = 0; b < w; ++b) {
        ASSERT_EQ(address_in_matrix(d, Major::k, b, row), at[row * w + b]);
        // A step of 32 bytes along K is a step of the start.
        MatrixDescriptor next = d;
        next.start += b / 32 * 32;
        ASSERT_EQ(address_in_matrix(next, Major::k, b % 32, row), at[row * w + b]);
      }
  }
}

TEST(MatrixDescriptors, KMajorPlain) {
  // Columns of 16 bytes, each copied by itself.
  const std::uint32_t rows = 32, leading = rows * 16;
  const MatrixDescriptor d{kStart, leading, 128, 0, Swizzle::none, false};
  for (std::uint32_t column = 0; column < 4; ++column) {
    const auto at = copied(Swizzle::none, 16, rows, kStart + column * leading);
    for (std::uint32_t row = 0; row < rows; ++row)
      for (std::uint32_t b = 0; b < 16; ++b)
        ASSERT_EQ(address_in_matrix(d, Major::k, 16 * column + b, row), at[row * 16 + b]);
  }
}

// Copies of W bytes along M for all of K; the next W bytes of M are another copy.
TEST(MatrixDescriptors, MnMajor) {
  const std::uint32_t k = 32;
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32}) {
    const auto w = static_cast<std::uint32_t>(swizzle_bytes(s));
    const std::uint32_t tile = k * w, rows = s == Swizzle::b128_atom32 ? 4 : 8;
    const MatrixDescriptor d = s == Swizzle::none ? MatrixDescriptor{kStart, 8 * 16, tile, 0, s, false}
                                                  : MatrixDescriptor{kStart, tile, rows * w, 0, s, false};
    for (std::uint32_t block = 0; block < 3; ++block) {
      const auto at = copied(s, w, k, kStart + block * tile);
      for (std::uint32_t row = 0; row < k; ++row)
        for (std::uint32_t b = 0; b < w; ++b)
          ASSERT_EQ(address_in_matrix(d, Major::mn, block * w + b, row), at[row * w + b]);
    }
  }
}

// A pattern that begins within a period: the base offset says where. Lines count from there.
TEST(MatrixDescriptors, BaseOffset) {
  for (std::uint32_t line = 0; line < 8; ++line) {
    const std::uint32_t start = kStart + 128 * line;
    const MatrixDescriptor d{start, 0, 1024, line, Swizzle::b128, false};
    for (std::uint32_t row = 0; row < 16; ++row)
      for (std::uint32_t b = 0; b < 128; ++b)
        ASSERT_EQ(address_in_matrix(d, Major::k, b, row), start + 128 * row + (b ^ row % 8 * 16));
  }
}

}  // namespace
}  // namespace assay::ptx

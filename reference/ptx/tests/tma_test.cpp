// Tensor maps: copies against loops over the tile with bounds written out, swizzles against the ISA's pictures, and
// every rule of the encoding broken once.
#include "reference/ptx/tma.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

// The pictures: rows of 128 bytes, and which unit of 16 bytes each place of them holds.
TEST(Swizzles, Pictures) {
  const auto unit_at = [](Swizzle s, std::uint32_t line, std::uint32_t unit) {
    return swizzled(s, 128 * line + 16 * unit) / 16 % 8;
  };
  const char* b32[] = {"01234567", "10325476", "01234567"};
  const char* b64[] = {"01234567", "10325476", "23016745", "32107654", "01234567"};
  const char* b128[] = {"01234567", "10325476", "23016745", "32107654", "45670123",
                        "54761032", "67452301", "76543210", "01234567"};
  const char* atom32[] = {"01234567", "23016745", "45670123", "67452301", "01234567"};
  const char* atom64[] = {"01234567", "45670123", "01234567"};
  const auto check = [&](Swizzle s, const char* const* rows, std::uint32_t lines) {
    for (std::uint32_t line = 0; line < lines; ++line)
      for (std::uint32_t unit = 0; unit < 8; ++unit)
        EXPECT_EQ(unit_at(s, line, unit), static_cast<std::uint32_t>(rows[line][unit] - '0')) << line << unit;
  };
  check(Swizzle::b32, b32, 3);
  check(Swizzle::b64, b64, 5);
  check(Swizzle::b128, b128, 9);
  check(Swizzle::b128_atom32, atom32, 5);
  check(Swizzle::b128_atom32_flip8, atom32, 5);
  check(Swizzle::b128_atom64, atom64, 3);
  EXPECT_EQ(swizzled(Swizzle::b128_atom32_flip8, 128), 128U + 32 + 8);
  EXPECT_EQ(swizzled(Swizzle::b128_atom32_flip8, 256 + 8), 256U + 64 + 8);
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32,
                    Swizzle::b128_atom32_flip8, Swizzle::b128_atom64}) {
    const auto period = static_cast<std::uint32_t>(swizzle_period(s));
    std::set<std::uint32_t> image;
    bool shorter = true;
    for (std::uint32_t a = 0; a < 4096; ++a) {
      EXPECT_EQ(swizzled(s, swizzled(s, a)), a);
      EXPECT_EQ(swizzled(s, a + period), swizzled(s, a) + period);
      EXPECT_EQ(swizzled(s, a) / static_cast<std::uint32_t>(swizzle_bytes(s)),
                a / static_cast<std::uint32_t>(swizzle_bytes(s)));
      image.insert(swizzled(s, a));
      shorter = shorter && swizzled(s, a + period / 2) == swizzled(s, a) + period / 2;
    }
    EXPECT_EQ(image.size(), 4096U);
    EXPECT_EQ(shorter, s == Swizzle::none);
  }
}

/// Loads a box: bytes of shared memory, 0xee where nothing was written.
std::vector<std::uint8_t> load(const TensorMap& m, const std::array<std::int64_t, 5>& c, std::uint32_t tile,
                               const std::vector<std::uint8_t>& global) {
  std::vector<std::uint8_t> shared(65536, 0xee);
  for_each_unit(m, c, tile, [&](const TensorUnit& u) {
    for (int i = 0; i < unit_global_bytes(m.type); ++i)
      shared[u.shared + static_cast<std::uint32_t>(i)] =
          u.inside ? global.at(u.global - m.base + static_cast<std::uint64_t>(i)) : 0;
  });
  return shared;
}

TEST(TensorMaps, BoxesOfTwoDimensionsByHand) {
  testing::Random r{91};
  std::vector<std::uint8_t> global(40 * 64);
  for (std::uint8_t& x : global) x = static_cast<std::uint8_t>(r());
  TensorMap m;
  m.type = TensorType::f16;
  m.rank = 2;
  m.base = 0x10000;
  m.dims = {27, 40, 1, 1, 1};
  m.strides = {0, 64};
  m.box = {32, 8, 1, 1, 1};
  for (Swizzle s : {Swizzle::none, Swizzle::b64, Swizzle::b128})
    for (int turn = 0; turn < 40; ++turn) {
      m.swizzle = s;
      ASSERT_EQ(broken_rule(m), "");
      const auto cx = static_cast<std::int64_t>(r.below(80)) - 40, cy = static_cast<std::int64_t>(r.below(80)) - 30;
      const auto tile = static_cast<std::uint32_t>(1024 + 128 * r.below(8));
      const auto shared = load(m, {cx, cy}, tile, global);
      for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 32; ++x)
          for (int half = 0; half < 2; ++half) {
            const std::int64_t gx = cx + x, gy = cy + y;
            const bool in = gx >= 0 && gx < 27 && gy >= 0 && gy < 40;
            const std::uint8_t expected = in ? global[static_cast<std::size_t>(gy * 64 + gx * 2 + half)] : 0;
            const auto linear = tile + static_cast<std::uint32_t>(64 * y + 2 * x + half);
            ASSERT_EQ(shared[swizzled(s, linear)], expected);
          }
      for (std::uint32_t a = 0; a < shared.size(); ++a)
        if (a < tile || a >= tile + 512) {
          ASSERT_EQ(shared[a], 0xee) << a;
        }
      ASSERT_EQ(box_bytes(m), 512U);
    }
}

TEST(TensorMaps, FiveDimensionsWithStepsAgainstIndexArithmetic) {
  testing::Random r{92};
  for (int turn = 0; turn < 60; ++turn) {
    TensorMap m;
    m.type = TensorType::f32;
    m.rank = static_cast<int>(1 + r.below(5));
    std::uint64_t stride = 4;
    for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d) {
      m.dims[d] = 1 + r.below(6);
      m.strides[d] = d == 0 ? 0 : stride;
      m.box[d] = d == 0 ? 4 : static_cast<std::uint32_t>(1 + r.below(5));
      m.steps[d] = static_cast<std::uint32_t>(1 + r.below(3));
      stride = (stride * (m.dims[d] + r.below(2)) + 15) / 16 * 16;
    }
    ASSERT_EQ(broken_rule(m), "");
    std::array<std::int64_t, 5> c{};
    for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d) c[d] = static_cast<std::int64_t>(r.below(9)) - 3;
    // The linear number of a unit, taken apart again.
    std::array<std::int64_t, 5> n{};
    std::int64_t total = 1;
    for (std::size_t d = 0; d < 5; ++d) {
      n[d] = d == 0 ? m.box[0] : (m.box[d] + m.steps[d] - 1) / m.steps[d];
      total *= n[d];
    }
    std::int64_t number = 0;
    for_each_unit(m, c, 256, [&](const TensorUnit& u) {
      std::int64_t rest = number;
      std::int64_t address = 0;
      bool inside = true;
      for (std::size_t d = 0; d < 5; ++d) {
        const std::int64_t x = c[d] + rest % n[d] * (d == 0 ? 1 : m.steps[d]);
        rest /= n[d];
        inside = inside && x >= 0 && static_cast<std::uint64_t>(x) < m.dims[d];
        address += x * (d == 0 ? 4 : static_cast<std::int64_t>(m.strides[d]));
      }
      ASSERT_EQ(u.inside, inside);
      if (inside) {
        ASSERT_EQ(u.global, static_cast<std::uint64_t>(address));
      }
      ASSERT_EQ(u.shared, 256 + 4 * static_cast<std::uint32_t>(number));
      ++number;
    });
    ASSERT_EQ(number, total);
    ASSERT_EQ(box_bytes(m), 4 * total);
  }
}

TEST(TensorMaps, PackedTypesHaveGaps) {
  TensorMap m;
  m.rank = 2;
  m.dims = {256, 4, 1, 1, 1};
  m.box = {128, 2, 1, 1, 1};
  struct Bytes {
    TensorType type;
    int in_global, in_shared;
  };
  for (const Bytes& bytes :
       {Bytes{TensorType::u4_align8, 8, 8}, {TensorType::u4_align16, 8, 16}, {TensorType::u6_align16, 12, 16}}) {
    const int in_global = bytes.in_global, in_shared = bytes.in_shared;
    m.type = bytes.type;
    m.strides = {0, static_cast<std::uint64_t>(16 * in_global)};
    ASSERT_EQ(broken_rule(m), "");
    int number = 0;
    for_each_unit(m, {128, 1}, 512, [&](const TensorUnit& u) {
      ASSERT_EQ(u.shared, static_cast<std::uint32_t>(512 + number * in_shared));
      ASSERT_EQ(u.global, static_cast<std::uint64_t>((1 + number / 8) * 16 * in_global + (8 + number % 8) * in_global));
      ASSERT_TRUE(u.inside);
      ++number;
    });
    ASSERT_EQ(number, 16);
    ASSERT_EQ(box_bytes(m), static_cast<std::uint32_t>(16 * in_shared));
  }
}

TEST(TensorMaps, EveryRule) {
  TensorMap good;
  good.rank = 3;
  good.dims = {64, 32, 8, 1, 1};
  good.strides = {0, 128, 4096};
  good.box = {64, 8, 2, 1, 1};
  good.swizzle = Swizzle::b128;
  ASSERT_EQ(broken_rule(good), "");
  const auto breaks = [&](const char* words, auto edit) {
    TensorMap m = good;
    edit(m);
    EXPECT_NE(broken_rule(m).find(words), std::string::npos) << words << ": " << broken_rule(m);
  };
  const auto keeps = [&](auto edit) {
    TensorMap m = good;
    edit(m);
    EXPECT_EQ(broken_rule(m), "");
  };
  breaks("rank", [](TensorMap& m) { m.rank = 0; });
  breaks("rank", [](TensorMap& m) { m.rank = 6; });
  breaks("base", [](TensorMap& m) { m.base = 8; });
  keeps([](TensorMap& m) { m.base = 16; });
  breaks("2^32", [](TensorMap& m) { m.dims[1] = 0; });
  breaks("2^32", [](TensorMap& m) { m.dims[1] = (std::uint64_t{1} << 32) + 1; });
  keeps([](TensorMap& m) { m.dims[1] = std::uint64_t{1} << 32; });
  breaks("box of dimension 1", [](TensorMap& m) { m.box[1] = 257; });
  breaks("box of dimension 2", [](TensorMap& m) { m.box[2] = 0; });
  keeps([](TensorMap& m) { m.box[1] = 256; });
  breaks("element stride", [](TensorMap& m) { m.steps[1] = 9; });
  breaks("element stride", [](TensorMap& m) { m.steps[1] = 0; });
  keeps([](TensorMap& m) { m.steps[1] = 8; });
  breaks("stride of dimension 1", [](TensorMap& m) { m.strides[1] = 100 * 2; });  // K = 100 in f16
  breaks("2^40", [](TensorMap& m) { m.strides[2] = std::uint64_t{1} << 40; });
  keeps([](TensorMap& m) { m.strides[2] = (std::uint64_t{1} << 40) - 16; });
  breaks("no multiple of 16", [](TensorMap& m) { m.box[0] = 60; });
  breaks("more than the swizzle", [](TensorMap& m) { m.box[0] = 128; });
  keeps([](TensorMap& m) { m.box[0] = 128, m.swizzle = Swizzle::none; });
  breaks("more than the swizzle", [](TensorMap& m) { m.swizzle = Swizzle::b64; });
  breaks("NaN", [](TensorMap& m) { m.nan_fill = true, m.type = TensorType::u16; });
  keeps([](TensorMap& m) { m.nan_fill = true; });
  const auto packed = [](TensorMap& m) { m.type = TensorType::u4_align16, m.dims[0] = 256, m.box[0] = 128; };
  keeps(packed);
  breaks("base", [&](TensorMap& m) { packed(m), m.base = 16; });
  breaks("stride of dimension 2", [&](TensorMap& m) { packed(m), m.strides[2] = 4096 + 16; });
  breaks("padded", [&](TensorMap& m) { packed(m), m.dims[0] = 192; });
  breaks("padded", [&](TensorMap& m) { packed(m), m.box[0] = 64; });
  breaks("16 elements", [&](TensorMap& m) { packed(m), m.dims[0] = 250; });
  breaks("padded type", [&](TensorMap& m) { packed(m), m.swizzle = Swizzle::b64; });
  breaks("padded type", [&](TensorMap& m) { packed(m), m.swizzle = Swizzle::b128_atom64; });
  keeps([&](TensorMap& m) { packed(m), m.type = TensorType::u6_align16, m.swizzle = Swizzle::b128_atom64; });
  TensorMap m = good;
  EXPECT_EQ(fill_code(m), 0U);
  m.nan_fill = true;
  EXPECT_EQ(fill_code(m), 0x7fffU);
  m.type = TensorType::f32;
  EXPECT_EQ(fill_code(m), 0x7fffffffU);
  m.type = TensorType::f64;
  EXPECT_EQ(fill_code(m), 0x7fffffffffffffffU);
}

}  // namespace
}  // namespace assay::ptx

// Bit instructions against references that go bit by bit.
#include <gtest/gtest.h>

#include <vector>

#include "reference/ptx/integer.hpp"
#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

using Bits = std::vector<bool>;  // from the least significant one

template <class T>
Bits split(T x) {
  Bits b;
  for (std::size_t i = 0; i < 8 * sizeof(T); ++i) b.push_back((static_cast<std::uint64_t>(x) >> i & 1) != 0);
  return b;
}
template <class T>
T join(const Bits& b) {
  std::uint64_t x = 0;
  for (std::size_t i = 0; i < b.size(); ++i) x |= std::uint64_t{b[i]} << i;
  return static_cast<T>(x);
}

template <class T>
class BitFields : public ::testing::Test {};
using Types = ::testing::Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(BitFields, Types);

TYPED_TEST(BitFields, CountFindReverse) {
  using T = TypeParam;
  const int n = static_cast<int>(8 * sizeof(T));
  for (T a : testing::integers<T>()) {
    const Bits b = split(a);
    std::uint32_t ones = 0, zeros = 0;
    for (bool bit : b) ones += bit ? 1 : 0;
    for (int i = n - 1; i >= 0 && !b[static_cast<std::size_t>(i)]; --i) ++zeros;
    EXPECT_EQ(popc(a), ones);
    EXPECT_EQ(clz(a), zeros);
    const bool none_bit = std::is_signed_v<T> && a < 0;  // the first bit that differs from the sign
    std::uint32_t found = 0xffffffff;
    for (int i = 0; i < n; ++i)
      if (b[static_cast<std::size_t>(i)] != none_bit) found = static_cast<std::uint32_t>(i);
    EXPECT_EQ(bfind(a), found) << +a;
    EXPECT_EQ(bfind(a, true), found == 0xffffffff ? found : static_cast<std::uint32_t>(n - 1) - found);
    EXPECT_EQ(brev(a), join<T>(Bits(b.rbegin(), b.rend())));
  }
}

TYPED_TEST(BitFields, ExtractInsert) {
  using T = TypeParam;
  const int n = static_cast<int>(8 * sizeof(T)), msb = n - 1;
  testing::Random random{5};
  for (int turn = 0; turn < 12; ++turn) {
    const T a = static_cast<T>(random()), other = static_cast<T>(random());
    const Bits b = split(a);
    for (int pos = 0; pos < 256; pos += pos < 70 ? 1 : 31)
      for (int len = 0; len < 256; len += len < 70 ? 1 : 31) {
        Bits d(static_cast<std::size_t>(n)), f = split(other);
        const bool sign = std::is_signed_v<T> && len != 0 && b[static_cast<std::size_t>(std::min(pos + len - 1, msb))];
        for (int i = 0; i < n; ++i)
          d[static_cast<std::size_t>(i)] = i < len && pos + i <= msb ? b[static_cast<std::size_t>(pos + i)] : sign;
        for (int i = 0; i < len && pos + i < n; ++i)
          f[static_cast<std::size_t>(pos + i)] = b[static_cast<std::size_t>(i)];
        const auto p = static_cast<std::uint32_t>(pos) | 0x5500, l = static_cast<std::uint32_t>(len) | 0xab00;
        ASSERT_EQ(bfe(a, p, l), join<T>(d)) << pos << ' ' << len;
        ASSERT_EQ(bfi(a, other, p, l), join<T>(f)) << pos << ' ' << len;
      }
  }
}

TEST(BitMasks, BmskSzextOfEveryAmount) {
  for (std::uint32_t a = 0; a < 70; ++a)
    for (std::uint32_t b = 0; b < 70; ++b)
      for (bool wrap : {false, true}) {
        const std::uint32_t from = wrap ? a % 32 : a, count = wrap ? b % 32 : b;
        Bits d(32);
        for (std::uint32_t i = 0; i < 32; ++i) d[i] = i >= from && i < from + count;
        EXPECT_EQ(bmsk(a, b, wrap), join<std::uint32_t>(d)) << a << ' ' << b << ' ' << wrap;
      }
  EXPECT_EQ(bmsk(0xffffffff, 1, false), 0U);
  EXPECT_EQ(bmsk(1, 0xffffffff, false), 0xfffffffeU);
  for (std::uint32_t x : testing::integers<std::uint32_t>())
    for (std::uint32_t b = 0; b < 70; ++b)
      for (bool wrap : {false, true}) {
        const std::uint32_t count = wrap ? b % 32 : std::min(b, 32U);
        Bits u = split(x), s = u;
        for (std::uint32_t i = count; i < 32; ++i) u[i] = false, s[i] = count > 0 && s[count - 1];
        EXPECT_EQ(szext(x, b, wrap), join<std::uint32_t>(u));
        EXPECT_EQ(szext(static_cast<std::int32_t>(x), b, wrap), join<std::int32_t>(s));
      }
}

TEST(BitSelect, FindNthSet) {
  testing::Random random{6};
  for (int turn = 0; turn < 300; ++turn) {
    const auto mask = static_cast<std::uint32_t>(turn == 0 ? 0 : turn == 1 ? 0xffffffff : random() & random());
    for (int base = 0; base < 32; ++base) {
      std::vector<std::uint32_t> up, down;  // set bits from base on
      for (int i = base; i < 32; ++i)
        if (split(mask)[static_cast<std::size_t>(i)]) up.push_back(static_cast<std::uint32_t>(i));
      for (int i = base; i >= 0; --i)
        if (split(mask)[static_cast<std::size_t>(i)]) down.push_back(static_cast<std::uint32_t>(i));
      for (int offset = -33; offset <= 33; ++offset) {
        std::uint32_t expected = 0xffffffff;
        const auto& list = offset > 0 ? up : down;
        const auto n = static_cast<std::size_t>(offset < 0 ? -offset : offset);
        if (n != 0 && n <= list.size()) expected = list[n - 1];
        if (n == 0 && split(mask)[static_cast<std::size_t>(base)]) expected = static_cast<std::uint32_t>(base);
        ASSERT_EQ(fns(mask, static_cast<std::uint32_t>(base), offset), expected)
            << std::hex << mask << ' ' << base << ' ' << offset;
      }
    }
  }
  EXPECT_EQ(fns(0xffffffff, 0, INT32_MIN), 0xffffffffU);
}

TEST(BitLogic, EveryTableOfLop3AndCnot) {
  testing::Random random{7};
  for (std::uint32_t table = 0; table < 256; ++table) {
    const auto a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
    const auto c = static_cast<std::uint32_t>(random());
    Bits d(32);
    for (std::size_t i = 0; i < 32; ++i) d[i] = (table >> (4 * split(a)[i] + 2 * split(b)[i] + split(c)[i]) & 1) != 0;
    EXPECT_EQ(lop3(a, b, c, table), join<std::uint32_t>(d));
  }
  EXPECT_EQ(cnot(0U), 1U);
  EXPECT_EQ(cnot(2U), 0U);
  EXPECT_EQ(cnot(std::uint64_t{1} << 40), 0U);
}

TYPED_TEST(BitFields, Shifts) {
  using T = TypeParam;
  const int n = static_cast<int>(8 * sizeof(T));
  for (T a : testing::integers<T>())
    for (std::uint32_t by :
         {0U, 1U, 5U, 15U, 16U, 31U, 32U, 33U, 63U, 64U, 65U, 255U, 256U, 0x80000000U, 0xffffffffU}) {
      const Bits b = split(a);
      Bits l(static_cast<std::size_t>(n)), r(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        const std::int64_t from_right = std::int64_t{i} + by, from_left = std::int64_t{i} - by;
        l[static_cast<std::size_t>(i)] = from_left >= 0 && b[static_cast<std::size_t>(from_left)];
        r[static_cast<std::size_t>(i)] =
            from_right < n ? b[static_cast<std::size_t>(from_right)] : std::is_signed_v<T> && b.back();
      }
      EXPECT_EQ(shl(a, by), join<T>(l)) << by;
      EXPECT_EQ(shr(a, by), join<T>(r)) << by;
    }
}

TEST(BitShifts, ShiftsOf16Bits) {
  EXPECT_EQ(shl(std::uint16_t{0xffff}, 8), 0xff00);
  EXPECT_EQ(shl(std::uint16_t{0xffff}, 16), 0);
  EXPECT_EQ(shr(std::int16_t{-2}, 40), -1);
  EXPECT_EQ(shr(std::uint16_t{0x8000}, 15), 1);
}

TEST(BitShifts, Funnel) {
  for (std::uint32_t a : testing::integers<std::uint32_t>())
    for (std::uint32_t b : {0U, 0xffffffffU, 0x12345678U})
      for (std::uint32_t c = 0; c < 70; ++c)
        for (bool wrap : {false, true}) {
          const std::uint32_t n = wrap ? c % 32 : std::min(c, 32U);
          Bits both = split(a), high = split(b), l(32), r(32);
          both.insert(both.end(), high.begin(), high.end());
          for (std::size_t i = 0; i < 32; ++i) l[i] = both[i + 32 - n], r[i] = both[i + n];
          ASSERT_EQ(shf_l(a, b, c, wrap), join<std::uint32_t>(l)) << c << wrap;
          ASSERT_EQ(shf_r(a, b, c, wrap), join<std::uint32_t>(r)) << c << wrap;
        }
}

TEST(BitPermute, EverySelectorAndMode) {
  const std::uint32_t a = 0x83028100, b = 0x07868504;  // byte i is i, the odd and even ones with a sign by turns
  const auto byte = [&](std::uint32_t i) { return (i < 4 ? a >> (8 * i) : b >> (8 * (i - 4))) & 255; };
  for (std::uint32_t c = 0; c < 0x10000; ++c) {
    std::uint32_t d = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t nibble = c >> (4 * i) & 15, x = byte(nibble % 8);
      d |= (nibble < 8 ? x : x > 127 ? 255U : 0U) << (8 * i);
    }
    ASSERT_EQ(prmt(a, b, c | 0xabcd0000), d) << std::hex << c;
  }
  // The table of the modes, result bytes 3 2 1 0, for c[1:0] = 0 .. 3.
  const std::uint32_t table[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                     {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                     {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  for (int mode = 0; mode < 6; ++mode)
    for (std::uint32_t n = 0; n < 4; ++n)
      EXPECT_EQ(prmt(a, b, n | 0xfffffffc, static_cast<Permute>(mode)), prmt(a, b, table[mode][n])) << mode << ' ' << n;
}

}  // namespace
}  // namespace assay::ptx

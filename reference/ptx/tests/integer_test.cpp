// Integer instructions against arithmetic of 128 bits, reduced by hand to the width of the type.
#include "reference/ptx/integer.hpp"

#include <gtest/gtest.h>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

/// The value of the low N bits of x as a T.
template <class T>
T wrapped(Int128 x) {
  const int n = static_cast<int>(8 * sizeof(T));
  const Int128 modulus = Int128{1} << n;
  Int128 r = x % modulus;
  if (r < 0) r += modulus;
  if (std::is_signed_v<T> && r >= modulus / 2) r -= modulus;
  return static_cast<T>(r);
}
Int128 floor_shift(Int128 x, int n) {
  const Int128 d = Int128{1} << n;
  return x / d - (x % d < 0 ? 1 : 0);
}

template <class T>
class Integers : public ::testing::Test {};
using Types = ::testing::Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(Integers, Types);

TYPED_TEST(Integers, ArithmeticWraps) {
  using T = TypeParam;
  const auto values = testing::integers<T>();
  for (T a : values) {
    EXPECT_EQ(neg(a), wrapped<T>(-Int128{a}));
    EXPECT_EQ(ptx::abs(a), wrapped<T>(a < 0 ? -Int128{a} : Int128{a}));
    for (T b : values) {
      EXPECT_EQ(add(a, b), wrapped<T>(Int128{a} + b));
      EXPECT_EQ(sub(a, b), wrapped<T>(Int128{a} - b));
      EXPECT_EQ(min(a, b), Int128{a} < b ? a : b);
      EXPECT_EQ(max(a, b), Int128{a} < b ? b : a);
      const Int128 apart = Int128{a} - b;
      EXPECT_EQ(sad(a, b, T{77}), wrapped<T>((apart < 0 ? -apart : apart) + 77));
      if (b == 0) {
        EXPECT_EQ(static_cast<std::make_unsigned_t<T>>(div(a, b)), std::numeric_limits<std::make_unsigned_t<T>>::max());
        EXPECT_EQ(rem(a, b), a);
      } else {
        EXPECT_EQ(div(a, b), wrapped<T>(Int128{a} / b));
        EXPECT_EQ(rem(a, b), wrapped<T>(Int128{a} % b));
      }
    }
  }
}

TYPED_TEST(Integers, Products) {
  using T = TypeParam;
  const int n = static_cast<int>(8 * sizeof(T));
  const auto values = testing::integers<T>();
  for (T a : values)
    for (T b : values) {
      if constexpr (sizeof(T) < 8) {
        const Int128 p = Int128{a} * b;
        EXPECT_EQ(Int128{mul_wide(a, b)}, p);
        EXPECT_EQ(mul_lo(a, b), wrapped<T>(p));
        EXPECT_EQ(mul_hi(a, b), wrapped<T>(floor_shift(p, n)));
        EXPECT_EQ(mad_lo(a, b, T{5}), wrapped<T>(p + 5));
        EXPECT_EQ(mad_hi(a, b, T{5}), wrapped<T>(floor_shift(p, n) + 5));
        EXPECT_EQ(mad_wide(a, b, static_cast<decltype(mul_wide(a, b))>(9)), wrapped<decltype(mul_wide(a, b))>(p + 9));
      } else {
        // Schoolbook with digits of 32 bits; a signed high word is the unsigned one less b if a < 0, less a if b < 0.
        using U = std::uint64_t;
        const U x = static_cast<U>(a), y = static_cast<U>(b), low = 0xffffffff;
        const U ll = (x & low) * (y & low), lh = (x & low) * (y >> 32), hl = (x >> 32) * (y & low),
                hh = (x >> 32) * (y >> 32);
        const U middle = (ll >> 32) + (lh & low) + (hl & low);
        U high = hh + (lh >> 32) + (hl >> 32) + (middle >> 32);
        if (a < 0) high -= y;
        if (b < 0) high -= x;
        EXPECT_EQ(static_cast<U>(mul_hi(a, b)), high);
        EXPECT_EQ(static_cast<U>(mul_lo(a, b)), (middle << 32) | (ll & low));
        EXPECT_EQ(static_cast<U>(mad_hi(a, b, T{5})), high + 5);
      }
    }
}

TEST(Integers24, ProductsOf24Bits) {
  const auto low = [](std::int64_t x, bool is_signed) {
    x &= 0xffffff;
    return is_signed && x >= 0x800000 ? x - 0x1000000 : x;
  };
  for (std::uint32_t a : testing::integers<std::uint32_t>())
    for (std::uint32_t b : testing::integers<std::uint32_t>()) {
      const Int128 u = Int128{low(a, false)} * low(b, false), s = Int128{low(a, true)} * low(b, true);
      const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
      EXPECT_EQ(mul24_lo(a, b), wrapped<std::uint32_t>(u));
      EXPECT_EQ(mul24_hi(a, b), wrapped<std::uint32_t>(floor_shift(u, 16)));
      EXPECT_EQ(mul24_lo(sa, sb), wrapped<std::int32_t>(s));
      EXPECT_EQ(mul24_hi(sa, sb), wrapped<std::int32_t>(floor_shift(s, 16)));
    }
}

TEST(IntegersSaturating, StayInTheType) {
  const auto clamp = [](Int128 x) {
    return static_cast<std::int32_t>(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
  };
  for (std::int32_t a : testing::integers<std::int32_t>())
    for (std::int32_t b : testing::integers<std::int32_t>()) {
      EXPECT_EQ(add_sat(a, b), clamp(Int128{a} + b));
      EXPECT_EQ(sub_sat(a, b), clamp(Int128{a} - b));
      for (std::int32_t c : {INT32_MIN, -7, INT32_MAX})
        EXPECT_EQ(mad_hi_sat(a, b, c), clamp(floor_shift(Int128{a} * b, 32) + c));
    }
}

// The carry chain adds numbers of any length: 96 bits here.
TEST(IntegersCarry, ThreeWords) {
  testing::Random random{3};
  for (int i = 0; i < 10000; ++i) {
    Unsigned128 a = 0, b = 0, sum = 0, difference = 0;
    bool carry = false, borrow = false;
    for (int k = 0; k < 3; ++k) {
      // Words at the edges, so that carries run through.
      const std::uint64_t r = random();
      const auto x = static_cast<std::uint32_t>((r & 3) == 0 ? 0xffffffff : (r & 3) == 1 ? 0 : r >> 32);
      const auto y = static_cast<std::uint32_t>((r >> 2 & 3) == 0 ? 0xffffffff : (r >> 2 & 3) == 1 ? 0 : random());
      a |= Unsigned128{x} << (32 * k);
      b |= Unsigned128{y} << (32 * k);
      sum |= Unsigned128{add_carry(x, y, carry)} << (32 * k);
      difference |= Unsigned128{sub_borrow(x, y, borrow)} << (32 * k);
    }
    const Unsigned128 mask = (Unsigned128{1} << 96) - 1;
    ASSERT_TRUE(sum == ((a + b) & mask) && difference == ((a - b) & mask));
    ASSERT_TRUE(carry == ((a + b) >> 96 != 0) && borrow == (a < b));
  }
}

TEST(IntegersDot, FourBytesTwoHalves) {
  testing::Random random{4};
  const auto byte = [](std::uint32_t x, int i, bool is_signed) {
    const int v = static_cast<int>(x >> (8 * i) & 255);
    return is_signed && v > 127 ? v - 256 : v;
  };
  const auto half = [](std::uint32_t x, int i, bool is_signed) {
    const int v = static_cast<int>(x >> (16 * i) & 65535);
    return is_signed && v > 32767 ? v - 65536 : v;
  };
  for (int n = 0; n < 20000; ++n) {
    const auto a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
    const auto c = static_cast<std::uint32_t>(random());
    for (int form = 0; form < 4; ++form) {
      const bool sa = (form & 1) != 0, sb = (form & 2) != 0;
      Int128 four = c, lo = c, hi = c;
      for (int i = 0; i < 4; ++i) four += Int128{byte(a, i, sa)} * byte(b, i, sb);
      for (int i = 0; i < 2; ++i) {
        lo += Int128{half(a, i, sa)} * byte(b, i, sb);
        hi += Int128{half(a, i, sa)} * byte(b, i + 2, sb);
      }
      using U8 = std::uint8_t;
      using S8 = std::int8_t;
      using U16 = std::uint16_t;
      using S16 = std::int16_t;
      ASSERT_EQ(form == 0   ? (dp4a<U8, U8>(a, b, c))
                : form == 1 ? (dp4a<S8, U8>(a, b, c))
                : form == 2 ? (dp4a<U8, S8>(a, b, c))
                            : (dp4a<S8, S8>(a, b, c)),
                wrapped<std::uint32_t>(four));
      for (bool high : {false, true})
        ASSERT_EQ(form == 0   ? (dp2a<U16, U8>(a, b, c, high))
                  : form == 1 ? (dp2a<S16, U8>(a, b, c, high))
                  : form == 2 ? (dp2a<U16, S8>(a, b, c, high))
                              : (dp2a<S16, S8>(a, b, c, high)),
                  wrapped<std::uint32_t>(high ? hi : lo));
    }
  }
}

}  // namespace
}  // namespace assay::ptx

#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

// Integer instructions of PTX on the values of one lane (PTX ISA 9.0, sections 9.7.1, 9.7.2 and 9.7.8). T is the type
// that the instruction names: uint16_t .. uint64_t, int16_t .. int64_t. All arithmetic wraps; nothing here is undefined
// for any operands.
namespace assay::ptx {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
inline constexpr int bits_of = static_cast<int>(8 * sizeof(T));

__extension__ using Int128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;

/// A type of twice the width, for products.
template <class T>
using Wider = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, Int128, Unsigned128>>>;

template <class T>
constexpr T add(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b)));
}
template <class T>
constexpr T sub(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b)));
}
template <class T>
constexpr T neg(T a) {
  return sub(T{0}, a);
}

/// add.sat.s32, sub.sat.s32: the nearest value of the type.
constexpr std::int32_t saturated(std::int64_t x) {
  return static_cast<std::int32_t>(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
constexpr std::int32_t add_sat(std::int32_t a, std::int32_t b) { return saturated(std::int64_t{a} + b); }
constexpr std::int32_t sub_sat(std::int32_t a, std::int32_t b) { return saturated(std::int64_t{a} - b); }

/// The product of 2N bits; of 64-bit operands, of 128.
template <class T>
constexpr Wider<T> mul_wide(T a, T b) {
  return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}
template <class T>
constexpr T mul_lo(T a, T b) {
  return static_cast<T>(mul_wide(a, b));
}
template <class T>
constexpr T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> bits_of<T>);
}

template <class T>
constexpr Wider<T> mad_wide(T a, T b, Wider<T> c) {
  return add(mul_wide(a, b), c);
}
template <class T>
constexpr T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <class T>
constexpr T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
/// mad.hi.sat.s32
constexpr std::int32_t mad_hi_sat(std::int32_t a, std::int32_t b, std::int32_t c) { return add_sat(mul_hi(a, b), c); }

/// add.cc, addc, sub.cc, subc: a + b + carry, a - b - borrow; the flag becomes what leaves the top.
template <class U>
constexpr U add_carry(U a, U b, bool& carry) {
  const U s = add(a, b), d = add(s, static_cast<U>(carry ? 1 : 0));
  carry = s < a || d < s;
  return d;
}
template <class U>
constexpr U sub_borrow(U a, U b, bool& borrow) {
  const U s = sub(a, b), d = sub(s, static_cast<U>(borrow ? 1 : 0));
  borrow = a < b || s < d;
  return d;
}

/// mul24, mad24: of the low 24 bits, sign-extended for .s32. `.lo` gives bits 31..0 of the product, `.hi` bits 47..16.
template <class T>
constexpr std::int64_t low24(T a) {
  const std::int64_t x = static_cast<std::int64_t>(a) & 0xffffff;
  return std::is_signed_v<T> && (x & 0x800000) != 0 ? x - 0x1000000 : x;
}
template <class T>
constexpr T mul24_lo(T a, T b) {
  return static_cast<T>(low24(a) * low24(b));
}
template <class T>
constexpr T mul24_hi(T a, T b) {
  return static_cast<T>((low24(a) * low24(b)) >> 16);
}

/// |a - b| + c
template <class T>
constexpr T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}

/// By 0 the result is unspecified: all ones here, and the remainder is a. The most negative value by -1 wraps.
template <class T>
constexpr T div(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return neg(a);
  return static_cast<T>(a / b);
}
template <class T>
constexpr T rem(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

template <class T>
constexpr T abs(T a) {
  return a < 0 ? neg(a) : a;
}
template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

template <class T>
constexpr std::uint32_t popc(T a) {
  return static_cast<std::uint32_t>(std::popcount(static_cast<Unsigned<T>>(a)));
}
template <class T>
constexpr std::uint32_t clz(T a) {
  return static_cast<std::uint32_t>(std::countl_zero(static_cast<Unsigned<T>>(a)));
}

/// The most significant bit that is no sign; none: 0xffffffff. `shiftamt`: by how much a is shifted left to put it
/// first.
template <class T>
constexpr std::uint32_t bfind(T a, bool shiftamt = false) {
  const auto x = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < 0 ? static_cast<T>(~a) : a);
  if (x == 0) return 0xffffffffu;
  const auto at = static_cast<std::uint32_t>(bits_of<T> - 1) - clz(x);
  return shiftamt ? static_cast<std::uint32_t>(bits_of<T> - 1) - at : at;
}

template <class T>
constexpr T brev(T a) {
  Unsigned<T> d = 0;
  for (int i = 0; i < bits_of<T>; ++i) d = static_cast<Unsigned<T>>(d << 1 | (static_cast<Unsigned<T>>(a) >> i & 1u));
  return static_cast<T>(d);
}

/// n ones from bit 0 on; all of them for n beyond the width.
template <class U>
constexpr U low_ones(std::uint32_t n) {
  return n >= static_cast<std::uint32_t>(bits_of<U>) ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << n) - 1u);
}

/// Bits pos .. pos+len-1 of a, pos and len the low 8 bits of b and c; above them zeros (.u) or the last bit of the
/// field that a has (.s), and zero for an empty field.
template <class T>
constexpr T bfe(T a, std::uint32_t b, std::uint32_t c) {
  using U = Unsigned<T>;
  const std::uint32_t pos = b & 0xff, len = c & 0xff, msb = static_cast<std::uint32_t>(bits_of<T> - 1);
  const U ones = low_ones<U>(len), x = static_cast<U>(a);
  const U field = pos > msb ? U{0} : static_cast<U>(x >> pos & ones);
  const bool negative = std::is_signed_v<T> && len != 0 && (x >> min(pos + len - 1, msb) & 1u) != 0;
  if (!negative) return static_cast<T>(field);
  const std::uint32_t got = pos > msb ? 0 : min(len, msb + 1 - pos);  // bits of the field that lie in a
  return static_cast<T>(field | static_cast<U>(~low_ones<U>(got)));
}

/// b with the low len bits of a in place of bits pos .. pos+len-1; what lies beyond the width is dropped.
template <class T>
constexpr T bfi(T a, T b, std::uint32_t c, std::uint32_t d) {
  using U = Unsigned<T>;
  const std::uint32_t pos = c & 0xff, len = d & 0xff;
  if (pos >= static_cast<std::uint32_t>(bits_of<T>)) return b;
  const U mask = static_cast<U>(low_ones<U>(len) << pos);
  return static_cast<T>((static_cast<U>(b) & static_cast<U>(~mask)) |
                        (static_cast<U>(static_cast<U>(a) << pos) & mask));
}

/// len ones from bit pos on. .clamp: amounts above 32 count as 32; .wrap: modulo 32.
constexpr std::uint32_t bmsk(std::uint32_t a, std::uint32_t b, bool wrap) {
  const std::uint32_t pos = wrap ? a & 31 : min(a, 32u), len = wrap ? b & 31 : min(b, 32u);
  const std::uint64_t ones = ((std::uint64_t{1} << len) - 1) << pos;
  return static_cast<std::uint32_t>(ones);
}

/// The low b bits of a, sign-extended (.s32) or zero-extended (.u32).
template <class T>
constexpr T szext(T a, std::uint32_t b, bool wrap) {
  const std::uint32_t n = wrap ? b & 31 : min(b, 32u);
  if (n == 0) return 0;
  if (n == 32) return a;
  const auto field = static_cast<std::uint32_t>(a) & ((1u << n) - 1);
  const bool negative = std::is_signed_v<T> && (field >> (n - 1) & 1) != 0;
  return static_cast<T>(negative ? field | ~((1u << n) - 1) : field);
}

/// The |offset|-th set bit of mask at or above base (offset > 0), at or below it (< 0); 0: base itself. None:
/// 0xffffffff.
constexpr std::uint32_t fns(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
  if (base > 31) return 0xffffffffu;
  if (offset == 0) return (mask >> base & 1) != 0 ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  std::int64_t left = offset > 0 ? offset : -std::int64_t{offset};
  for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step)
    if ((mask >> i & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(i);
  return 0xffffffffu;
}

/// cnot: the logical one, 1 of 0 and 0 of all else.
template <class T>
constexpr T cnot(T a) {
  return a == 0 ? T{1} : T{0};
}

/// Bit by bit, bit 4a + 2b + c of the table.
constexpr std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t d = 0;
  for (std::uint32_t row = 0; row < 8; ++row)
    if ((table >> row & 1) != 0) d |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  return d;
}

/// Shifts by more than the width shift by the width.
template <class T>
constexpr T shl(T a, std::uint32_t b) {
  return b >= static_cast<std::uint32_t>(bits_of<T>) ? T{0} : static_cast<T>(static_cast<Unsigned<T>>(a) << b);
}
template <class T>
constexpr T shr(T a, std::uint32_t b) {
  const auto width = static_cast<std::uint32_t>(bits_of<T>);
  if (b >= width) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> b);
}

/// shf.l: the high word of {b, a} << n. shf.r: the low word of {b, a} >> n. n = c modulo 32 (.wrap), or at most 32
/// (.clamp).
constexpr std::uint32_t shf_l(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool wrap) {
  const std::uint32_t n = wrap ? c & 31 : min(c, 32u);
  return n == 32 ? a : static_cast<std::uint32_t>(((std::uint64_t{b} << 32 | a) << n) >> 32);
}
constexpr std::uint32_t shf_r(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool wrap) {
  const std::uint32_t n = wrap ? c & 31 : min(c, 32u);
  return static_cast<std::uint32_t>((std::uint64_t{b} << 32 | a) >> n);
}

/// prmt: byte i of the result is byte c[4i+2 : 4i] of {b, a}; with c[4i+3] its sign bit in all eight places.
constexpr std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t d = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t select = c >> (4 * i) & 15;
    std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (select & 7))) & 0xff;
    if ((select & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    d |= byte << (8 * i);
  }
  return d;
}
/// Its modes choose the bytes by n = c[1:0].
enum class Permute : std::uint8_t { f4e, b4e, rc8, ecl, ecr, rc16 };
constexpr std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t c, Permute mode) {
  const std::uint32_t n = c & 3;
  std::uint32_t selection = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t byte = mode == Permute::f4e   ? n + i
                               : mode == Permute::b4e ? (n - i) & 7
                               : mode == Permute::rc8 ? n
                               : mode == Permute::ecl ? max(i, n)
                               : mode == Permute::ecr ? min(i, n)
                                                      : 2 * (n & 1) + (i & 1);
    selection |= byte << (4 * i);
  }
  return prmt(a, b, selection);
}

/// c + sum of four products of bytes, modulo 2^32. A and B: the types of the bytes.
template <class A, class B>
constexpr std::uint32_t dp4a(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A>(a >> (8 * i))) *
                                    static_cast<std::int32_t>(static_cast<B>(b >> (8 * i))));
  return c;
}
/// c + the two halves of a times bytes 0, 1 (.lo) or 2, 3 (.hi) of b. A: int16_t or uint16_t; B: the type of the bytes.
template <class A, class B>
constexpr std::uint32_t dp2a(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool high) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A>(a >> (16 * i))) *
                                    static_cast<std::int32_t>(static_cast<B>(b >> (8 * (i + (high ? 2 : 0))))));
  return c;
}

}  // namespace assay::ptx

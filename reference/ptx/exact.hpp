#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

// Sums without rounding. Every floating-point result of reference/ptx is the exact one, rounded once; this is where the
// exact one comes from.
namespace assay::ptx {

__extension__ using Wide = unsigned __int128;

/// s + error in `double` with the last bit odd where error is not 0: what rounds from there to a format of at most 51
/// bits is rounded once. |error| is at most half an ulp of s.
inline double to_odd(double s, double error) {
  const auto b = std::bit_cast<std::uint64_t>(s);
  if (error == 0 || error != error || (b & 1) != 0 || std::isinf(s)) return s;
  // Away from zero by one ulp if the error points there, else towards it: the odd neighbour.
  return std::bit_cast<double>((error > 0) == (s > 0) ? b + 1 : b - 1);
}
/// a + b, to odd: the error of the sum is a double (Knuth's two-sum).
inline double add_odd(double a, double b) {
  const double s = a + b, part = s - a;
  return to_odd(s, (a - (s - part)) + (b - part));
}
/// a * b + c, to odd, of factors of at most 26 bits, whose product is exact.
inline double fma_odd(double a, double b, double c) { return add_odd(a * b, c); }

/// A sum of products of finite doubles, kept as a fixed-point number in two's complement: bit 0 is 2^Low. Nothing is
/// ever lost, for terms that are multiples of 2^Low below 2^(64 Words + Low - 20) in number times size.
template <int Words, int Low>
class FixedPoint {
 public:
  void add(double x) { add_product(x, 1); }
  void add_product(double a, double b) {
    const Part x = split(a), y = split(b);
    const Wide p = Wide{x.significand} * y.significand;
    if (p != 0) add_shifted(p, x.exponent + y.exponent - Low, x.negative != y.negative);
  }
  /// -1, 0, 1
  int sign() const {
    if (negative()) return -1;
    for (std::uint64_t w : word_)
      if (w != 0) return 1;
    return 0;
  }
  /// To odd in double; the sum is neither subnormal there nor beyond its range. 0 is +0.
  double to_odd() const {
    std::array<std::uint64_t, Words> m = word_;
    if (negative()) {  // the magnitude: ~x + 1
      bool carry = true;
      for (std::uint64_t& w : m) w = ~w + (carry ? 1 : 0), carry = carry && w == 0;
    }
    int top = Words - 1;
    while (top >= 0 && m[index(top)] == 0) --top;
    if (top < 0) return 0;
    const int zeros = std::countl_zero(m[index(top)]);
    // The 64 bits from the first one on, then all that is below.
    std::uint64_t head = m[index(top)] << zeros;
    bool rest = false;
    if (top > 0) {
      if (zeros > 0) head |= m[index(top - 1)] >> (64 - zeros);
      rest = (m[index(top - 1)] << zeros) != 0;
      for (int i = 0; i < top - 1; ++i) rest = rest || m[index(i)] != 0;
    }
    rest = rest || (head & 0x7ff) != 0;
    const std::uint64_t significand = head >> 11 | (rest ? 1 : 0);
    const int exponent = 64 * top + 63 - zeros + Low;  // of the first bit
    const std::uint64_t code = (significand & ~(std::uint64_t{1} << 52)) | static_cast<std::uint64_t>(exponent + 1023)
                                                                               << 52;
    return std::bit_cast<double>(negative() ? code | std::uint64_t{1} << 63 : code);
  }

 private:
  struct Part {
    std::uint64_t significand;
    int exponent;  // of its last bit
    bool negative;
  };
  static Part split(double x) {
    const auto b = std::bit_cast<std::uint64_t>(x);
    const int field = static_cast<int>(b >> 52 & 0x7ff);
    const std::uint64_t fraction = b & ((std::uint64_t{1} << 52) - 1);
    const int last = (field == 0 ? 1 : field) - 1075;
    std::uint64_t significand = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    if (significand == 0) return {0, 0, false};
    const int zeros =
        std::countr_zero(significand);  // so that a factor of few bits reaches no further down than it must
    return {significand >> zeros, last + zeros, b >> 63 != 0};
  }
  static constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }
  bool negative() const { return word_[Words - 1] >> 63 != 0; }

  /// Adds or subtracts p 2^shift.
  void add_shifted(Wide p, int shift, bool subtract) {
    const int word = shift / 64, bit = shift % 64;
    const std::uint64_t part[3] = {static_cast<std::uint64_t>(p << bit), static_cast<std::uint64_t>((p << bit) >> 64),
                                   bit == 0 ? 0 : static_cast<std::uint64_t>(p >> (128 - bit))};
    std::uint64_t carry = 0;
    for (int i = word; i < Words && (i - word < 3 || carry != 0); ++i) {
      const std::uint64_t x = i - word < 3 ? part[i - word] : 0, old = word_[index(i)];
      const std::uint64_t s = subtract ? old - x : old + x, d = subtract ? s - carry : s + carry;
      carry = subtract ? (old < x || s < carry ? 1 : 0) : (s < x || d < s ? 1 : 0);
      word_[index(i)] = d;
    }
  }

  std::array<std::uint64_t, Words> word_{};
};

/// For products of any doubles.
using ExactDouble = FixedPoint<68, -2148>;
/// For products of numbers of f32 and all narrower formats.
using ExactFloat = FixedPoint<10, -298>;

}  // namespace assay::ptx

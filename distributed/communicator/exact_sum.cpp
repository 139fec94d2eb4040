#include "distributed/communicator/exact_sum.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace assay {
namespace {

/// Digits of 32 bits from 2^-1074 up. They are added without carrying, so each may grow to 63 bits.
class Digits {
 public:
  void add(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto field = static_cast<std::size_t>(bits >> 52 & 0x7FF);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t m = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    const std::size_t from = field == 0 ? 0 : field - 1, k = from / 32;  // x = +-m 2^(from - 1074)
    const std::int64_t sign = bits >> 63 != 0 ? -1 : 1;
    const std::uint64_t low = (m & 0xFFFFFFFF) << from % 32, high = (m >> 32) << from % 32;
    digit_[k] += sign * static_cast<std::int64_t>(low & 0xFFFFFFFF);
    digit_[k + 1] += sign * static_cast<std::int64_t>((low >> 32) + (high & 0xFFFFFFFF));
    digit_[k + 2] += sign * static_cast<std::int64_t>(high >> 32);
  }

  /// Makes the digits those of the magnitude, 0 to 2^32 - 1 each; whether the sum is negative.
  bool settle() {
    const Digits before = *this;
    if (carry() >= 0) return false;
    *this = before;
    for (std::int64_t& d : digit_) d = -d;
    carry();
    return true;
  }
  bool zero() const { return highest() == count; }
  /// The magnitude to nearest even in fp64, or to odd, for a rounding to at most 51 bits that follows.
  double magnitude(bool to_odd) const {
    const std::size_t top = highest();
    const auto digit = [&](std::size_t k) { return static_cast<std::uint64_t>(digit_[k]); };
    // The highest 64 bits, from bit `from`; what is below them makes the lowest one 1.
    const int highest_bit = 32 * static_cast<int>(top) + 63 - std::countl_zero(digit(top));
    const int from = highest_bit > 63 ? highest_bit - 63 : 0;
    const std::size_t first = static_cast<std::size_t>(from) / 32;
    std::uint64_t m = digit(first) >> from % 32;
    for (std::size_t k = first + 1; k <= top; ++k) m |= digit(k) << (32 * static_cast<int>(k) - from);
    bool more = (digit(first) & ((std::uint64_t{1} << from % 32) - 1)) != 0;
    for (std::size_t k = 0; k < first; ++k) more = more || digit(k) != 0;
    if (more) m |= 1;
    if (to_odd && m >> 53 != 0) {
      const int drop = 11 - std::countl_zero(m);
      const std::uint64_t dropped = m & ((std::uint64_t{1} << drop) - 1);
      m = (m >> drop | (dropped != 0 ? 1 : 0)) << drop;
    }
    return std::ldexp(static_cast<double>(m), from - 1074);
  }

 private:
  std::size_t highest() const {
    std::size_t k = count;
    while (k > 0 && digit_[k - 1] == 0) --k;
    return k == 0 ? count : k - 1;
  }
  /// What is carried out of the highest digit: -1 if the sum is negative.
  std::int64_t carry() {
    std::int64_t more = 0;
    for (std::int64_t& d : digit_) {
      const std::int64_t t = d + more;
      d = t & 0xFFFFFFFF;
      more = (t - d) / (std::int64_t{1} << 32);
    }
    return more;
  }
  static constexpr std::size_t count = 68;  // 2^-1074 to 2^1024, and 30 bits for terms
  std::array<std::int64_t, count> digit_{};
};

}  // namespace

double exact_sum(std::span<const double> x, const Format& f) {
  Digits digits;
  double special = 0;
  bool all_negative_zero = true;
  for (const double t : x) {
    all_negative_zero = all_negative_zero && t == 0 && std::signbit(t);
    if (std::isfinite(t))
      digits.add(t);
    else
      special += t;
  }
  if (special != 0) return special;
  const bool negative = digits.settle();
  if (digits.zero()) return all_negative_zero ? -0.0 : 0.0;
  const double y = digits.magnitude(f.bits < 64);
  return round_to(f, negative ? -y : y);
}

}  // namespace assay

#pragma once
#include <cstdint>
#include <type_traits>

// setp, set, slct (PTX ISA 9.0, section 9.7.6) on the values of one lane.
namespace assay::ptx {

/// Of floats the ordered ones (eq .. ge) are false where an operand is NaN, those with a u true; num: neither is NaN;
/// nan: one is. lo ls hi hs compare integers as unsigned, whatever type the instruction names.
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan, lo, ls, hi, hs };

template <class T>
constexpr bool compare(Compare op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const U ua = static_cast<U>(a), ub = static_cast<U>(b);
    if (op == Compare::lo) return ua < ub;
    if (op == Compare::ls) return ua <= ub;
    if (op == Compare::hi) return ua > ub;
    if (op == Compare::hs) return ua >= ub;
  }
  const bool unordered = a != a || b != b;
  switch (op) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return !unordered && a != b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::equ:
      return unordered || a == b;
    case Compare::neu:
      return a != b;
    case Compare::ltu:
      return unordered || a < b;
    case Compare::leu:
      return unordered || a <= b;
    case Compare::gtu:
      return unordered || a > b;
    case Compare::geu:
      return unordered || a >= b;
    case Compare::num:
      return !unordered;
    case Compare::nan:
      return unordered;
    default:  // lo ls hi hs of floats: no such instruction
      return false;
  }
}

/// setp p|q: what the comparison, or its negation for q, becomes with a predicate.
enum class Combine : std::uint8_t { logical_and, logical_or, logical_xor };
constexpr bool combine(Combine op, bool compared, bool c) {
  return op == Combine::logical_and ? compared && c : op == Combine::logical_or ? compared || c : compared != c;
}

/// slct: a if c >= 0, else b. A negative zero is >= 0, NaN is not.
template <class T, class C>
constexpr T slct(T a, T b, C c) {
  return c >= 0 ? a : b;
}

}  // namespace assay::ptx

#pragma once
// The inputs at which rounding can go wrong: every value, every midpoint of neighbours, the doubles next to both, the
// smallest fraction that stochastic rounding sees, and what lies beyond the largest value.
#include <limits>

#include "reference/core/tests/format_oracle.hpp"

namespace oracle {

template <class Visit>
void with_neighbours(double x, Visit&& visit) {
  const double inf = std::numeric_limits<double>::infinity();
  for (double y : {x, std::nextafter(x, -inf), std::nextafter(x, inf)}) {
    visit(y);
    visit(-y);
  }
}

/// Around the magnitude code c and the midpoint with its successor.
template <class Visit>
void around_code(const Row& r, U64 c, Visit&& visit) {
  const Exact low = value(r, c), high = value(r, c + 1), gap = minus(high, low);
  with_neighbours(to_double(low), visit);
  with_neighbours(to_double(half(plus(low, high))), visit);
  if (r.m + r.k < 52) with_neighbours(to_double(plus(low, {gap.m, gap.e - r.k})), visit);
}

template <class Visit>
void special_inputs(const Row& r, Visit&& visit) {
  const double next = to_double(value(r, r.max_code + 1));
  const double inf = std::numeric_limits<double>::infinity();
  for (double x : {0.0, next, 1.5 * next, 2 * next, 1e300, std::numeric_limits<double>::max(), inf, 5e-324, 1e-310,
                   std::numeric_limits<double>::min(), 1e-100}) {
    visit(x);
    visit(-x);
  }
  visit(std::numeric_limits<double>::quiet_NaN());
  visit(-std::numeric_limits<double>::quiet_NaN());
}

/// Every input of a format small enough to enumerate; all exponents with boundary mantissas of a wide one.
template <class Visit>
void all_inputs(const Row& r, Visit&& visit) {
  special_inputs(r, visit);
  if (width(r) <= 16) {
    for (U64 c = 0; c <= r.max_code + (r.two_complement ? 1 : 0); ++c) around_code(r, c, visit);
    return;
  }
  const U64 mantissas = U64{1} << r.m;
  for (U64 top = 0; top << r.m <= r.max_code; ++top) {
    U64 state = top;  // a few arbitrary mantissas besides the boundary ones
    for (int bit = 0; bit <= r.m; ++bit)
      for (int offset : {-2, -1, 0, 1}) {
        const U64 c = (top << r.m) + ((U64{1} << bit) + static_cast<U64>(offset)) % mantissas;
        if (c <= r.max_code) around_code(r, c, visit);
      }
    for (int i = 0; i < 16; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const U64 c = (top << r.m) + (state >> 32) % mantissas;
      if (c <= r.max_code) around_code(r, c, visit);
    }
  }
}

/// The inputs of fmt.fp8.enc_exhaustive as bits of fp32: all fp16, all bf16, and all fp32 whose low 12 bits are at a
/// boundary.
template <class Visit>
void float_inputs(Visit&& visit) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    visit(h << 16);
    visit(std::bit_cast<std::uint32_t>(static_cast<float>(decode(row("fp16"), h))));
  }
  for (std::uint32_t top = 0; top < 1u << 20; ++top)
    for (std::uint32_t low : {0u, 1u, 0x7FFu, 0x800u, 0x801u, 0xFFFu}) visit(top << 12 | low);
}

inline const char* name(Round mode) {
  static const char* names[] = {"RN", "RNA", "RZ", "RU", "RD", "SR"};
  return names[static_cast<int>(mode)];
}

inline const char* name(Overflow policy) {
  static const char* names[] = {"by format", "saturate", "infinity or NaN", "NaN on Inf"};
  return names[static_cast<int>(policy)];
}

inline std::vector<Round> modes(const Row& r) {
  if (is_e8m0(r)) return {Round::toward_zero, Round::up};
  return {Round::nearest_even, Round::nearest_away, Round::toward_zero, Round::up, Round::down};
}

/// The rows that `keep` accepts.
template <class Keep>
std::vector<Row> rows_where(Keep&& keep) {
  std::vector<Row> out;
  for (const Row& r : rows())
    if (keep(r)) out.push_back(r);
  return out;
}

inline const std::vector<Overflow> kPolicies = {Overflow::by_format, Overflow::saturate, Overflow::infinity_or_nan,
                                                Overflow::nan_on_inf};

inline bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace oracle

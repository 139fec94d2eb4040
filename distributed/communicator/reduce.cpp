#include "distributed/communicator/reduce.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "distributed/communicator/exact_sum.hpp"
#include "reference/core/error.hpp"

namespace assay {
namespace {

bool is(const Format& a, const Format& b) { return a.name == b.name; }
bool is_integer(const Format& f) { return is(f, formats::int32) || is(f, formats::int64); }

/// Whether every value of `f` is one of `wide`.
bool holds(const Format& wide, const Format& f) {
  return wide.p() >= f.p() && wide.max_finite() >= f.max_finite() && wide.min_subnormal() <= f.min_subnormal() &&
         wide.has_infinity() >= f.has_infinity() && wide.has_nan() >= f.has_nan();
}

std::uint64_t read_code(const std::byte* at, std::size_t width) {
  static_assert(std::endian::native == std::endian::little, "codes are read from their low bytes");
  std::uint64_t code = 0;
  std::memcpy(&code, at, width);
  return code;
}

// One element, as double or as int64. fp64 and fp32 without the detour over codes.
double load(const Format& f, const std::byte* at) {
  if (f.bits == 64) return std::bit_cast<double>(read_code(at, 8));
  if (is(f, formats::fp32)) return std::bit_cast<float>(static_cast<std::uint32_t>(read_code(at, 4)));
  return decode(f, read_code(at, static_cast<std::size_t>(f.bits) / 8));
}

void store(const Format& f, std::byte* at, double x) {
  const std::uint64_t code = std::isnan(x)  ? (f.has_nan() ? f.nan_code : encode(f, x, Round::nearest_even))
                             : f.bits == 64 ? std::bit_cast<std::uint64_t>(x)
                                            : encode(f, x, Round::nearest_even);
  std::memcpy(at, &code, static_cast<std::size_t>(f.bits) / 8);
}

std::int64_t load_integer(const Format& f, const std::byte* at) {
  const std::uint64_t code = read_code(at, static_cast<std::size_t>(f.bits) / 8);
  return f.bits == 32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(code)) : static_cast<std::int64_t>(code);
}

double combine(Op op, double a, double b) {
  if (op == Op::sum || op == Op::avg) return a + b;
  if (op == Op::prod) return a * b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const bool a_is_less = a < b || (a == b && std::signbit(a));
  return a_is_less == (op == Op::max) ? b : a;
}

std::int64_t combine(Op op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  if (op == Op::sum || op == Op::avg) return static_cast<std::int64_t>(ua + ub);
  if (op == Op::prod) return static_cast<std::int64_t>(ua * ub);
  return (a < b) == (op == Op::max) ? b : a;
}

}  // namespace

std::string_view name(Op op) {
  constexpr std::array<std::string_view, 5> names{"sum", "prod", "max", "min", "avg"};
  return names[static_cast<std::size_t>(op)];
}

const Format& accumulator(const Reduction& how, const Format& f) {
  if (is_integer(f)) {
    if (how.accumulate != nullptr && !is(*how.accumulate, f))
      throw Error("accumulation of " + std::string(f.name), std::string(f.name), std::string(how.accumulate->name));
    return f;
  }
  if (f.fixed_point() || f.specials == Specials::scale)
    throw Error("a reduction", "floats, int32 or int64 (other elements are only moved)", std::string(f.name));
  if (how.accumulate == nullptr) return f.bits < 32 ? formats::fp32 : f;
  if (how.accumulate->fixed_point() || !holds(*how.accumulate, f))
    throw Error("accumulation of " + std::string(f.name), "a format that holds its values",
                std::string(how.accumulate->name));
  return *how.accumulate;
}

void reduce(const Reduction& how, const Format& f, std::span<const std::byte* const> x, Index count,
            std::span<const Merge> nodes, std::byte* out) {
  const Format& acc = accumulator(how, f);
  const std::size_t width = static_cast<std::size_t>(f.bits) / 8, n = x.size();
  const std::size_t result = nodes.empty() ? 0 : static_cast<std::size_t>(nodes.back().into);
  std::vector<double> value(n);
  std::vector<std::int64_t> integer(n);
  for (std::size_t at = 0; at < static_cast<std::size_t>(count) * width; at += width) {
    if (is_integer(f)) {
      for (std::size_t r = 0; r < n; ++r) integer[r] = load_integer(f, x[r] + at);
      for (const Merge& m : nodes) {
        std::int64_t& into = integer[static_cast<std::size_t>(m.into)];
        into = combine(how.op, into, integer[static_cast<std::size_t>(m.from)]);
      }
      std::int64_t y = integer[result];
      if (how.op == Op::avg) y = (f.bits == 32 ? static_cast<std::int32_t>(y) : y) / static_cast<std::int64_t>(n);
      std::memcpy(out + at, &y, width);
      continue;
    }
    for (std::size_t r = 0; r < n; ++r) value[r] = load(f, x[r] + at);
    double y = 0;
    if (how.exact && n > 1 && (how.op == Op::sum || how.op == Op::avg)) {
      y = exact_sum(value, acc);
    } else {
      for (const Merge& m : nodes) {
        double& into = value[static_cast<std::size_t>(m.into)];
        // The sum, product or quotient of two values of a format with p <= 24 bits, rounded to 53 bits and then to p,
        // is rounded correctly: 53 >= 2 p + 2 (Figueroa 1995).
        into = combine(how.op, into, value[static_cast<std::size_t>(m.from)]);
        if (acc.bits < 64) into = round_to(acc, into);
      }
      y = value[result];
    }
    if (how.op == Op::avg) {
      y /= static_cast<double>(n);
      if (acc.bits < 64) y = round_to(acc, y);
    }
    store(f, out + at, y);
  }
}

}  // namespace assay

#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/core/contract.hpp"
#include "reference/core/readings/bound.hpp"
#include "reference/core/tensor.hpp"

// What the tests of Bound share: a reproducible source of numbers and an arithmetic that errs as badly as a contract
// allows.
namespace assay::testing {

struct Random {
  std::uint64_t state;
  explicit Random(std::uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 1) {}
  std::uint64_t bits() {
    std::uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double between(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  /// Nearly normal: the sum of twelve uniforms.
  double normal() {
    double s = -6;
    for (int i = 0; i < 12; ++i) s += uniform();
    return s;
  }
  Index below(Index n) { return static_cast<Index>(bits() % static_cast<std::uint64_t>(n)); }
  double sign() { return bits() & 1 ? 1 : -1; }
};

/// The adversary below computes in double: its own roundings, relative to its result, are not the contract's.
inline constexpr double kTestArithmetic = 0x1p-46;

/// Real arithmetic with relative errors of exactly `u` after every operation: the worst an accumulator can do.
struct Adversary {
  Random& random;
  double u;
  double mode = 0;  // +1, -1: all errors that way; 0: random signs
  double operator()(double exact, double times = 1) {
    return exact * (1 + times * u * (mode != 0 ? mode : random.sign()));
  }
};

}  // namespace assay::testing

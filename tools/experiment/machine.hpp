#pragma once
#include <cstdint>
#include <vector>

#include "reference/core/contract.hpp"
#include "reference/core/tensor.hpp"

// The simulated machines of the honest-kernel experiment: fp32 accumulators that round to nearest, truncate, or are a
// matrix unit's aligned, truncating dot-add; and the schedules in which kernels add.
namespace assay::experiment {

using Floats = std::vector<float>;

/// A reproducible source of style choices and of orders.
struct Random {
  std::uint64_t state;
  explicit Random(std::uint64_t seed);
  std::uint64_t bits();
  Index below(Index n) { return static_cast<Index>(bits() % static_cast<std::uint64_t>(n)); }
};
/// A hash of x as a number in [-1, 1): the error of a function that looks random and repeats.
double noise_of(double x);

/// Schedules. The first two are of class contiguous, the next oblivious (any but the data decides), the last two any.
enum class Schedule { forward, backward, pairwise, lanes8, lanes32, blocks8, tiles64, shuffled, ascending, by_size };
inline constexpr int kSchedules = 10;
Order class_of(Schedule s);
const char* name(Schedule s);

/// Accumulator of a contract's kind (`nearest` or `truncate`) in fp32, or in a narrower format.
struct Accumulator {
  bool truncates = false;
  const Format* narrow = nullptr;
  float add(float a, float b) const;
  float fma(float a, float b, float c) const;
};

/// The sum of x by a schedule.
float sum(const Floats& x, Schedule s, const Accumulator& acc, Random& random);
/// sum a_i b_i by a schedule; fused: fma, else products are rounded first.
float dot(const Floats& a, const Floats& b, Schedule s, bool fused, const Accumulator& acc, Random& random);
/// One step: c + sum_{i<k} a_i b_i, every term truncated to F fractional bits of the largest exponent, the sum to fp32.
float mma_step(float c, const float* a, const float* b, std::size_t k, int f);
/// Chains of matrix-unit steps (catalogue `acc.mma_model`), K split into `splits` chains whose results are added in
/// fp32.
float mma_dot(const Floats& a, const Floats& b, int f, int k0, int splits);

}  // namespace assay::experiment

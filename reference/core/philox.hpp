#pragma once
#include <array>
#include <cstdint>

#include "reference/core/tensor.hpp"

/// Random numbers by counter: a value depends on where it stands and on nothing else, so cutting a shape, changing the
/// order or the number of threads keeps every value that remains.
namespace assay {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"; Random123).
PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

/// A seed as a key: low word, high word.
PhiloxKey philox_key(std::uint64_t seed);

/// The numbers of one element of one tensor. Counter (row, column, tensor id, draw), key = seed, where the last two
/// coordinates of a shape are row and column (a vector is row 0, a scalar column 0 of it). Each further, leading
/// coordinate c at axis d turns the key into words 0 and 1 of Philox at counter (c, d, tensor id, 2^32 - 1); so an
/// element of the first matrix of a batch differs from that of the same matrix alone.
class PhiloxElement {
 public:
  /// @throws Error for a coordinate outside 0..2^32 - 1.
  PhiloxElement(std::uint64_t seed, std::uint32_t tensor, const Shape& coordinates);
  /// The matrix that `key` (see batch_key) belongs to.
  PhiloxElement(PhiloxKey key, std::uint32_t tensor, std::uint32_t row, std::uint32_t column)
      : key_(key), counter_{row, column, tensor, 0} {}

  /// Four words; draw < 2^32 - 1 numbers the calls that one element needs.
  PhiloxCounter words(std::uint32_t draw) const {
    return philox4x32({counter_[0], counter_[1], counter_[2], draw}, key_);
  }

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
};

/// The key of the matrix at the leading coordinates of a shape, all but the last two.
PhiloxKey batch_key(std::uint64_t seed, std::uint32_t tensor, const Shape& leading);

/// 53 bits of two words as a number in [0, 1), a multiple of 2^-53.
double unit(std::uint32_t high, std::uint32_t low);

}  // namespace assay

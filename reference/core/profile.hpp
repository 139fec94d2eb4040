#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "reference/core/format.hpp"
#include "reference/core/tensor.hpp"

namespace assay {

/// What the values of an input are like. Each is a function of seed, tensor and coordinates (and, where said, of the
/// number of columns), by Philox4x32-10 and the functions of math.hpp: the same bits everywhere. A column is an index
/// of the last axis, a row all others. z is a standard normal deviate, u uniform in [0, 1), k a uniform integer.
enum class Profile : std::uint8_t {
  normal,          ///< z
  uniform,         ///< 2u - 1
  small_integers,  ///< k in -8..8: products and short sums are exact in any order
  powers_of_two,   ///< +-2^k, k in -8..8
  huge_logits,     ///< 1e4 (2u - 1): exp overflows without a shift, rows have one winner
  heavy_tails,     ///< z 2^k, k geometric (P(k >= j) = 2^-j, at most 24): P(|x| > t) falls as 1/t
  ties,          ///< (n + 1/2) scaled to +-[1, 2) 2^k, k in -2..2, n of p bits, p in {2, 3, 4, 8, 11}: the midpoint of
                 ///< two numbers of p bits, for rounding ties; few values, so equal ones meet in one row
  constant,      ///< one z per tensor and seed, the same in all elements
  positive,      ///< 1/8 + 15/8 u, away from zero
  few_distinct,  ///< one of -1, 0.5, 1, 2
  nan_tail,      ///< z; NaN in the last quarter (rounded down) of the columns, for what must not be read
  neg_inf,       ///< z; -inf for one element in four, and for all of one row in four
  ascending,     ///< (column + u) / 8: every element is a new maximum
  descending,    ///< -(column + u) / 8: the first element is the maximum
  cancelling,    ///< z in even columns; in odd ones minus the left neighbour, times 1 + 2^-4 u: sums cancel nearly
  equal_rows,    ///< z of the column alone: all rows of a tensor are equal
  tiny,          ///< 4z times the smallest normal number of the format (fp32's if none is given): subnormals
  signed_zeros,  ///< +0, -0 or z, a third each
  specials       ///< z; one element in eight is +inf, -inf, NaN, +0, -0 or +- the largest finite number of the format
};

/// All profiles in the order above.
std::span<const Profile> all_profiles();
/// Its identifier.
std::string_view name(Profile p);
/// The profile of that name. @throws Error listing the names.
Profile profile(std::string_view name);

/// A tensor of that profile, every value rounded to the format by round-to-nearest-even (nullptr: not rounded). A NaN
/// becomes what the format makes of it. `tensor` numbers the tensors that one seed fills.
/// @throws Error if a size is negative.
Tensor<double> fill(Profile p, const Shape& shape, std::uint64_t seed, std::uint32_t tensor, const Format* f = nullptr);

}  // namespace assay

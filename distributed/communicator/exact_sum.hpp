#pragma once
#include <span>

#include "reference/core/format.hpp"

namespace assay {

/// The sum of doubles without an error, rounded once to `f` (a float format; nearest even): the same bits in any order.
/// A fixed-point number as wide as the range of double. NaN, and +Inf with -Inf, give NaN; a sum that is 0 is +0 unless
/// all terms are -0, as additions would have it. At most 2^30 terms.
double exact_sum(std::span<const double> x, const Format& f);

}  // namespace assay

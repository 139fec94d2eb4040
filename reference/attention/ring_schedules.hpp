#pragma once
#include <vector>

#include "reference/core/tensor.hpp"
#include "spec/attention/ring.hpp"

namespace assay {

/// The tokens of each rank: a partition of 0 .. S-1, in the order in which the rank holds them.
using Tokens = std::vector<std::vector<Index>>;

/// The shards of a sequence of S tokens (spec/attention/ring_schedules.md). Throws Error unless S is a multiple of the
/// ranks, of twice the ranks with zigzag.
Tokens shards(AttentionRingOptions::Schedule schedule, Index S, Index ranks);

}  // namespace assay

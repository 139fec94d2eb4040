#pragma once
#include <cstdint>
#include <vector>

#include "conformance/engine/case.hpp"

namespace assay {

/// The page's corners, then `random` cases whose coordinates are drawn evenly, one Philox word each, so that the list
/// is the same on every machine: for calls that leave assay. (Claims draw theirs while they run, and shrink them.)
std::vector<Case> list_cases(const Space& space, int random, std::uint64_t seed);

}  // namespace assay

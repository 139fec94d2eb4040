#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "distributed/communicator/communicator.hpp"

// The same tests run on threads (in_process.cpp) and on processes (mpi/main.cpp); each provides the first three.
namespace assay::testing {

using Body = std::function<void(Communicator&)>;

/// Runs the body on n ranks. What it EXPECTs is checked on each rank.
void on_ranks(int n, const Body& body, RanksOptions options = {});
/// The numbers of ranks to test with: 1, powers of two and others.
std::vector<int> rank_counts();
/// Of ranks 0 .. n-1, those of this process.
std::vector<int> ranks_here(int n);

/// Runs a body that must fail. What each rank of this process is told: what its body threw or, if it threw nothing,
/// what the run threw. Expects that this does not take until the default deadline.
std::vector<std::string> errors(int n, const Body& body, RanksOptions options = {});
/// Whether each contains one of `texts`, and there is one for each rank here.
::testing::AssertionResult all_say(int n, const std::vector<std::string>& errors,
                                   const std::vector<std::string>& texts);
/// The errors of a call that differs between ranks: one of them sees both, and the others are told.
inline ::testing::AssertionResult all_see_a_difference(int n, const std::vector<std::string>& errors) {
  return all_say(n, errors, {"call differently"});
}

/// Bytes that depend on the rank and their place, of `count` elements.
std::vector<std::byte> pattern(int rank, Index count, const Format& f);
/// Every format that a communicator is said to carry.
std::vector<const Format*> carried_formats();

}  // namespace assay::testing

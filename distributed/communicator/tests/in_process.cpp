#include <numeric>

#include "distributed/communicator/ranks.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay::testing {

void on_ranks(int n, const Body& body, RanksOptions options) { run_ranks(n, body, options); }

std::vector<int> rank_counts() { return {1, 2, 3, 4, 5, 7, 8}; }

std::vector<int> ranks_here(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace assay::testing

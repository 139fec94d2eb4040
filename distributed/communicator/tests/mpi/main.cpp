#include <algorithm>
#include <optional>

#include "distributed/communicator/mpi_ranks.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay::testing {
namespace {
std::optional<MpiSession> session;
}

void on_ranks(int n, const Body& body, RanksOptions options) { session->run(n, body, options); }

std::vector<int> rank_counts() {
  std::vector<int> counts;
  for (int n = 1; n <= session->size(); ++n) counts.push_back(n);
  return counts;
}

std::vector<int> ranks_here(int n) {
  return session->rank() < n ? std::vector<int>{session->rank()} : std::vector<int>{};
}

}  // namespace assay::testing

// Every process runs the same tests in the same order; one whose rank fails ends with 1, and mpirun with it.
int main(int argc, char** argv) {
  assay::testing::session.emplace(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  assay::testing::session.reset();
  return failed;
}

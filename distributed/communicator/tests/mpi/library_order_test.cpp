// In which order MPI's own reductions add: nothing here relies on it, and nothing may.
#include <mpi.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

/// Open MPI's algorithm 1, `basic_linear`, was measured to add x_{n-1} + x_{n-2} + .. + x_0 (4.1.4, doubles). Another
/// version need not: then this is reported (skipped), not failed. What fails is a sum outside the bound of any order.
TEST(MpiLibrary, BasicLinearFoldsFromTheLastRank) {
  int n = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int count = 1000;
  const auto value = [](int r, int i) {
    return std::ldexp(1.0 + ((r * 7919 + i * 104729) % 1009) / 1009.0, (r + i) % 5);
  };
  std::vector<double> x, y(count);
  for (int i = 0; i < count; ++i) x.push_back(value(rank, i));
  MPI_Allreduce(x.data(), y.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int equal = 0, differs_from_fold = 0;
  for (int i = 0; i < count; ++i) {
    double forward = 0, backward = value(n - 1, i);
    for (int r = 0; r < n; ++r) forward = r == 0 ? value(0, i) : forward + value(r, i);
    for (int r = n - 1; r-- > 0;) backward += value(r, i);
    equal += backward == y[static_cast<std::size_t>(i)] ? 1 : 0;
    differs_from_fold += forward != y[static_cast<std::size_t>(i)] ? 1 : 0;
    // Two orders of n positive terms: (n - 1) u of their sum each.
    EXPECT_LE(std::fabs(forward - y[static_cast<std::size_t>(i)]), 2 * (n - 1) * 0x1p-53 * forward * (1 + 0x1p-40));
  }
  const char* const algorithm = std::getenv("OMPI_MCA_coll_tuned_allreduce_algorithm");
  if (algorithm == nullptr || std::strcmp(algorithm, "1") != 0)
    GTEST_SKIP() << "asked of mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 1";
  RecordProperty("equal_to_the_reverse_fold", equal);
  RecordProperty("different_from_the_fold", differs_from_fold);
  if (equal != count) GTEST_SKIP() << "reported: " << equal << " of " << count << " sums are those of the reverse fold";
  EXPECT_TRUE(n <= 2 || differs_from_fold > 0) << "values that tell the orders apart";
}

}  // namespace
}  // namespace assay

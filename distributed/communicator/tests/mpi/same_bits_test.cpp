// Processes and threads give the same bits.
#include <cstring>

#include "distributed/communicator/mpi_ranks.hpp"
#include "distributed/communicator/ranks.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

/// The bytes of every reduction in every order and format, of values drawn as bytes: NaNs and infinities among them.
std::vector<std::byte> all_results(Communicator& c) {
  std::vector<std::byte> results;
  constexpr Index count = 101;
  for (const Format* f : testing::carried_formats()) {
    if (f->name == formats::uint8.name) continue;
    for (const Op op : {Op::sum, Op::prod, Op::max, Op::min})
      for (const CombineOrder order : all_orders()) {
        std::vector<std::byte> x = testing::pattern(c.rank(), count, *f);
        const Buffer b(x.data(), count, *f);
        c.all_reduce(b, b, {op, order});
        results.insert(results.end(), x.begin(), x.end());
      }
  }
  return results;
}

TEST(Mpi, TheSameBitsAsThreads) {
  for (const int n : testing::rank_counts()) {
    std::vector<std::byte> processes, threads;
    testing::on_ranks(n, [&](Communicator& c) { processes = all_results(c); });
    if (processes.empty()) continue;  // this process is none of the n ranks
    run_ranks(n, [&](Communicator& c) {
      const std::vector<std::byte> mine = all_results(c);
      if (c.rank() == 0) threads = mine;
    });
    EXPECT_EQ(threads, processes) << n << " ranks";
  }
}

TEST(Mpi, FourProcesses) {
  EXPECT_EQ((std::vector<int>{1, 2, 3, 4}), testing::rank_counts()) << "run with mpirun -n 4";
}

TEST(Mpi, MoreRanksThanProcessesIsRefused) {
  EXPECT_THROW(testing::on_ranks(5, [](Communicator&) {}), Error);
}

}  // namespace
}  // namespace assay

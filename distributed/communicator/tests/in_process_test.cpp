// What only ranks that are threads have: all of them can be seen to wait.
#include "distributed/communicator/ranks.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

TEST(InProcess, ADeadlockIsNamedAtOnce) {
  const auto told = testing::errors(3, [](Communicator& c) {
    std::vector<double> x(1);
    c.recv(x, (c.rank() + 1) % 3);
  });
  EXPECT_TRUE(testing::all_say(3, told, {"no rank can go on"}));
  for (int r = 0; r < 3; ++r) {
    const std::string self = std::to_string(r), peer = std::to_string((r + 1) % 3);
    EXPECT_TRUE(testing::all_say(3, told,
                                 {"rank " + self + " waits to receive message of 1 fp64 from rank " + peer +
                                  " to rank " + self + " from rank " + peer}));
  }
}

TEST(InProcess, ManyRanks) {
  run_ranks(33, [](Communicator& c) {
    std::vector<std::int64_t> x{c.rank()};
    c.all_reduce(x, x, {Op::sum, CombineOrder::halving});
    EXPECT_EQ(33 * 32 / 2, x[0]);
  });
}

}  // namespace
}  // namespace assay

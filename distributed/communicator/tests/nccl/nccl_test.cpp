// Where there is a GPU: bytes moved by NCCL arrive, and reductions have the bits they have on threads. With one device
// NCCL allows one rank, which sends to itself.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "distributed/communicator/nccl_transport.hpp"
#include "distributed/communicator/ranks.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

int devices() {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? std::min(n, 8) : 0;
}

std::vector<std::byte> results(Communicator& c) {
  std::vector<std::byte> all;
  const int n = c.size(), right = (c.rank() + 1) % n, left = (c.rank() + n - 1) % n;
  for (const Format* f : testing::carried_formats())
    for (const Index count : {0, 1, 1001}) {
      std::vector<std::byte> x = testing::pattern(c.rank(), count, *f), y(x.size());
      const Buffer in(x.data(), count, *f), out(y.data(), count, *f);
      c.send_recv(in, right, out, left);
      EXPECT_EQ(testing::pattern(left, count, *f), y);
      if (f->name != formats::uint8.name) c.all_reduce(in, in, {Op::sum, CombineOrder::ring});
      all.insert(all.end(), x.begin(), x.end());
    }
  return all;
}

// One of the two tests runs, with a device or without.
TEST(Nccl, TheSameBitsAsThreads) {
  if (devices() == 0) GTEST_SKIP() << "no CUDA device";
  std::vector<std::byte> threads, moved;
  run_ranks(devices(), [&](Communicator& c) {
    const std::vector<std::byte> mine = results(c);
    if (c.rank() == 0) threads = mine;
  });
  run_ranks(devices(), over_nccl([&](Communicator& c) {
              const std::vector<std::byte> mine = results(c);
              if (c.rank() == 0) moved = mine;
            }));
  EXPECT_EQ(threads, moved);
}

TEST(Nccl, WithoutADeviceIsAnError) {
  if (devices() > 0) GTEST_SKIP() << "there is a device";
  EXPECT_TRUE(testing::all_say(2, testing::errors(2, over_nccl([](Communicator&) {})), {"cudaGetDeviceCount"}));
}

}  // namespace
}  // namespace assay

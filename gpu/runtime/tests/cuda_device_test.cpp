// The CUDA back end against a driver that is none: there is no device here to run it on.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "gpu/runtime/kernels.hpp"

namespace assay::gpu {
namespace {

struct Seen {
  unsigned grid[3], block[3], shared, cluster[3];
  int dynamic_shared_allowed;
};
const Seen& seen() {
  void* const library = dlopen(ASSAY_FAKE_CUDA, RTLD_NOW);
  using Ask = const void* (*)();
  return *static_cast<const Seen*>(reinterpret_cast<Ask>(dlsym(library, "fake_cuda_seen"))());
}

struct Copy {
  std::uint64_t from, to, bytes;
};

TEST(CudaDevice, WhereThereIsNoDriverItSaysSo) {
  try {
    cuda_device("libcuda_that_is_not_there.so");
    ADD_FAILURE() << "found";
  } catch (const Error& e) {
    EXPECT_EQ(0u, std::string(e.what()).find("no CUDA driver here")) << e.what();
  }
}

TEST(CudaDevice, LaunchesAsTheDriverIsAsked) {
  const auto device = cuda_device(ASSAY_FAKE_CUDA);
  EXPECT_EQ("a device that is none", device->name());
  EXPECT_EQ("sm_90a", device->arch());
  const Memory from(*device, 8), to(*device, 8);
  const std::uint64_t value = 0x1122334455667788;
  device->write(from.address(), &value, sizeof value);
  Launcher launcher(*device, device->load(".entry copy"), {});
  const Copy params{from.address(), to.address(), 8};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&params);
  launcher.launch("copy", {1, 2, 3}, {4, 5, 6}, 70000, std::vector<std::uint8_t>(bytes, bytes + sizeof params),
                  {7, 1, 2});
  std::uint64_t got = 0;
  device->read(to.address(), &got, sizeof got);
  EXPECT_EQ(value, got);
  const Seen& s = seen();
  EXPECT_EQ(1u, s.grid[0]);
  EXPECT_EQ(3u, s.grid[2]);
  EXPECT_EQ(5u, s.block[1]);
  EXPECT_EQ(70000u, s.shared);
  EXPECT_EQ(70000, s.dynamic_shared_allowed);
  EXPECT_EQ(7u, s.cluster[0]);
  EXPECT_EQ(2u, s.cluster[2]);
}

TEST(CudaDevice, ErrorsOfTheDriverHaveItsWords) {
  const auto device = cuda_device(ASSAY_FAKE_CUDA);
  try {
    device->load("nothing");
    ADD_FAILURE() << "loaded";
  } catch (const Error& e) {
    EXPECT_NE(std::string::npos, std::string(e.what()).find("line 1; no entry")) << e.what();
    EXPECT_NE(std::string::npos, std::string(e.what()).find("a PTX JIT compilation failed")) << e.what();
  }
  Launcher launcher(*device, device->load(".entry copy"), {});
  EXPECT_THROW(launcher.launch("other", {1}, {1}, 0, std::vector<std::uint8_t>()), LaunchFailed);
  launcher.launch("other", {0}, {1}, 0, std::vector<std::uint8_t>());  // no blocks: nothing is launched
}

}  // namespace
}  // namespace assay::gpu

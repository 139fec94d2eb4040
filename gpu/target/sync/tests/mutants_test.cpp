#include "gpu/target/sync/mutants.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

const char* const text = R"(.version 9.0
.target sm_90a
.visible .entry first(
  .param .u64 p
)
{
  .reg .pred   %p<4>;
  .loc  1 12 3
  bar.sync   0;
  { // a scope
  cp.async.wait_group 1;
  }
  .loc  2 40 3, function_name $L__info_string0, inlined_at 1 20 5
  @%p1 cp.async.commit_group;
  bar.red.or.pred   %p2, 0, %p1;
  mbarrier.try_wait.parity.shared.b64 %p3, [%rd1], %r1;
  mbarrier.arrive.release.cta.shared::cta.b64 _, [%rd1];
  mbarrier.arrive.shared.b64 %rd2, [%rd1];
  ld.acquire.gpu.u32 %r1, [%rd1];
  add.s32 %r1, %r1, 1;
  ret;
}
.entry second() { bar.sync 0; }
.visible .entry third()
{
  fence.proxy.async;
  ret;
}
  .file  1 "/some/where/kernel.cu"
  .file  2 "cp_async.cuh"
)";

std::vector<std::string> names(const std::string& entry) {
  std::vector<std::string> all;
  for (const SyncMutant& m : sync_mutants(text))
    if (m.entry == entry) all.push_back(m.name());
  return all;
}

TEST(SyncMutants, EveryInstructionThatOrdersSomethingHasItsOwn) {
  EXPECT_EQ((std::vector<std::string>{
                "kernel.cu:12 bar.sync 0; deleted",
                "kernel.cu:12 cp.async.wait_group 1; deleted",
                "kernel.cu:12 cp.async.wait_group 1; -> cp.async.wait_group 2;",
                "kernel.cu:20 cp.async.commit_group; deleted",
                "kernel.cu:20 bar.red.or.pred %p2, 0, %p1; -> mov.pred %p2, %p1;",
                "kernel.cu:20 mbarrier.try_wait.parity.shared.b64 %p3, [%rd1], %r1; -> setp.eq.u32 %p3, 0, 0;",
                "kernel.cu:20 mbarrier.arrive.release.cta.shared::cta.b64 _, [%rd1]; deleted",
                "kernel.cu:20 mbarrier.arrive.release.cta.shared::cta.b64 _, [%rd1]; -> "
                "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%rd1];",
                "kernel.cu:20 ld.acquire.gpu.u32 %r1, [%rd1]; -> ld.relaxed.gpu.u32 %r1, [%rd1];",
            }),
            names("first"));
}

TEST(SyncMutants, ChangeOneLineAndOtherKernelsCanBeLeftOut) {
  const std::vector<SyncMutant> all = sync_mutants(text);
  const SyncMutant& commit = all.at(3);
  EXPECT_EQ(14, commit.line);
  EXPECT_EQ(std::string::npos, commit.ptx.find("commit_group"));
  EXPECT_NE(std::string::npos, commit.ptx.find("cp.async.wait_group 1;"));
  const std::string alone = with_kernels(commit.ptx, {"first"});
  EXPECT_EQ(std::string::npos, alone.find("third"));
  EXPECT_EQ(std::string::npos, alone.find("second"));
  EXPECT_NE(std::string::npos, alone.find("cp.async.wait_group 1;"));
  EXPECT_NE(std::string::npos, all.at(2).ptx.find("\tcp.async.wait_group 2;"));
  EXPECT_EQ("third", all.back().entry);
  EXPECT_NE(std::string::npos, all.back().ptx.find(".target sm_90a"));
}

}  // namespace
}  // namespace assay

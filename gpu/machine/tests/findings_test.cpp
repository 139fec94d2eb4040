// Each rule that the machine watches over: a kernel that keeps it is silent, one that breaks it is named with its line.
#include <gtest/gtest.h>

#include "gpu/machine/tests/testing.hpp"

namespace assay::gpu {
namespace {

using testing::kernel;
using testing::run;

const std::string shared = ".shared .align 16 .b8 buf[4096];";

/// Each thread writes its number to shared memory and reads its neighbour's, from warp to warp.
std::string neighbours(const std::string& barrier) {
  return kernel(
      "mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;\n" + barrier +
          "xor.b32 %r4, %r2, 128; add.u32 %r5, %r1, %r4; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;",
      shared);
}

TEST(Findings, ARaceIsReportedWhateverTheSchedule) {
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    Options options;
    options.seed = seed;
    const auto right = run(neighbours("bar.sync 0;\n"), 64, 64, options);
    EXPECT_EQ("", right.rules());
    for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(t ^ 32, right.out[t]);
    EXPECT_TRUE(run(neighbours(""), 64, 64, options).rules().find("race") != std::string::npos) << seed;
  }
  // Reads before a write that comes too early.
  const std::string again = "bar.sync 0;\n" + std::string("ld.shared.u32 %r9, [%r3];\n");
  const auto reads = [&](const std::string& between) {
    return kernel(
        "mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0; bar.sync 0;\n"
        "xor.b32 %r4, %r2, 128; add.u32 %r5, %r1, %r4; ld.shared.u32 %r6, [%r5];\n" +
            between + "st.shared.u32 [%r3], 7; st.global.u32 [%rd2], %r6;",
        shared);
  };
  EXPECT_EQ("", run(reads("bar.sync 0;\n"), 64).rules());
  EXPECT_EQ("race race", run(reads(""), 64).rules()) << "either warp may be first";
  // Warps that do not meet at the same barrier are not ordered by it.
  EXPECT_EQ("race race",
            run(neighbours("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 32; @!%p1 bar.sync 2, 32;\n"), 64).rules());
}

TEST(Findings, LanesOfAWarpAreOrderedByItsBarriersAlone) {
  const auto next_lane = [](const std::string& between, const std::string& strong = "") {  // lane l reads of lane l ^ 1
    return run(
        kernel("mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; xor.b32 %r4, %r2, 4;\n"
               "add.u32 %r5, %r1, %r4; st" +
                   strong + ".shared.u32 [%r3], %r0;\n" + between + "ld" + strong +
                   ".shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6;",
               shared));
  };
  EXPECT_EQ("", next_lane("bar.warp.sync -1;\n").rules());
  EXPECT_EQ("", next_lane("bar.sync 0;\n").rules());
  EXPECT_EQ("", next_lane("", ".volatile").rules());
  const auto ran = next_lane("");
  ASSERT_EQ("race", ran.rules());
  EXPECT_NE(std::string::npos, ran.report.findings[0].says.find("by lane 1 of its warp"))
      << ran.report.findings[0].says;
  // What each lane does with its own half of a word is nobody else's.
  EXPECT_EQ("", run(kernel("mov.u32 %r1, buf; shl.b32 %r2, %r0, 1; add.u32 %r3, %r1, %r2; cvt.u16.u32 %h1, %r0;\n"
                           "st.shared.u16 [%r3], %h1; ld.shared.u16 %h2, [%r3]; st.shared.u16 [%r3], %h2;",
                           shared),
                    64)
                    .rules());
}

TEST(Findings, StrongAccessesDoNotRace) {
  const auto add = [](const std::string& how) {
    return kernel("setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [buf], 0; bar.sync 0;\n" + how +
                      "bar.sync 0; ld.shared.u32 %r6, [buf]; st.global.u32 [%rd2], %r6;",
                  shared);
  };
  const auto right = run(add("red.shared.add.u32 [buf], 1; atom.shared.add.u32 %r5, [buf], 1;\n"), 64);
  EXPECT_EQ("", right.rules());
  EXPECT_EQ(128U, right.out[40]);
  const auto wrong = run(add("red.shared.add.u32 [buf], 1; ld.shared.u32 %r5, [buf];\n"), 64);
  EXPECT_NE("", wrong.rules()) << "a plain read beside atomics";
  // Halves of a word that belong to different warps.
  EXPECT_EQ(
      "",
      run(kernel(
              "mov.u32 %r1, buf; and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 2; shr.u32 %r3, %r0, 5; shl.b32 %r3, %r3, 1;\n"
              "add.u32 %r4, %r1, %r2; add.u32 %r4, %r4, %r3; cvt.u16.u32 %h1, %r0; st.shared.u16 [%r4], %h1;",
              shared),
          64)
          .rules());
}

TEST(Findings, Addresses) {
  EXPECT_EQ("", run(kernel("st.global.u32 [%rd2], 1;")).rules());
  const auto beyond = run(kernel("st.global.u32 [%rd2+132], 1;"));  // lane 31 writes word 64 of 64
  ASSERT_EQ("out_of_bounds", beyond.rules());
  EXPECT_EQ(31, beyond.report.findings[0].lane);
  EXPECT_EQ(1U, beyond.report.findings[0].count);
  EXPECT_EQ("out_of_bounds", run(kernel("st.global.u32 [%rd2+-4], 1;")).rules());
  EXPECT_EQ("out_of_bounds", run(kernel("mov.u64 %rd3, 0; ld.global.u32 %r1, [%rd3];")).rules());
  EXPECT_EQ("out_of_bounds", run(kernel("ld.shared.u32 %r1, [buf+4096];", shared)).rules());
  EXPECT_EQ("out_of_bounds", run(kernel("mov.u32 %r1, 0; st.shared.u32 [%r1], %r1;", shared)).rules());
  EXPECT_EQ("misaligned", run(kernel("st.global.u32 [%rd2+2], 1;")).rules());
  EXPECT_EQ("misaligned", run(kernel("add.u64 %rd3, %rd0, 4; st.global.v2.u32 [%rd3], {%r0, %r0};")).rules());
  EXPECT_EQ(
      "out_of_bounds",
      run(kernel("ld.param.u64 %rd3, [out]; mov.b64 %rd4, out; cvta.param.u64 %rd5, %rd4; st.u32 [%rd5], 1;")).rules());
  const std::string constant = ".const .align 4 .b32 c[2] = {5, 6};";
  EXPECT_EQ("", run(kernel("ld.const.u32 %r1, [c+4]; st.global.u32 [%rd2], %r1;", constant)).rules());
  EXPECT_EQ("out_of_bounds", run(kernel("mov.u64 %rd3, c; st.global.u32 [%rd3], 1;", constant)).rules());
}

TEST(Findings, ValuesThatNobodyGave) {
  EXPECT_EQ("uninitialized", run(kernel("st.global.u32 [%rd9], 1;")).rules());
  EXPECT_EQ("uninitialized", run(kernel("@%p1 st.global.u32 [%rd2], 1;")).rules());
  EXPECT_EQ("uninitialized",
            run(kernel("ld.shared.u32 %r1, [buf]; setp.eq.u32 %p1, %r1, 0; @%p1 bra END;\nEND:\n", shared)).rules());
  // Such a value may be moved and stored; the reader of the output is told which words are not defined.
  const auto moved =
      run(kernel("mov.u32 %r2, %r9; setp.lt.u32 %p1, %r0, 4; selp.b32 %r3, 7, %r2, %p1; st.global.u32 [%rd2], %r3;"));
  EXPECT_EQ("", moved.rules());
  EXPECT_EQ(1, moved.defined[15]);
  EXPECT_EQ(0, moved.defined[16]);
  // false and x is false.
  EXPECT_EQ("", run(kernel("setp.gt.u32 %p1, %r0, 99; and.pred %p3, %p1, %p2; @%p3 st.global.u32 [%rd2], 1;")).rules());
}

TEST(Findings, WaitsForAsynchronousCopies) {
  const auto copies = [](const std::string& wait) {
    return kernel(
        "st.global.u32 [%rd2], %r0; mov.u32 %r1, buf; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2;\n"
        "cp.async.ca.shared.global [%r3], [%rd2], 4;\n" +
            wait + "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd2], %r6;",
        shared);
  };
  for (const Async policy : {Async::eager, Async::lazy, Async::random}) {
    Options options;
    options.async = policy;
    const auto right = run(copies("cp.async.commit_group; cp.async.wait_group 0;\n"), 32, 64, options);
    EXPECT_EQ("", right.rules());
    EXPECT_EQ(9U, right.out[9]);
    EXPECT_EQ("", run(copies("cp.async.wait_all;\n"), 32, 64, options).rules());
    for (const char* wrong : {"", "cp.async.commit_group;\n", "cp.async.wait_group 0;\n",
                              "cp.async.commit_group; cp.async.wait_group 1;\n"})
      EXPECT_EQ("async_pending", run(copies(wrong), 32, 64, options).rules()) << wrong;
  }
}

TEST(Findings, Deadlocks) {
  EXPECT_EQ("deadlock",
            run(kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 64; @!%p1 bar.sync 2, 64;"), 64).rules());
  EXPECT_EQ(
      "divergent",
      run(kernel("setp.lt.u32 %p1, %r0, 5; @%p1 bra A; bar.sync 0; bra END;\nA: bar.sync 0;\nEND:\n"), 64).rules());
  // A warp that has ended counts as having come.
  EXPECT_EQ("", run(kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bra END; bar.sync 0;\nEND:\n"), 64).rules());
  EXPECT_EQ("limit", run(kernel("L: bra L;")).rules());
  EXPECT_EQ("trap", run(kernel("trap;")).rules());
  EXPECT_EQ("divergent", run(kernel("setp.lt.u32 %p1, %r0, 5; @%p1 bra A; mov.u32 %r3, 1; "
                                    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [buf];\nA:\n",
                                    shared))
                             .rules());
}

TEST(Findings, SayWhere) {
  const auto ran =
      run(".version 8.7\n.target sm_80\n.address_size 64\n.file 1 \"a.cu\"\n.visible .entry k(.param .u64 out)\n{\n"
          ".reg .b64 %rd<4>; .reg .b32 %r<2>;\nmov.u64 %rd1, 64;\n.loc 1 42 7\nld.global.u32 %r1, [%rd1];\nret;\n}\n",
          64);
  ASSERT_EQ("out_of_bounds", ran.rules());
  const Finding& f = ran.report.findings[0];
  EXPECT_EQ(10, f.line);
  EXPECT_EQ("a.cu:42", f.source);
  EXPECT_EQ(64U, f.count);
  EXPECT_EQ(0, f.lane);
}

}  // namespace
}  // namespace assay::gpu

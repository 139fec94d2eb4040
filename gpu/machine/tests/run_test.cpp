// What kernels compute on the machine: control flow, shared memory, calls, warps.
#include <gtest/gtest.h>

#include "gpu/machine/tests/testing.hpp"
#include "reference/core/error.hpp"

namespace assay::gpu {
namespace {

using testing::kernel;
using testing::run;

std::vector<std::uint32_t> first(const testing::Ran& ran, std::size_t n = 32) {
  EXPECT_EQ("", ran.rules());
  return {ran.out.begin(), ran.out.begin() + static_cast<std::ptrdiff_t>(n)};
}

TEST(Run, LanesGoTheirOwnWaysAndMeetAgain) {
  // The Collatz steps of each lane's number: every lane leaves the loop at its own time.
  const auto out =
      first(run(kernel("add.u32 %r1, %r0, 1; mov.u32 %r2, 0;\n"
                       "LOOP: setp.eq.u32 %p1, %r1, 1; @%p1 bra DONE;\n"
                       "and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;\n"
                       "mad.lo.u32 %r1, %r1, 3, 1; bra NEXT;\nEVEN: shr.u32 %r1, %r1, 1;\n"
                       "NEXT: add.u32 %r2, %r2, 1; bra LOOP;\n"
                       "DONE: vote.sync.ballot.b32 %r4, 1, -1; st.global.u32 [%rd2], %r2;\n"
                       "setp.ne.u32 %p3, %r4, 0xffffffff; @%p3 trap;")));
  for (std::uint32_t l = 0; l < 32; ++l) {
    std::uint32_t n = l + 1, steps = 0;
    for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    EXPECT_EQ(steps, out[l]);
  }
}

TEST(Run, ASpinningLaneDoesNotStarveTheOneItWaitsFor) {
  const auto ran =
      run(kernel("st.shared.u32 [buf], 0; bar.warp.sync -1; setp.ne.u32 %p1, %r0, 0; @%p1 bra SPIN;\n"
                 "bra SET;\nSPIN: ld.volatile.shared.u32 %r1, [buf]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN;\n"
                 "bra OUT;\nSET: st.volatile.shared.u32 [buf], 5; mov.u32 %r1, 5;\nOUT: st.global.u32 [%rd2], %r1;",
                 ".shared .align 4 .b32 buf;"));
  EXPECT_EQ(5U, first(ran)[31]);
}

TEST(Run, Calls) {
  const std::string functions =
      ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .b32 %r<8>; .reg .pred %p<2>;\nld.param.u32 %r1, [n]; mov.u32 "
      "%r2, %r1;\n"
      "setp.lt.u32 %p1, %r1, 2; @%p1 bra DONE;\nsub.u32 %r3, %r1, 1; sub.u32 %r4, %r1, 2;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), fib, (a); ld.param.b32 %r5, [b]; }\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call.uni (b), fib, (a); ld.param.b32 %r6, [b]; }\n"
      "add.u32 %r2, %r5, %r6;\nDONE: st.param.b32 [r], %r2; ret;\n}\n";
  const auto out =
      first(run(kernel("and.b32 %r1, %r0, 7; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                       "call (b), fib, (a); ld.param.b32 %r2, [b]; } st.global.u32 [%rd2], %r2;",
                       functions)));
  const std::uint32_t fib[] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (std::uint32_t l = 0; l < 32; ++l) EXPECT_EQ(fib[l & 7], out[l]);
}

TEST(Run, WarpSums) {
  std::string body = "mov.u32 %r1, %r0;\n";
  for (const char* by : {"16", "8", "4", "2", "1"})
    body += "shfl.sync.bfly.b32 %r2, %r1, " + std::string(by) + ", 31, -1; add.u32 %r1, %r1, %r2;\n";
  for (const std::uint32_t x : first(run(kernel(body + "st.global.u32 [%rd2], %r1;")))) EXPECT_EQ(496U, x);
  for (const std::uint32_t x : first(run(kernel("redux.sync.add.s32 %r1, %r0, -1; st.global.u32 [%rd2], %r1;"))))
    EXPECT_EQ(496U, x);
}

TEST(Run, BlocksAddUpWithAtomics) {
  const auto ran =
      run(kernel("setp.ne.u32 %p1, %r0, 0; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p2, %r1, 0; or.pred %p1, %p1, %p2;\n"
                 "@!%p1 st.global.u32 [%rd0], 0; bra GO;\nGO: red.global.add.u32 [%rd0+4], 2;"),
          64, 64, {}, 1);
  EXPECT_EQ("uninitialized", ran.rules()) << "the counter was never set";
}

TEST(Run, TheSameForEveryNumberOfThreads) {
  const std::string text = kernel(
      "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd4, %rd0, %rd3;\n"
      "mul.lo.u32 %r3, %r2, %r2; st.global.u32 [%rd4], %r3; ld.global.u32 %r4, [%rd4+128];");
  Options one, four;
  one.threads = 1;
  four.threads = 4;
  const auto a = run(text, 32, 32 * 40, one, 40), b = run(text, 32, 32 * 40, four, 40);
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.report.counters.lane_operations, b.report.counters.lane_operations);
  ASSERT_EQ("out_of_bounds", a.rules());
  EXPECT_EQ(a.rules(), b.rules());
  EXPECT_EQ(39U, a.report.findings[0].cta.x);
  EXPECT_EQ(39U, b.report.findings[0].cta.x);
}

// Under an adversary approximate results move, by a seed and within the error that the ISA gives; rounded ones stay.
TEST(Run, ApproximateInstructionsAreAdversarial) {
  const std::string ptx = kernel(
      "cvt.rn.f32.u32 %f0, %r0; add.f32 %f0, %f0, 0f3F900000;\n"
      "ex2.approx.f32 %f1, %f0; div.full.f32 %f2, %f1, %f0; rcp.rn.f32 %f3, %f0;\n"
      "st.global.f32 [%rd2], %f1; st.global.f32 [%rd2 + 128], %f2; st.global.f32 [%rd2 + 256], %f3;");
  Options options;
  const testing::Ran nearest = run(ptx, 32, 96, options);
  options.approximate = Approximate::adversarial;
  const testing::Ran one = run(ptx, 32, 96, options), again = run(ptx, 32, 96, options);
  options.seed = 2;
  const testing::Ran two = run(ptx, 32, 96, options);
  ASSERT_EQ(nearest.rules() + one.rules() + two.rules(), "");
  EXPECT_EQ(one.out, again.out);
  for (std::size_t part : {0, 32}) {
    int moved = 0, seeds = 0;
    for (std::size_t i = part; i < part + 32; ++i) {
      const auto far = static_cast<int>(one.out[i] - nearest.out[i]);
      moved += far != 0 ? 1 : 0;
      seeds += one.out[i] != two.out[i] ? 1 : 0;
      EXPECT_LE(std::abs(far), part == 0 ? 2 : 5);  // ulps; of a quotient with its operand's
    }
    EXPECT_GT(moved, 8);
    EXPECT_GT(seeds, 8);
  }
  for (std::size_t i = 64; i < 96; ++i) EXPECT_EQ(one.out[i], nearest.out[i]);
}

TEST(Run, WhatItDoesNotKnowItRefuses) {
  const auto says = [](const std::string& body, const std::string& target = "sm_80") {
    try {
      run(kernel(body, "", target));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(std::string::npos, says("\n\nfrobnicate.u32 %r1, %r2;").find("line 11"))
      << says("\n\nfrobnicate.u32 %r1, %r2;");
  EXPECT_NE(std::string::npos, says("add.magic.u32 %r1, %r2, %r3;").find("'.magic'"));
  EXPECT_NE(std::string::npos, says("add.u32 %r1, %r2;").find("3 operands"));
  EXPECT_NE(std::string::npos, says("add.u64 %r1, %r2, %r3;").find("64 are expected"));
  EXPECT_NE(std::string::npos, says("elect.sync %r1|%p1, -1;").find("needs sm_90"));
  EXPECT_NE(std::string::npos, says("ret;", "sm_90").find("sm_80"));
  EXPECT_NE(std::string::npos, says("ret;", "sm_90a").find("sm_80"));
}

TEST(Run, LaunchesThatNoDeviceTakes) {
  const std::string text = kernel("ret;");
  EXPECT_THROW(run(text, 0), Error);
  EXPECT_THROW(run(text, 1025), Error);
  EXPECT_THROW(run(text, 32, 64, {}, 0), Error);
  EXPECT_THROW(run(text, 32, 64, {}, 1, 200000), Error);
  Machine machine("sm_80");
  const int module = machine.load(text);
  Launch launch;
  launch.kernel = "k";
  EXPECT_THROW(machine.launch(module, launch), Error) << "no parameters";
  launch.kernel = "other";
  EXPECT_THROW(machine.launch(module, launch), Error);
  EXPECT_THROW(Machine("sm_75"), Error);
}

}  // namespace
}  // namespace assay::gpu

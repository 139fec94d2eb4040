#include <algorithm>

#include "conformance/ptx/programs.hpp"

// Claims of spec/ptx/cpasync.md.
namespace assay {
namespace {

std::string number(std::int64_t x) { return std::to_string(x); }

/// The pipeline of the page, unrolled: each thread sums its own word of every tile. `wait`: the count for tile k.
template <class Wait>
PtxProgram pipeline(Check& check, std::int64_t S, std::int64_t T, bool empty_commits, const Wait& wait) {
  std::string body = "mov.u32 %r20, buf; shl.b32 %r21, %r0, 2; add.u32 %r20, %r20, %r21; mov.u32 %r30, 0;\n";
  const auto load = [&](std::int64_t tile) {
    if (tile < T)
      body +=
          "cp.async.ca.shared.global [%r20+" + number(tile % S * 128) + "], [%rd10+" + number(tile * 128) + "], 4;\n";
    if (tile < T || empty_commits) body += "cp.async.commit_group;\n";
  };
  for (std::int64_t k = 0; k < S - 1; ++k) load(k);
  for (std::int64_t k = 0; k < T; ++k) {
    body += "cp.async.wait_group " + number(wait(k)) + ";\nld.shared.u32 %r31, [%r20+" + number(k % S * 128) +
            "]; mad.lo.u32 %r30, %r30, 3, %r31;\n";
    load(k + S - 1);
  }
  PtxProgram program;
  program.ptx = kernel(check.arch(), 2, 0, body + "st.global.u32 [%rd11], %r30;",
                       ".shared .align 16 .b8 buf[" + number(S * 128) + "];");
  program.buffers = {words(check, "x", static_cast<std::size_t>(32 * T)), zeros(32)};
  draw_schedule(check, program);
  return program;
}

Words sums_of(const Words& x, std::int64_t T) {
  Words sum = zeros(32);
  for (std::size_t k = 0; k < static_cast<std::size_t>(T); ++k)
    for (std::size_t l = 0; l < 32; ++l) sum[l] = sum[l] * 3 + x[k * 32 + l];
  return sum;
}

}  // namespace

CLAIM(ptx.cpasync.group) {
  const std::int64_t S = check.c["stages"], T = check.c["tiles"];
  const PtxProgram right = pipeline(check, S, T, !check.bug("conditional_commit"), [&](std::int64_t) { return S - 2; });
  check.same_words("the sum of the tiles", check.run_right(right).buffers[1], sums_of(right.buffers[0], T));
  check.run_wrong(pipeline(check, S, T, true, [&](std::int64_t) { return S - 1; }), "async_pending",
                  "one group too many left open");
}

CLAIM(ptx.cpasync.empty) {
  const std::int64_t S = check.c["stages"], T = check.c["tiles"];
  const PtxProgram with = pipeline(check, S, T, true, [&](std::int64_t) { return S - 2; });
  check.same_words("the sum of the tiles", check.run_right(with).buffers[1], sums_of(with.buffers[0], T));
  // Without empty groups: what is under way behind tile k are the tiles up to the last one issued.
  const bool reduced = !check.bug("wait_count_epilogue");
  const PtxProgram without =
      pipeline(check, S, T, false, [&](std::int64_t k) { return reduced ? std::min(S - 2, T - 1 - k) : S - 2; });
  check.same_words("the sum of the tiles, without empty groups", check.run_right(without).buffers[1],
                   sums_of(without.buffers[0], T));
}

CLAIM(ptx.cpasync.visibility) {
  // Two warps: each thread copies its own word and reads that of the other warp.
  const auto program = [&](const std::string& between) {
    PtxProgram p;
    p.ptx = kernel(check.arch(), 2, 0,
                   "mov.u32 %r20, buf; shl.b32 %r21, %r0, 2; add.u32 %r22, %r20, %r21;\n"
                   "cp.async.ca.shared.global [%r22], [%rd10], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\n" +
                       between +
                       "xor.b32 %r21, %r21, 128; add.u32 %r22, %r20, %r21; ld.shared.u32 %r30, [%r22]; st.global.u32 "
                       "[%rd11], %r30;",
                   ".shared .align 16 .b8 buf[256];");
    p.threads = 64;
    p.buffers = {words(check, "x", 64), zeros(64)};
    draw_schedule(check, p);
    return p;
  };
  const PtxProgram right = program(check.bug("no_barrier_after_wait") ? "" : "bar.sync 0;\n"), wrong = program("");
  Words other;
  for (std::size_t t = 0; t < 64; ++t) other.push_back(right.buffers[0][t ^ 32]);
  check.same_words("the other warp's words", check.run_right(right).buffers[1], other);
  const ProgramRun ran = check.run(wrong);
  // Whichever warp is first: it reads what is still being copied, or what no barrier orders.
  check.require(ran.found("race") || ran.found("async_pending"), "a read without a barrier is reported");
}

CLAIM(ptx.cpasync.fill) {
  const std::int64_t bytes = std::int64_t{4} << check.c["bytes"], part = std::min(bytes, check.c["part"]);
  // Thread t copies `bytes` from the t-th place; the last place ends with the buffer, `part` bytes of it in words.
  const std::int64_t stride = bytes / 4;
  const auto n = static_cast<std::size_t>(31 * stride + (part + 3) / 4);
  const std::string copy = bytes == 16 ? "cg" : "ca", size = number(bytes);
  // A thread beyond the matrix copies nothing, wherever its pointer is.
  const bool rows_checked = !check.bug("pointer_oob");
  std::string body = "mov.u32 %r20, buf; mul.lo.u32 %r21, %r0, " + size +
                     "; add.u32 %r22, %r20, %r21; cvt.u64.u32 %rd20, %r21; add.u64 %rd21, %rd0, %rd20;\n"
                     "setp.lt.u32 %p20, %r0, 31; selp.u32 %r23, " +
                     size + ", %r1, %p20;\n";
  body += "setp.ge.u32 %p21, %r0, 32; " +
          std::string(rows_checked ? "selp.u32 %r23, 0, %r23, %p21;\n" : "selp.u32 %r23, %r1, %r23, %p21;\n");
  // Shared memory that happens to be zero would hide a fill that is missing.
  for (std::int64_t k = 0; k < stride; ++k) body += "st.shared.u32 [%r22+" + number(4 * k) + "], -1;\n";
  body += "cp.async." + copy + ".shared.global [%r22], [%rd21], " + size + ", %r23;\ncp.async.wait_all;\n";
  for (std::int64_t k = 0; k < stride; ++k)
    body += "ld.shared.u32 %r30, [%r22+" + number(4 * k) + "]; mul.lo.u32 %r31, %r0, " + size +
            "; cvt.u64.u32 %rd22, %r31; add.u64 %rd23, %rd1, %rd22; st.global.u32 [%rd23+" + number(4 * k) +
            "], %r30;\n";
  PtxProgram program;
  program.ptx = kernel(check.arch(), 2, 1, body, ".shared .align 16 .b8 buf[640];");
  program.threads = 40;
  program.buffers = {words(check, "x", std::max<std::size_t>(n, 1)),
                     Words(static_cast<std::size_t>(40 * stride), 0xdeadbeef)};
  program.numbers = {static_cast<std::uint32_t>(rows_checked || part > 0 ? part : bytes)};
  draw_schedule(check, program);
  Words expected = zeros(static_cast<std::size_t>(40 * stride));
  for (std::size_t i = 0; i < n; ++i) expected[i] = program.buffers[0][i];
  if (part % 4 != 0) expected[n - 1] &= (1U << (8 * (part % 4))) - 1;
  check.same_words("what was copied, then zeros", check.run_right(program).buffers[1], expected);
}

CLAIM(ptx.cpasync.noinc) {
  // All threads copy their word and arrive when it is there; then each reads the word of the other warp.
  const bool noinc = check.c["bytes"] % 2 == 1;
  const auto program = [&](std::int64_t count, const std::string& wait) {
    PtxProgram p;
    p.ptx =
        kernel(check.arch(), 2, 0,
               "mov.u32 %r20, buf; shl.b32 %r21, %r0, 2; add.u32 %r22, %r20, %r21; mov.u32 %r23, bar;\n"
               "setp.eq.u32 %p20, %r0, 0; @%p20 mbarrier.init.shared.b64 [%r23], " +
                   number(count) +
                   ";\nbar.sync 0;\n"
                   "cp.async.ca.shared.global [%r22], [%rd10], 4;\ncp.async.mbarrier.arrive" +
                   std::string(noinc ? ".noinc" : "") + ".shared.b64 [%r23];\n" +
                   std::string(noinc ? "" : "mbarrier.arrive.shared.b64 %rd30, [%r23];\n") + "WAIT: mbarrier." + wait +
                   ".parity.shared.b64 %p21, [%r23], 0; @!%p21 bra WAIT;\n"
                   "xor.b32 %r21, %r21, 128; add.u32 %r22, %r20, %r21; ld.shared.u32 %r30, [%r22]; st.global.u32 "
                   "[%rd11], %r30;",
               ".shared .align 16 .b8 buf[256]; .shared .align 8 .b64 bar;");
    p.threads = 64;
    p.buffers = {words(check, "x", 64), zeros(64)};
    draw_schedule(check, p);
    return p;
  };
  // The 64 of the count are the copies' arrivals with .noinc; without it they are the threads' own, which come after
  // the copies' were announced.
  const PtxProgram right = program(64, "test_wait");
  Words other;
  for (std::size_t t = 0; t < 64; ++t) other.push_back(right.buffers[0][t ^ 32]);
  const ProgramRun ran = check.run_right(right);
  check.same_words("the other warp's words", ran.buffers[1], other);
  // With one more in the count than arrive, nobody sees the end of the phase; a wait that suspends shows it.
  if (check.arch() != "sm_80") check.run_wrong(program(65, "try_wait"), "deadlock", "an arrival that never comes");
}

}  // namespace assay

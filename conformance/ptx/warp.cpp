#include "reference/ptx/warp.hpp"

#include <algorithm>
#include <bit>

#include "conformance/ptx/programs.hpp"

// Claims of spec/ptx/warp.md.
namespace assay {
namespace {

using ptx::has;
using LaneMask = ptx::Mask;

const char* const modes[] = {"up", "down", "bfly", "idx"};

/// Lanes of a random mask, never none.
LaneMask some_lanes(const Check& check, const char* name) {
  return static_cast<LaneMask>(check.pick(name, 0, 0xffffffff)) | 1U << check.pick(std::string(name) + " one", 0, 31);
}

/// A program whose lanes in `members` alone execute `body`; buffer 0 is what they load into %r20, buffer 1 what they
/// store from %r30.
PtxProgram among(Check& check, LaneMask members, const std::string& body, const Words& in) {
  PtxProgram program;
  program.ptx =
      kernel(check.arch(), 2, 1,
             "ld.global.u32 %r20, [%rd10]; shr.u32 %r21, %r1, %r0; and.b32 %r21, %r21, 1; setp.ne.u32 %p20, %r21, 0;\n"
             "@!%p20 bra END;\n" +
                 body + "st.global.u32 [%rd11], %r30;\nEND:\n");
  program.buffers = {in, zeros(32)};
  program.numbers = {members};
  draw_schedule(check, program);
  return program;
}

/// What lanes outside of the mask leave as it was: 0.
Words in_lanes(LaneMask members, const Words& x) {
  Words y = zeros(32);
  for (int l = 0; l < 32; ++l)
    if (has(members, l)) y[static_cast<std::size_t>(l)] = x[static_cast<std::size_t>(l)];
  return y;
}

}  // namespace

CLAIM(ptx.warp.shfl) {
  const auto mode = static_cast<std::size_t>(check.c["mode"]);
  const auto width = std::uint32_t{1} << check.c["log_width"];
  const std::uint32_t segment = 32 - width, clamp = mode == 0 ? 0 : 31;
  const std::uint32_t c = check.bug("shfl_segment") ? clamp << 8 | segment : segment << 8 | clamp;
  const Words a = words(check, "a", 32), b = words(check, "b", 32);
  PtxProgram program;
  program.ptx =
      kernel(check.arch(), 4, 1,
             "ld.global.u32 %r20, [%rd10]; ld.global.u32 %r21, [%rd11];\nshfl.sync." + std::string(modes[mode]) +
                 ".b32 %r22|%p20, %r20, %r21, %r1, -1;\nselp.u32 %r23, 1, 0, %p20; st.global.u32 [%rd12], %r22; "
                 "st.global.u32 [%rd13], %r23;");
  program.buffers = {a, b, zeros(32), zeros(32)};
  program.numbers = {c};
  const ProgramRun ran = check.run_right(program);
  // A scan over the segment: the lane `by` places away is looked for among its lanes.
  Words value(32), in_range(32);
  for (int lane = 0; lane < 32; ++lane) {
    const auto l = static_cast<std::size_t>(lane);
    const int w = static_cast<int>(width), first = lane / w * w, by = static_cast<int>(b[l] & 31);
    int source = -1;
    for (int j = first; j < first + w; ++j) {
      const bool is = mode == 0   ? j + by == lane
                      : mode == 1 ? j == lane + by
                      : mode == 2 ? j == (lane ^ by)
                                  : j - first == by % w;
      if (is) source = j;
    }
    // .bfly may also reach into a lower segment: the limit is above alone.
    if (mode == 2 && (lane ^ by) < first) source = lane ^ by;
    in_range[l] = source >= 0 ? 1 : 0;
    value[l] = a[source >= 0 ? static_cast<std::size_t>(source) : l];
  }
  check.same_words("what a lane reads", ran.buffers[2], value);
  check.same_words("whether that is in range", ran.buffers[3], in_range);
}

CLAIM(ptx.warp.bfly) {
  const Words a = words(check, "a", 32);
  std::string body = "ld.global.u32 %r20, [%rd10];\n";
  for (const char* by : {"16", "8", "4", "2", "1"})
    body += std::string("shfl.sync.bfly.b32 %r21, %r20, ") + by + ", 31, -1; add.u32 %r20, %r20, %r21;\n";
  PtxProgram program;
  program.ptx = kernel(check.arch(), 2, 0, body + "st.global.u32 [%rd11], %r20;");
  program.buffers = {a, zeros(32)};
  std::uint32_t sum = 0;
  for (const std::uint32_t x : a) sum += x;
  check.same_words("the sum", check.run_right(program).buffers[1], Words(32, sum));
}

CLAIM(ptx.warp.vote) {
  const LaneMask members = some_lanes(check, "members");
  Words a;  // few values, so that some match
  for (int l = 0; l < 32; ++l)
    a.push_back(static_cast<std::uint32_t>(check.pick("a" + std::to_string(l), 0, check.c["mode"])));
  const auto value = [&](const std::string& body, const std::string& what, const auto& of) {
    Words expected = zeros(32);
    for (int l = 0; l < 32; ++l)
      if (has(members, l)) expected[static_cast<std::size_t>(l)] = of(l);
    check.same_words(what, check.run_right(among(check, members, body, a)).buffers[1], expected);
  };
  const auto holds = [&](int l) { return a[static_cast<std::size_t>(l)] == 0; };
  LaneMask yes = 0;
  for (int l = 0; l < 32; ++l)
    if (has(members, l) && holds(l)) yes |= 1U << l;
  const std::string test = "setp.eq.u32 %p21, %r20, 0;\n", store = "selp.u32 %r30, 1, 0, %p22;\n";
  value(test + "vote.sync.ballot.b32 %r30, %p21, %r1;\n", "ballot", [&](int) { return yes; });
  value(test + "vote.sync.all.pred %p22, %p21, %r1;\n" + store, "all", [&](int) { return yes == members ? 1U : 0U; });
  value(test + "vote.sync.any.pred %p22, %p21, %r1;\n" + store, "any", [&](int) { return yes != 0 ? 1U : 0U; });
  value(test + "vote.sync.uni.pred %p22, !%p21, %r1;\n" + store, "uni",
        [&](int) { return yes == members || yes == 0 ? 1U : 0U; });
  const auto same_as = [&](int l) {
    LaneMask same = 0;
    for (int j = 0; j < 32; ++j)
      if (has(members, j) && a[static_cast<std::size_t>(j)] == a[static_cast<std::size_t>(l)]) same |= 1U << j;
    return same;
  };
  value("match.any.sync.b32 %r30, %r20, %r1;\n", "match.any", same_as);
  const bool all_same = same_as(std::countr_zero(members)) == members;
  value("match.all.sync.b32 %r30|%p22, %r20, %r1;\n", "match.all", [&](int) { return all_same ? members : 0U; });
  value("match.all.sync.b32 %r31|%p22, %r20, %r1;\n" + store, "match.all's predicate",
        [&](int) { return all_same ? 1U : 0U; });
  value("activemask.b32 %r30;\n", "activemask", [&](int) { return members; });
}

CLAIM(ptx.warp.redux) {
  static const char* const ops[] = {"add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"};
  const auto op = static_cast<std::size_t>(check.c["op"]);
  const LaneMask members = some_lanes(check, "members");
  const Words a = words(check, "a", 32);
  std::uint32_t x = 0;
  bool first = true;
  for (int l = 0; l < 32; ++l) {
    if (!has(members, l)) continue;
    const std::uint32_t y = a[static_cast<std::size_t>(l)];
    const bool less = static_cast<std::int32_t>(y) < static_cast<std::int32_t>(x);
    x = first     ? y
        : op == 0 ? x + y
        : op == 1 ? (less ? y : x)
        : op == 2 ? std::max(x, y)
        : op == 3 ? x & y
        : op == 4 ? x | y
                  : x ^ y;
    first = false;
  }
  const std::string body = "redux.sync." + std::string(ops[op]) + " %r30, %r20, %r1;\n";
  check.same_words(ops[op], check.run_right(among(check, members, body, a)).buffers[1],
                   in_lanes(members, Words(32, x)));
  if (check.arch() != "sm_100a") return;
  // Floats, among them zeros of both signs and NaN.
  static const std::uint32_t special[] = {0, 0x80000000, 0x7fffffff, 0x3f800000, 0xc0000000, 0x7f800000};
  Words f;
  for (int l = 0; l < 32; ++l) f.push_back(special[check.pick("f" + std::to_string(l), 0, check.c["up"] == 1 ? 5 : 1)]);
  const bool nan = check.c["mode"] % 2 == 1, is_max = op % 2 == 1;
  // An order of the codes: -0 below +0; NaN is looked at apart.
  const auto rank = [](std::uint32_t code) {
    return (code >> 31) != 0 ? -1 - static_cast<std::int64_t>(code & 0x7fffffff) : static_cast<std::int64_t>(code);
  };
  std::uint32_t best = 0x7fffffff;
  bool any_nan = false, found = false;
  for (int l = 0; l < 32; ++l) {
    if (!has(members, l)) continue;
    const std::uint32_t code = f[static_cast<std::size_t>(l)];
    if (code == 0x7fffffff) {
      any_nan = true;
    } else if (!found || (is_max ? rank(code) > rank(best) : rank(code) < rank(best))) {
      best = code;
      found = true;
    }
  }
  if (nan && any_nan) best = 0x7fffffff;
  const std::string text =
      std::string("redux.sync.") + (is_max ? "max" : "min") + (nan ? ".NaN" : "") + ".f32 %r30, %r20, %r1;\n";
  check.same_words(text, check.run_right(among(check, members, text, f)).buffers[1],
                   in_lanes(members, Words(32, best)));
}

CLAIM(ptx.warp.elect) {
  need_arch(check, 90, "elect");
  const LaneMask members = some_lanes(check, "members");
  const auto run = [&](const Words& in) {
    return check
        .run_right(among(check, members,
                         "elect.sync %r22|%p21, %r1;\nselp.u32 %r23, 32, 0, %p21; add.u32 %r30, %r22, %r23;\n", in))
        .buffers[1];
  };
  const Words first = run(words(check, "a", 32));
  const std::uint32_t leader = first[static_cast<std::size_t>(std::countr_zero(members))] & 31;
  check.require(has(members, static_cast<int>(leader)), "the leader is in the mask", leader);
  Words expected(32, leader);
  expected[leader] += 32;
  check.same_words("the leader, and who is it", first, in_lanes(members, expected));
  check.same_words("the same again", run(words(check, "b", 32)), first);
}

CLAIM(ptx.warp.not_in_mask) {
  const LaneMask members = some_lanes(check, "members");
  const Words a = words(check, "a", 32);
  const int out = static_cast<int>(check.pick("out", 0, 31));
  const LaneMask without = (members | 1U << out) & ~(1U << out);
  // A lane that executes it and is not in its mask.
  PtxProgram program =
      among(check, without | 1U << out,
            "xor.b32 %r2, %r1, " + std::to_string(1U << out) + ";\nshfl.sync.idx.b32 %r30, %r20, 0, 31, %r2;\n", a);
  if (without != 0) check.run_wrong(program, "membermask", "a lane outside its mask");
  // Lanes that name different masks.
  if (std::popcount(members) > 1 && members != ptx::full_mask)
    check.run_wrong(among(check, members,
                          "shl.b32 %r2, 1, %r0; not.b32 %r3, %r2; setp.eq.u32 %p21, %r0, " +
                              std::to_string(std::countr_zero(members)) +
                              ";\nselp.b32 %r4, %r1, -1, %p21; vote.sync.ballot.b32 %r30, %p21, %r4;\n",
                          a),
                    "membermask", "lanes that name different masks");
  // The value of a lane that does not take part is undefined: it may be stored, and decides nothing.
  const bool used = check.bug("inactive_source");
  const LaneMask half = 0x0000ffff;
  PtxProgram shuffle = among(check, half,
                             "shfl.sync.idx.b32 %r31, %r20, " + std::string(used ? "16" : "15") +
                                 ", 31, %r1;\nsetp.lt.u32 %p21, %r31, 7; mov.u32 %r30, 1; @%p21 mov.u32 %r30, 2;\n",
                             a);
  const ProgramRun ran = check.run_right(shuffle);
  check.same_words("what the last lane's value decides", ran.buffers[1], in_lanes(half, Words(32, a[15] < 7 ? 2 : 1)));
}

}  // namespace assay

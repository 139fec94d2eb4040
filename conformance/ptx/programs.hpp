#pragma once
#include "conformance/engine/claim.hpp"

// How claims of this chapter write programs.
namespace assay {

/// The text of kernel `k`, with this many buffers and numbers as parameters. Its body may use %r, %rd, %f, %p, %h and
/// %d from 20 on. Given are %r0, the thread in its block; %r1 .., the numbers; %rd0 .., the buffers; %rd10 .., this
/// thread's word in each.
inline std::string kernel(const std::string& arch, int buffers, int numbers, const std::string& body,
                          const std::string& declarations = "") {
  std::string text = ".version 8.7\n.target " + arch + "\n.address_size 64\n" + declarations + "\n.visible .entry k(";
  const auto name = [](const char* stem, int k) { return stem + std::to_string(k); };
  for (int k = 0; k < buffers; ++k) text += (k > 0 ? ", .param .u64 " : ".param .u64 ") + name("b", k);
  for (int k = 0; k < numbers; ++k) text += ", .param .u32 " + name("n", k);
  text +=
      ")\n{\n.reg .pred %p<64>; .reg .b16 %h<64>; .reg .b32 %r<128>; .reg .f32 %f<64>; .reg .b64 %rd<64>; .reg .f64 "
      "%d<64>;\n"
      "mov.u32 %r0, %tid.x;\n";
  for (int k = 0; k < numbers; ++k) text += "ld.param.u32 %r" + std::to_string(k + 1) + ", [" + name("n", k) + "];\n";
  for (int k = 0; k < buffers; ++k) {
    const std::string b = std::to_string(k), w = std::to_string(k + 10);
    text += "ld.param.u64 %rd" + b + ", [b" + b + "]; mul.wide.u32 %rd" + w + ", %r0, 4; add.u64 %rd" + w + ", %rd" +
            w + ", %rd" + b + ";\n";
  }
  return text + body + "\nret;\n}\n";
}

using Words = std::vector<std::uint32_t>;

/// Words of the case's seed and a name.
inline Words words(const Check& check, const std::string& name, std::size_t n) {
  Words x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(static_cast<std::uint32_t>(check.pick(name + std::to_string(i), 0, 0xffffffff)));
  return x;
}
inline Words zeros(std::size_t n) { return Words(n, 0); }

/// One of the three times at which asynchronous operations happen, and a seed.
inline void draw_schedule(const Check& check, PtxProgram& program) {
  program.async = static_cast<PtxProgram::Async>(check.pick("async", 0, 2));
  program.seed = static_cast<std::uint64_t>(check.pick("schedule", 1, 1 << 30));
}

/// Claims about instructions that come with a later architecture are not asked of an earlier one.
inline void need_arch(Check& check, int sm, const char* what) {
  if (std::stoi(check.arch().substr(3)) < sm)
    throw NotOffered{std::string(what) + " (sm_" + std::to_string(sm) + " or later)"};
}

}  // namespace assay

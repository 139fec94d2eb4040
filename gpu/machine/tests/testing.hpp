#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "gpu/machine/machine.hpp"

// Small kernels in a few lines: `out` is the one parameter, an array of 32-bit words that the test gets back.
namespace assay::gpu::testing {

inline std::string kernel(const std::string& body, const std::string& declarations = "",
                          const std::string& target = "sm_80") {
  return ".version 8.7\n.target " + target + "\n.address_size 64\n" + declarations +
         "\n.visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .f32 %f<32>; .reg .b64 %rd<32>; .reg .f64 "
         "%d<16>;\n"
         "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;\n" +
         body + "\nret;\n}\n";
}

struct Ran {
  Report report;
  std::vector<std::uint32_t> out;
  std::vector<std::uint8_t> defined;
  /// The rules that were broken, in the order of the report.
  std::string rules() const {
    std::string text;
    for (const Finding& f : report.findings) text += (text.empty() ? "" : " ") + f.rule;
    return text;
  }
};

inline Ran run(const std::string& ptx, std::uint32_t threads = 32, std::uint32_t words = 64, Options options = {},
               std::uint32_t blocks = 1, std::uint32_t dynamic_shared = 0) {
  Machine machine("sm_80");
  const int module = machine.load(ptx);
  const std::uint64_t out = machine.allocate(4 * std::uint64_t{words});
  Launch launch;
  launch.kernel = "k";
  launch.grid.x = blocks;
  launch.block.x = threads;
  launch.dynamic_shared = dynamic_shared;
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &out, 8);
  if (options.instruction_limit > 100000) options.instruction_limit = 100000;
  Ran ran{machine.launch(module, launch, options), std::vector<std::uint32_t>(words), {}};
  machine.read(out, ran.out.data(), 4 * std::uint64_t{words}, &ran.defined);
  return ran;
}

}  // namespace assay::gpu::testing

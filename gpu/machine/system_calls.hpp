#pragma once
#include "gpu/machine/warp.hpp"

// Functions that CUDA programs call and no module defines.
namespace assay::gpu {

/// vprintf and __assertfail; a finding that ends the CTA for any other. Arguments are offsets in the caller's local
/// memory.
Step system_call(Warp& w, const Instruction& n, Mask active, const Code& callee, const std::vector<Ref>& arguments);

}  // namespace assay::gpu

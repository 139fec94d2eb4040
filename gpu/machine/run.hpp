#pragma once
#include "gpu/machine/warp.hpp"

namespace assay::gpu {

/// Runs all CTAs of a grid; what was found and counted is in it afterwards, the same whatever the number of threads.
void run(Grid& grid);

}  // namespace assay::gpu

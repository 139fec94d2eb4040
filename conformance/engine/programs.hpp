#pragma once
#include <memory>
#include <string>

#include "conformance/engine/planted.hpp"

// Planted mistakes of pages whose claims run programs: the claims write their programs with the mistake, and the
// machine has to say so.
namespace assay {

/// Whether the claims of a page run programs on a machine, instead of an op.
bool runs_programs(const Page& page);

/// A machine, with a mistake planted in the programs it is given. Names: "planted:PAGE.BUG", PAGE such as ptx.cpasync.
std::unique_ptr<Target> planted_programs(const Page& page, const BugSpec& bug);

/// The cell of such a bug: it dies where its claim fails, and passes the same case without the mistake.
Kill run_program_cell(const PlantedCell& cell, const RunOptions& options);

}  // namespace assay

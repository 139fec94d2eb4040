#pragma once
#include <string>

#include "tools/assay/command.hpp"

namespace assay::command {

struct SyncArguments {
  std::string target, glob = "*", explained;  // ptx:ARCH; over sources of kernels
  int sample = 0;
  bool verbose = false;
};

/// `assay mutate --sync ptx:ARCH`: the kernels' synchronisation instead of the subjects. Exit code 1 if a mutant
/// survives unexplained.
int mutate_sync(const SyncArguments& arguments);

}  // namespace assay::command

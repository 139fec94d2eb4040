#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gpu/target/sync/mutants.hpp"

// Runs the mutants of our kernels' synchronisation on the PTX machine, on each kernel's own corners.
namespace assay {

struct SyncOptions {
  std::string arch;
  std::string source_glob = "*";  ///< only kernels whose source matches: "attention/*"
  int sample = 0;                 ///< so many mutants of each kernel, evenly over its list; 0: all
  std::map<std::string, std::string>
      explained;  ///< reason by the mutant's name: those that change nothing that matters
};

struct SyncResult {
  enum class Fate { killed, explained, survives };
  std::string source;  ///< of the kernel
  SyncMutant mutant;   ///< without its PTX
  Fate fate = Fate::survives;
  std::string by;  ///< what killed it ("race", "deadlock", "wrong answer", ...), or the reason why it may live
};

/// Reads a list of explained mutants: lines of a name, a tab and a reason; `#` begins a comment. Throws Error naming a
/// line that is not so.
std::map<std::string, std::string> read_explained_sync(const std::string& path);

/// Every mutant of every kernel built for the architecture; `progress` is called after each. Throws Error where an
/// original does not run on its corners.
std::vector<SyncResult> run_sync_mutants(const SyncOptions& options,
                                         const std::function<void(const SyncResult&)>& progress);

}  // namespace assay

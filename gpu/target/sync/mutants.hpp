#pragma once
#include <set>
#include <string>
#include <vector>

// Mutants of a kernel's synchronisation: its PTX with one wait, arrival, commit, fence or barrier taken out or made
// weaker. A machine that sees races, and pending copies as what they are, should have something to say about each.
namespace assay {

struct SyncMutant {
  std::string entry;        ///< the kernel that it is in
  int line = 0;             ///< of the PTX
  std::string source;       ///< "flash_forward_sm80.cu:118" from .loc, or ""
  std::string instruction;  ///< as it stands there
  std::string change;       ///< "deleted", or what stands there instead
  std::string ptx;          ///< the module with this change

  /// "flash_forward_sm80.cu:118 bar.sync 0; deleted": what the list of explained mutants knows it by.
  std::string name() const;
};

/// Every mutant of every kernel of a module, in the order of the text.
std::vector<SyncMutant> sync_mutants(const std::string& ptx);

/// The module without the kernels that are not named; lines keep their numbers.
std::string with_kernels(const std::string& ptx, const std::set<std::string>& entries);

}  // namespace assay

#pragma once
#include <functional>
#include <string>
#include <vector>

#include "conformance/engine/run.hpp"

namespace assay {

/// One cell of the kill table: a planted bug under a contract and the tier of inputs its page declares.
struct Kill {
  std::string op, bug, contract, tier, says, claim;
  bool dead = false;    // caught by its claim
  std::string by_case;  // the shrunk case
  std::string what;     // of the failure
  std::string fingerprint;
};

/// Runs every planted bug of the chosen concepts in every cell it declares: tier `structured` asks the page's corner
/// list alone, `generic` random cases too. A bug with no cell, or that no claim is named for, throws Error.
std::vector<Kill> run_planted(const std::string& concept_glob, const RunOptions& options,
                              const std::function<void(const Kill&)>& progress);

}  // namespace assay

#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/engine/run.hpp"

namespace assay {

/// A planted bug under a contract and the tier of inputs in which its page says that it dies.
struct PlantedCell {
  const Page* page;
  const BugSpec* bug;
  const Claim* claim;
  DiesAt at;
};

/// One cell of the kill table, filled in.
struct Kill {
  std::string op, bug, contract, tier, says, claim;
  bool dead = false;    // caught by its claim
  bool inert = false;   // not caught, and no output bit of any call differed from the honest subject's: it is no bug
  std::string by_case;  // the shrunk case
  std::string what;     // of the failure; why it does not count, if the honest subject fails the same case; if inert
  std::string fingerprint;
  std::string concept_id;
  long long cases = 0;
  double seconds = 0;
};

/// The bug that a target "planted:OP.BUG[@CONTRACT]" has.
struct PlantedBug {
  const Page* page;
  const BugSpec* bug;
  std::string claim;     // that catches it, as results name it
  std::string contract;  // the target's, by name
  bool declared;         // whether the page says that it dies under this contract
};
/// None if the name is another target's, or that of a bug on no page.
std::optional<PlantedBug> planted_bug(const std::string& target);

/// The cells of the chosen concepts. A bug with no cell, or whose claim has no property, throws Error; so does no cell
/// at all.
std::vector<PlantedCell> planted_cells(const std::string& concept_glob);

/// Runs one cell: tier `structured` asks the page's corner list alone, `generic` random cases too. A failure counts if
/// the honest subject passes the same case.
Kill run_cell(const PlantedCell& cell, const RunOptions& options);

/// Runs every planted bug of the chosen concepts in every cell it declares.
std::vector<Kill> run_planted(const std::string& concept_glob, const RunOptions& options,
                              const std::function<void(const Kill&)>& progress);

}  // namespace assay

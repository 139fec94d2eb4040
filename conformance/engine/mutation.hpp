#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conformance/engine/run.hpp"
#include "conformance/mutate/mutant.hpp"

namespace assay {

/// What became of one mutant of a subject.
struct MutantResult {
  enum class Fate {
    dead,       // a claim failed
    reordered,  // bits differ within the bound, and never where arithmetic is exact: another order of summation
    inert,      // no output bit differs from the honest subject's on any case: not a mutant of what is computed
    explained,  // live, and the list of explained survivors says why no claim can tell
    survives    // live
  };
  std::string op;
  MutantInfo info;
  Fate fate = Fate::survives;
  std::string by;      // the claim that caught it, and under which contract
  std::string reason;  // if explained
};

/// Mutants that live and cannot be told apart, with the reason, from conformance/mutate/explained.tsv:
/// columns op, source line, description, reason. A line that names no mutant of its op throws Error.
struct Explained {
  std::string op, source, description, reason;
};
std::vector<Explained> read_explained(const std::string& path);

struct MutationOptions {
  std::string op_glob = "*";
  int sample = 0;  // 0: all; n: n of each op, evenly over its list
  int cases = 40;  // random cases per claim, after the corners
  std::vector<std::string> contracts = {"fp32", "bf16"};
  std::vector<Explained> explained;
};

/// Runs the mutants of every matching op against all claims on targets of the pages that use it.
std::vector<MutantResult> run_mutants(const MutationOptions& options,
                                      const std::function<void(const MutantResult&)>& progress);

/// Dead mutants over live ones, in percent, per op; explained survivors count as live, reordered and inert ones do not.
std::map<std::string, double> mutation_scores(const std::vector<MutantResult>& results);

}  // namespace assay

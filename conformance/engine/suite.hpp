#pragma once
#include <functional>
#include <string>
#include <vector>

#include "conformance/engine/run.hpp"
#include "conformance/engine/waivers.hpp"

namespace assay {

/// What `assay run` is asked: which claims on which target.
struct SuiteOptions {
  std::string target;
  std::string concept_glob = "*", claim_glob = "*";  // * and ? ; matched against full ids
  RunOptions run;
  int shard = 0, shards = 1;  // this process takes every shards-th entry, beginning with shard
  std::string today;          // year-month-day, against which the target's waivers expire; "": none does
};

/// One entry of the matrix claim x target x contract.
struct Entry {
  const Claim* claim;
  const Page* page;
  Contract contract;
};

/// The entries a suite consists of. Throws Error if a glob matches nothing, or no entry applies to the target.
std::vector<Entry> plan(const SuiteOptions& options, Target& target);

/// Runs the plan under the target's waivers; `progress` is called after each entry with how many are done and how many
/// there are. `waivers`, if given, receives what became of each.
std::vector<Result> run_suite(const SuiteOptions& options, Target& target,
                              const std::function<void(const Result&, std::size_t, std::size_t)>& progress,
                              std::vector<WaiverState>* waivers = nullptr);

bool matches(const std::string& glob, const std::string& text);

}  // namespace assay

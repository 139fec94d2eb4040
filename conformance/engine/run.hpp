#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/engine/claim.hpp"
#include "conformance/engine/fingerprint.hpp"

namespace assay {

/// How much is asked. N is the number of elements a run of this tier may judge; z follows from it
/// (spec/numerics/verdict.md).
struct Tier {
  std::string name;
  int cases;        // per claim, target and contract, after the corners
  double elements;  // N
  double z() const;
};
/// quick, default, thorough. Throws Error naming them.
const Tier& tier(const std::string& name);

struct RunOptions {
  Tier tier_of;
  int cases = -1;  // overrides the tier's
  std::uint64_t seed = 1;
  std::string only_case;  // run just this one
  bool fingerprints = true;
  bool shrink = true;
  std::function<bool(const Case&)> leave_out;  // cases that are not tried: a waiver covers them
};

/// What became of one claim on one target under one contract.
struct Result {
  enum class Verdict { passed, failed, waived, not_offered, broken };
  std::string claim, target, contract,
      says;  // claim: the id; of a universal one with its op, "universal.memory(linear)"
  std::string concept_id;
  Verdict verdict = Verdict::passed;
  long long cases = 0, compared = 0, skipped = 0;  // skipped: cases whose options or outputs the target does not offer
  long long suspects = 0;  // elements beyond b + z sigma of an op that only its worst case judges
  double largest_z = 0, seconds = 0;
  Failure failure;                           // if failed
  std::string failing_case;                  // shrunk, spelled
  std::shared_ptr<const Observed> observed;  // the failing call and what came back, if the target answered
  std::string again;                         // the command that runs it; "": that of `assay run`
  std::string reason;                        // if not offered or broken
  std::string fingerprint;                   // what reproduces the failing output, if something does
  std::string waiver;                        // tracker and reason, if a waiver covers the failure
  std::map<std::string, long long> drawn;    // "empty_row=nan" -> how often an option value was drawn
};

/// Whether a claim can be asked of this target at all: on: definition claims are asked of `reference` only.
bool applies(const Claim& claim, Target& target);

/// Runs a claim on a target under one contract: the corner list, then random cases, shrunk on failure. A claim that
/// compared nothing, a claim on: target that never ran it, or whose option values were not all drawn, is `broken`.
Result run_claim(const Claim& claim, const Page& page, Target& target, const Contract& contract,
                 const RunOptions& options);

}  // namespace assay

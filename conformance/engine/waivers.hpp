#pragma once
#include <string>
#include <vector>

#include "conformance/engine/capability/waiver.hpp"
#include "conformance/engine/run.hpp"

namespace assay {

/// What became of a waiver in a run.
struct WaiverState {
  Waiver waiver;
  long long failing = 0, passing = 0;  // claims and cases it covers that failed as known, that passed
  std::string problem;                 // why it fails the run: it expired, its case passes, it matches nothing that ran
  std::string note;                    // why it could not be checked, which is no failure
};

/// The waivers of a target, applied while its claims run. A waiver without a case covers any failure of its claims; one
/// with a case ("n=1 profile=ties": cases that have these values on these axes) leaves those cases out of the claim,
/// which is judged on all others, and asks for them once by themselves.
class Waivers {
 public:
  /// `today` as year-month-day; an expired waiver covers nothing. "": none has expired.
  Waivers(std::vector<Waiver> waivers, std::string today);

  /// run_claim under the waivers: a failure that one covers has verdict `waived`.
  Result run(const Claim& claim, const Page& page, Target& target, const Contract& contract, const RunOptions& options);

  /// `whole`: the run was of everything the target offers, so that a waiver that met nothing matches nothing.
  std::vector<WaiverState> settle(bool whole) const;

 private:
  std::vector<WaiverState> states_;
  std::vector<bool> met_claim_, met_;  // per waiver: its claim was asked at all; under its contract and with its axes
  std::vector<bool> weak_;             // per waiver: only few cases were asked, so that passing them means little
  std::string today_;
};

}  // namespace assay

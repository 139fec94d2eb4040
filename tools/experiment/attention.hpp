#pragma once
#include "tools/experiment/attention_kernel.hpp"
#include "tools/experiment/honest.hpp"

/// The honest-kernel experiment for attention (page numerics.verdict): nine contracts, fifteen profiles, kernel styles
/// of four forms; and its thirty planted errors.
namespace assay::experiment {

/// Substrings; empty takes all.
struct AttentionChoice {
  std::string contract, profile, style;
};

/// The nine contracts.
const std::vector<const char*>& attention_contracts();

/// Honest kernels: a tally for every contract and profile, and of the LSE per contract. `effort` 1: each contract and
/// profile once, about 0.4 million elements.
std::vector<Tally> run_attention(int effort, std::uint64_t seed, double z, const AttentionChoice& choice);

/// Op online_softmax: a tally for every contract and kind of rows; `effort` cases of each, 200 elements a case.
std::vector<Tally> run_online(int effort, std::uint64_t seed, double z);

/// What became of one planted error under one contract: trials that show it, by tier.
struct AttentionKill {
  AttentionBug bug;
  int trials = 0, changed = 0;                    // on which the error can show; where it changed a bit
  int generic = 0, structured = 0, tiny = 0;      // by an element
  int generic_aggregate = 0, tiny_aggregate = 0;  // by the aggregate test alone
  double largest = 0;                             // distance / allowed
  bool dead() const { return generic + structured + tiny + generic_aggregate + tiny_aggregate > 0; }
};
struct AttentionKills {
  std::string contract;
  std::vector<AttentionKill> bugs;
  std::int64_t honest = 0, rejected = 0;  // runs of honest styles on the same inputs
  std::vector<std::string> failures;
};
/// `tiny`: how many cases of the emulated tier.
AttentionKills run_attention_bugs(const std::string& contract, int tiny, std::uint64_t seed, double z);

}  // namespace assay::experiment

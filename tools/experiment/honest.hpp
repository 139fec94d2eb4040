#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/core/verdict.hpp"
#include "tools/experiment/ops.hpp"

/// The honest-kernel experiment (page numerics.verdict): simulated kernels under their own contract must never be
/// rejected, planted errors must be.
namespace assay::experiment {

/// What was seen of one op under one contract.
struct Tally {
  std::string op, contract;
  std::int64_t elements = 0, rows = 0, rejected = 0, rows_rejected = 0;
  std::array<std::int64_t, 64> bins{};  // of z, a quarter of sigma wide
  double max_z = 0;
  double squares = 0;  // sum of z^2 over `rounding` elements: where sigma is above the output's ulp
  std::int64_t rounding = 0;
  double max_of_w = 0;                  // largest distance / w
  double max_gain = 0, max_spread = 0;  // largest aggregate / its limit
  std::string farthest, largest_gain;   // the cases of max_z and max_gain
  std::vector<std::string> failures;    // the first few, in words
  void add(const Tally& other);
};

/// The tally of an op under a contract: that of the list, or a new one.
Tally& tally_of(std::vector<Tally>& all, const std::string& op, const std::string& contract);

/// What became of one planted error under one contract.
struct Kill {
  std::string op, contract, bug;
  std::int64_t rows = 0, by_element = 0, by_aggregate = 0;  // rows rejected by either
  double largest = 0;                                       // distance / allowed
};

struct Judged {
  bool element = true, aggregate = true;
  double largest = 0;  // distance / allowed
};
/// Judges one row of one output; fills the tally if there is one.
Judged judge_row(const Row& row, const Contract& c, Planted bug, double z, Tally* t, const std::string& says);

struct Results {
  std::vector<Tally> honest;
  std::vector<Kill> planted;
};

/// A kernel that the model does not cover: a running maximum on a slow ramp of logits, rescaled once per tile, with an
/// exp that errs by `form` (kernels.hpp) every time. Each rescale multiplies the sum by one more exponential.
struct Outside {
  int tile = 0, form = 0;
  double step = 0;        // from logit to logit
  double of_allowed = 0;  // largest distance / allowed of a row of 4096 probabilities
};
std::vector<Outside> run_outside(double z);

/// `effort` 1: about 7e6 elements; cost and elements grow with it. `only`: one op. Runs on the calling thread.
Results run_honest(double effort, std::uint64_t seed, double z, const std::string& only = "");

}  // namespace assay::experiment

#pragma once
#include <optional>
#include <string>
#include <vector>

#include "conformance/engine/eval.hpp"

// Outputs that say what was chosen. The judge first asks whether the scores allow a target's decisions, then evaluates
// the definition under them: one legal flip of a tie must not make everything behind it wrong.
namespace assay {

/// Throws Error unless the page of the op marks the output as a decision.
void require_decision(const OpSpec& op, const std::string& output);
/// Those of a target's outputs that are decisions of the op.
Tensors decisions_among(const OpSpec& op, const Tensors& outputs);
/// The same of the outputs of a definition.
Tensors decisions_among(const OpSpec& op, const std::map<std::string, Tensor<double>>& outputs);
/// A row of a decision as indices; empty if one of them is not a whole number in [0, n) or comes twice.
std::vector<Index> choice_in_row(const Vector<double>& row, Index n);

/// A row of a decision that the scores do not allow.
struct Inadmissible {
  std::string output;
  Index row = 0;
  std::string why, expected, found;
};
/// The first one; `y` is evaluated under `decisions`. None: all are admissible. Under a Reading, whose z says how far
/// scores may be off.
std::optional<Inadmissible> inadmissible(const Evaluation<Bound>& y, const Tensors& decisions);
/// A decision of the definition that is not among `decisions` and that other scores within their errors would change:
/// what lies behind it can be judged only under the target's own. Empty if there is none.
std::string undecided(const Evaluation<Bound>& y, const Tensors& decisions);

}  // namespace assay

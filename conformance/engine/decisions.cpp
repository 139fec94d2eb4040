#include "conformance/engine/decisions.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/choice.hpp"

namespace assay {

void require_decision(const OpSpec& op, const std::string& output) {
  for (const TensorSpec& spec : op.outputs) {
    if (spec.name == output && !spec.decision.empty()) return;
  }
  throw Error("output " + output + " of op " + op.name, "an output that the page marks `decision: top_k`",
              "none of this name");
}

Tensors decisions_among(const OpSpec& op, const Tensors& outputs) {
  Tensors decisions;
  for (const TensorSpec& spec : op.outputs) {
    if (spec.decision.empty() || !outputs.has(spec.name)) continue;
    const Named& t = outputs.find(spec.name);
    decisions.set(t.name, t.value, t.format);
  }
  return decisions;
}

Tensors decisions_among(const OpSpec& op, const std::map<std::string, Tensor<double>>& outputs) {
  Tensors decisions;
  for (const TensorSpec& spec : op.outputs) {
    const auto at = outputs.find(spec.name);
    if (!spec.decision.empty() && at != outputs.end()) decisions.set(spec.name, at->second, &format(spec.dtype));
  }
  return decisions;
}

std::vector<Index> choice_in_row(const Vector<double>& row, Index n) {
  std::vector<Index> chosen;
  for (Index i = 0; i < row.size(); ++i) {
    const double x = row[i];
    if (!(x >= 0 && x < static_cast<double>(n)) || x != std::floor(x)) return {};
    const auto index = static_cast<Index>(x);
    if (std::find(chosen.begin(), chosen.end(), index) != chosen.end()) return {};
    chosen.push_back(index);
  }
  return chosen;
}

std::optional<Inadmissible> inadmissible(const Evaluation<Bound>& y, const Tensors& decisions) {
  for (const auto& item : y.scores) {
    const std::string& output = item.first;
    if (!decisions.has(output)) continue;
    const Tensor<double>& ids = decisions[output];
    const Shape& expected = y.outputs.at(output).shape();
    if (ids.shape() != expected)
      return Inadmissible{output, 0, "wrong shape", to_string(expected), to_string(ids.shape())};
    const Matrix<Bound> scores = item.second.matrix();
    for (Index t = 0; t < scores.rows(); ++t) {
      const Vector<double> row = ids.matrix().row(t);
      const std::vector<Index> chosen = choice_in_row(row, scores.cols());
      if (static_cast<Index>(chosen.size()) != row.size()) {
        std::string found;
        for (Index i = 0; i < row.size(); ++i) found += (i > 0 ? ", " : "") + spell_number(row[i]);
        return Inadmissible{output, t, "not a choice",
                            "distinct indices from 0 to " + std::to_string(scores.cols() - 1), found};
      }
      const std::string why = inadmissible_top_k(scores.row(t), chosen);
      if (!why.empty()) return Inadmissible{output, t, why, "", ""};
    }
  }
  return {};
}

std::string undecided(const Evaluation<Bound>& y, const Tensors& decisions) {
  for (const auto& item : y.scores) {
    if (decisions.has(item.first)) continue;
    const Matrix<Bound> scores = item.second.matrix(), own = y.outputs.at(item.first).matrix();
    for (Index t = 0; t < scores.rows(); ++t) {
      if (!only_top_k(scores.row(t), choice_in_row(values(own.row(t)), scores.cols()))) return item.first;
    }
  }
  return "";
}

}  // namespace assay

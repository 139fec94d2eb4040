#include "reference/core/choice.hpp"

#include <cmath>

namespace assay {

std::string inadmissible_top_k(const Vector<Bound>& scores, const std::vector<Index>& chosen) {
  std::vector<bool> taken(static_cast<std::size_t>(scores.size()), false);
  for (const Index i : chosen) {
    if (i < 0 || i >= scores.size())
      throw Error("no such score", "0 <= index < " + std::to_string(scores.size()), std::to_string(i));
    if (taken[static_cast<std::size_t>(i)]) return "index " + std::to_string(i) + " is chosen twice";
    taken[static_cast<std::size_t>(i)] = true;
  }
  // Admissible iff no score left out lies, at its lowest, above the highest that a chosen one can be.
  for (const Index i : chosen) {
    const Bound& in = scores[i];
    for (Index j = 0; j < scores.size(); ++j) {
      if (taken[static_cast<std::size_t>(j)] || std::isnan(scores[j].v)) continue;
      const Bound& out = scores[j];
      if (!std::isnan(in.v) && !(out.v - out.allowed() > in.v + in.allowed())) continue;
      return "index " + std::to_string(i) + " (score " + std::to_string(in.v) + ") is chosen over " +
             std::to_string(j) + " (score " + std::to_string(out.v) + "), which is larger beyond the errors of both";
    }
  }
  return "";
}

std::string inadmissible_argmax(const Vector<Bound>& scores, Index chosen) {
  return inadmissible_top_k(scores, {chosen});
}

}  // namespace assay

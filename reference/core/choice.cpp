#include "reference/core/choice.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace assay {
namespace {

std::string spelled(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

/// "index 3 (score 0.25, error up to 0.01)"
std::string named(const Vector<Bound>& scores, Index i) {
  return "index " + std::to_string(i) + " (score " + spelled(scores[i].v) + ", error up to " +
         spelled(scores[i].allowed()) + ")";
}

/// Which scores are chosen. `twice`: an index that is chosen again, or -1.
std::vector<bool> taken_of(const Vector<Bound>& scores, const std::vector<Index>& chosen, Index& twice) {
  std::vector<bool> taken(static_cast<std::size_t>(scores.size()), false);
  twice = -1;
  for (const Index i : chosen) {
    if (i < 0 || i >= scores.size())
      throw Error("no such score", "0 <= index < " + std::to_string(scores.size()), std::to_string(i));
    if (taken[static_cast<std::size_t>(i)] && twice < 0) twice = i;
    taken[static_cast<std::size_t>(i)] = true;
  }
  return taken;
}

/// Whether x is larger than y wherever both lie within their errors; a number is larger than NaN.
bool certainly_larger(const Bound& x, const Bound& y) {
  if (std::isnan(x.v)) return false;
  return std::isnan(y.v) || x.v - x.allowed() > y.v + y.allowed();
}

}  // namespace

std::vector<Index> top_k(const Vector<double>& scores, Index k) {
  if (k < 0 || k > scores.size())
    throw Error("top k of scores", "0 <= k <= " + std::to_string(scores.size()), std::to_string(k));
  std::vector<Index> order(static_cast<std::size_t>(scores.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&scores](Index i, Index j) {
    return scores[i] > scores[j] || (std::isnan(scores[j]) && !std::isnan(scores[i]));
  });
  order.resize(static_cast<std::size_t>(k));
  return order;
}

std::string inadmissible_top_k(const Vector<Bound>& scores, const std::vector<Index>& chosen) {
  Index twice = -1;
  const std::vector<bool> taken = taken_of(scores, chosen, twice);
  if (twice >= 0) return "index " + std::to_string(twice) + " is chosen twice";
  // Admissible iff no score left out lies, at its lowest, above the highest that a chosen one can be.
  for (const Index i : chosen) {
    for (Index j = 0; j < scores.size(); ++j) {
      if (taken[static_cast<std::size_t>(j)] || !certainly_larger(scores[j], scores[i])) continue;
      return named(scores, i) + " is chosen over " + named(scores, j) + ", which is larger beyond the errors of both";
    }
  }
  return "";
}

bool only_top_k(const Vector<Bound>& scores, const std::vector<Index>& chosen) {
  Index twice = -1;
  const std::vector<bool> taken = taken_of(scores, chosen, twice);
  if (twice >= 0) return false;
  for (const Index i : chosen) {
    for (Index j = 0; j < scores.size(); ++j) {
      if (!taken[static_cast<std::size_t>(j)] && !certainly_larger(scores[i], scores[j])) return false;
    }
  }
  return true;
}

std::string inadmissible_argmax(const Vector<Bound>& scores, Index chosen) {
  return inadmissible_top_k(scores, {chosen});
}

}  // namespace assay

#include "spec/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace assay::spec {
namespace {

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names, std::size_t how_many) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& other : names) ranked.push_back({distance(name, other), other});
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> best;
  for (std::size_t i = 0; i < std::min(how_many, ranked.size()); ++i) best.push_back(ranked[i].second);
  return best;
}

std::string suggest(const std::string& name, const std::vector<std::string>& names) {
  if (names.empty()) return "(there are none)";
  std::string text = "one like";
  for (const std::string& one : nearest(name, names)) text += (text == "one like" ? " " : ", ") + one;
  return text;
}

}  // namespace assay::spec

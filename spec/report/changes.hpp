#pragma once
#include <map>
#include <string>
#include <vector>

#include "spec/lists.hpp"
#include "spec/page.hpp"

namespace assay::spec {

/// The lines of spec/changes.tsv, by kind and id.
class Changes {
 public:
  explicit Changes(const std::vector<Change>& changes);
  /// Null if there is none.
  const Change* find(const std::string& kind, const std::string& id) const;
  /// Merged, dropped or moved: not asked of its concept any more.
  bool away(const std::string& kind, const std::string& id) const;
  /// What was moved to a concept under this id.
  const Change* moved_into(const std::string& kind, const std::string& id) const;
  /// Ids moved into the concept.
  std::vector<std::string> arrivals(const std::string& kind, const std::string& concept_id) const;

 private:
  std::map<std::pair<std::string, std::string>, Change> by_id_, by_target_;
};

/// Every disagreement between the lists, the changes and the pages, in words; none in a sound specification:
/// a claim or bug on the page of a listed concept that is not listed and does not say why (`extra`), or says so
/// although it is listed; a listed one that is neither on its concept's page nor changed, or both; another kind or
/// subject than listed without `altered`; a change into something that does not exist or was changed away itself.
std::vector<std::string> disagreements(const Lists& lists, const std::vector<Page>& pages);

}  // namespace assay::spec

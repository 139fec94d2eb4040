#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace assay::spec {

/// A target as `assay list targets` shows it; the caller knows them.
struct TargetLine {
  std::string name, says;
};

/// The names that `list` takes: concepts, claims, ops, bugs, targets.
const std::vector<std::string>& listable();

/// What is there, one a line. `what`: one of listable(); Error otherwise. Concepts, claims and bugs are those with a
/// page; what is listed and missing is the matter of `status`.
std::string list_text(const std::string& what, const std::vector<TargetLine>& targets = {});
nlohmann::ordered_json list_json(const std::string& what, const std::vector<TargetLine>& targets = {});

}  // namespace assay::spec

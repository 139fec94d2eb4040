#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace assay::spec {

/// What the caller knows and pages do not: the kinds of targets, and the contracts that have a name.
struct KnownLine {
  std::string name, says;
};
struct Known {
  std::vector<KnownLine> targets, contracts;
};

/// The names that `list` takes: concepts, claims, ops, bugs, targets, contracts.
const std::vector<std::string>& listable();

/// What is there, one a line. `what`: one of listable(); Error otherwise. Concepts, claims and bugs are those with a
/// page; what is listed and missing is the matter of `status`.
std::string list_text(const std::string& what, const Known& known = {});
nlohmann::ordered_json list_json(const std::string& what, const Known& known = {});

}  // namespace assay::spec

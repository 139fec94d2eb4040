#pragma once
#include <string>
#include <vector>

namespace assay::spec {

/// The `how_many` names that take the fewest edits (insert, remove, replace) to reach from `name`; ties in order of
/// name. What an error suggests for a name that does not exist.
std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names,
                                 std::size_t how_many = 3);
/// "one of a, b, c" of the nearest names, or "(there are none)".
std::string suggest(const std::string& name, const std::vector<std::string>& names);

}  // namespace assay::spec

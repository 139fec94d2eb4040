#pragma once
#include <string>
#include <vector>

namespace assay::spec {

/// The paths spec/CHAPTER/*.md below `root`, relative to it, sorted.
std::vector<std::string> pages_of(const std::string& root, const std::string& chapter);
/// The chapters that have a page, sorted.
std::vector<std::string> chapters_of(const std::string& root);
/// Throws Error if the file cannot be read.
std::string read_file(const std::string& path);
/// Writes to a temporary file and renames it, and only if the content differs from what is there: what depends on a
/// file that stays the same is not built again. Throws Error if that fails.
void write_if_changed(const std::string& path, const std::string& content);

}  // namespace assay::spec

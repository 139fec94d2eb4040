#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace assay::vectors {

struct Verification {
  std::vector<std::string> problems;  // each names a file and, where it can, a tensor
  std::size_t vectors = 0, bytes = 0;
};

/// Checks a folder of vectors: the manifest against its schema, its counts and flags; every file's size and digest, and
/// that it is a vector of the case the manifest says; that no file is without a line. With `regenerate` every vector of
/// the concepts in the manifest is computed anew and compared byte by byte. `progress` is told the concept at hand.
/// Throws Error if there is no readable manifest.
Verification verify(const std::filesystem::path& dir, bool regenerate,
                    const std::function<void(const std::string&)>& progress);

/// How two files of vectors differ: the first tensor or metadata key, and the first element. "" if they do not.
std::string difference(const std::vector<std::byte>& expected, const std::vector<std::byte>& found);

}  // namespace assay::vectors

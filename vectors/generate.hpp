#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "reference/core/file_io.hpp"
#include "spec/page.hpp"
#include "vectors/manifest.hpp"

namespace assay::vectors {

/// A vector as it is written.
struct Written {
  Entry entry;
  Bytes bytes;
};

/// The vectors of a page, the same bytes on every machine and with any number of threads.
std::vector<Written> make_vectors(const Page& page);

struct Progress {
  std::string concept_id;
  std::size_t vectors = 0, bytes = 0;
  double seconds = 0;
};

/// Writes the vectors of the concepts that match the glob below `dir`, and the manifest with its schema. The manifest
/// keeps its lines about other concepts that still have a page; files that it lists and that are no longer made are
/// removed. Throws Error if no concept with vectors matches.
void generate(const std::string& glob, const std::filesystem::path& dir,
              const std::function<void(const Progress&)>& progress);

}  // namespace assay::vectors

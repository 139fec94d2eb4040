#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::vectors {

/// The manifest's line about one vector.
struct Entry {
  std::string id, concept_id, claim, op, spelling;  // spelling: of the case
  std::int64_t seed = 0;
  std::string contract;
  std::vector<std::string> covers;
  std::string file;  // below the folder of the manifest
  std::int64_t bytes = 0;
  std::string sha256;
  std::vector<std::string> flags;

  bool operator==(const Entry&) const = default;
};

inline constexpr const char* manifest_name = "manifest.json";
inline constexpr const char* schema_name = "manifest.schema.json";

/// The one text of a manifest: vectors in the order given, one a line; flags, contracts and counts follow from them.
std::string manifest_text(const std::vector<Entry>& entries);

/// Reads a manifest. `problems` receives a line for each place where it breaks the schema, for counts that are not
/// those of the list, for a flag or contract that is used and not described or described and not used, for an id or
/// file that comes twice; with a broken schema nothing is returned. Throws Error if the file cannot be read or is no
/// JSON.
std::vector<Entry> read_manifest(const std::filesystem::path& path, std::vector<std::string>& problems);

}  // namespace assay::vectors

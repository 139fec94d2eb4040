#pragma once
#include <string>
#include <vector>

namespace assay::spec {

struct NewFile {
  std::string path, content;  // path from the root of the project
};

/// The files a new concept starts from: page, definition, claims, and (if the page has an op of its own) subject and
/// second opinion. Claims and bugs come from the lists. What is to be written says TODO; the page compiler refuses such
/// a page, and a claim that is not written fails.
///   concept_path "norm/rms"; op: its name, "" for CHAPTER_CONCEPT; the op of another page makes the page use it.
/// Throws Error for an unknown chapter or a name that is none.
std::vector<NewFile> skeleton(const std::string& concept_path, const std::string& op = "");

/// Writes them below `root` (a source tree of assay). Throws Error, and writes nothing, if one of them is there
/// already. Returns what to do next, for a person.
std::string create(const std::string& root, const std::string& concept_path, const std::string& op = "");

}  // namespace assay::spec

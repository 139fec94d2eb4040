#include "spec/compiler/files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "reference/core/error.hpp"
#include "spec/compiler/vocabulary.hpp"

namespace assay::spec {
namespace fs = std::filesystem;

std::vector<std::string> pages_of(const std::string& root, const std::string& chapter) {
  std::vector<std::string> paths;
  const fs::path folder = fs::path(root) / "spec" / chapter;
  if (!fs::is_directory(folder)) return paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".md") paths.push_back("spec/" + chapter + "/" + entry.path().filename().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> chapters_of(const std::string& root) {
  std::vector<std::string> list;
  for (const std::string& chapter : chapters())
    if (!pages_of(root, chapter).empty()) list.push_back(chapter);
  std::sort(list.begin(), list.end());
  return list;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw Error("cannot read " + path);
  return content.str();
}

void write_if_changed(const std::string& path, const std::string& content) {
  if (fs::exists(path) && read_file(path) == content) return;
  fs::create_directories(fs::path(path).parent_path());
  const std::string temporary = path + ".new";
  std::ofstream file(temporary, std::ios::binary);
  file << content;
  file.close();
  if (!file) throw Error("cannot write " + temporary);
  fs::rename(temporary, path);
}

}  // namespace assay::spec

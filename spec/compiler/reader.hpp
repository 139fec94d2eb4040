#pragma once
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "spec/compiler/vocabulary.hpp"
#include "spec/spelling.hpp"

namespace assay::spec {

/// One mistake in a page: `spec/softmax/safe.md:23: claims.sum1.kind: expected one of ..., found "boudn"`.
struct Mistake {
  std::string path;
  int line;
  std::string where, what;
  std::string text() const;
};

/// One entry of a mapping whose keys the page chooses (options, tensors, claims, bugs, sizes).
struct Entry {
  std::string name;
  YAML::Node key, value;
};

/// Reads typed values out of the YAML of one page, strictly, and collects every mistake with its line. A reader goes on
/// after a mistake with an empty value, so that one run shows them all.
class Reader {
 public:
  Reader(std::string path, int first_line) : path_(std::move(path)), first_line_(first_line) {}

  /// A mapping with fixed keys: unknown, repeated and missing ones are mistakes.
  std::map<std::string, YAML::Node> fields(const YAML::Node& node, const std::string& where, const Keys& keys);
  /// A mapping with chosen keys, in the order of the page; each a lower-case name, or an identifier if `upper`.
  std::vector<Entry> entries(const YAML::Node& node, const std::string& where, bool upper = false);
  std::string text(const YAML::Node& node, const std::string& where);
  std::vector<std::string> texts(const YAML::Node& node, const std::string& where);
  std::string one_of(const YAML::Node& node, const std::string& where, const Words& words);
  /// A C++ identifier that YAML 1.1 does not read as something else. `upper`: capitals are allowed.
  std::string identifier(const YAML::Node& node, const std::string& where, bool upper = false);
  long long integer(const YAML::Node& node, const std::string& where);
  double number(const YAML::Node& node, const std::string& where);
  bool is_sequence(const YAML::Node& node, const std::string& where);

  void mistake(const YAML::Node& at, const std::string& where, const std::string& what);
  void mistake_at(int line, const std::string& where, const std::string& what);
  int line(const YAML::Node& node) const;
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  std::string path_;
  int first_line_;
  std::vector<Mistake> mistakes_;
};

std::string quoted(const std::string& text);

}  // namespace assay::spec

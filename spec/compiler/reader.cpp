#include "spec/compiler/reader.hpp"

#include <charconv>
#include <cmath>

namespace assay::spec {
namespace {

// yaml-cpp tags a scalar "!" if it was quoted and "?" if it was plain.
bool is_plain(const YAML::Node& node) { return node.Tag() != "!"; }

std::string kind_of(const YAML::Node& node) {
  if (!node.IsDefined() || node.IsNull()) return "nothing";
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  return quoted(node.Scalar());
}

}  // namespace

std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::string Mistake::text() const {
  return path + ":" + std::to_string(line) + ": " + (where.empty() ? "" : where + ": ") + what;
}

int Reader::line(const YAML::Node& node) const {
  const YAML::Mark mark = node.IsDefined() ? node.Mark() : YAML::Mark::null_mark();
  return mark.is_null() ? first_line_ : mark.line + first_line_;
}

void Reader::mistake(const YAML::Node& at, const std::string& where, const std::string& what) {
  mistake_at(line(at), where, what);
}

void Reader::mistake_at(int line, const std::string& where, const std::string& what) {
  mistakes_.push_back({path_, line, where, what});
}

std::map<std::string, YAML::Node> Reader::fields(const YAML::Node& node, const std::string& where, const Keys& keys) {
  std::map<std::string, YAML::Node> found;
  if (!node.IsMap()) {
    Words all = keys.required;
    all.insert(all.end(), keys.optional.begin(), keys.optional.end());
    mistake(node, where, "expected a mapping with the keys " + join(all, ", ") + ", found " + kind_of(node));
    return found;
  }
  const std::string dot = where.empty() ? "" : where + ".";
  for (const auto& pair : node) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (!contains(keys.required, key) && !contains(keys.optional, key)) {
      Words all = keys.required;
      all.insert(all.end(), keys.optional.begin(), keys.optional.end());
      mistake(pair.first, dot + key,
              "unknown key: expected one of " + join(all, ", ") + ", found " + kind_of(pair.first));
    } else if (!found.emplace(key, pair.second).second) {
      mistake(pair.first, dot + key, "key given twice");
    }
  }
  for (const std::string& key : keys.required)
    if (!found.count(key)) mistake(node, dot + key, "required key is missing");
  return found;
}

std::vector<Entry> Reader::entries(const YAML::Node& node, const std::string& where, bool upper) {
  std::vector<Entry> list;
  if (!node.IsMap()) {
    mistake(node, where, "expected a mapping of names, found " + kind_of(node));
    return list;
  }
  std::set<std::string> names;
  for (const auto& pair : node) {
    const std::string name = identifier(pair.first, where, upper);
    if (name.empty()) continue;
    if (!names.insert(name).second) mistake(pair.first, where + "." + name, "name given twice");
    list.push_back({name, pair.first, pair.second});
  }
  return list;
}

std::string Reader::text(const YAML::Node& node, const std::string& where) {
  if (!node.IsScalar() || node.Scalar().empty()) {
    mistake(node, where, "expected text, found " + (node.IsScalar() ? "an empty text" : kind_of(node)));
    return "";
  }
  if (node.Scalar().rfind("TODO", 0) == 0) mistake(node, where, "still to be written: " + quoted(node.Scalar()));
  return node.Scalar();
}

bool Reader::is_sequence(const YAML::Node& node, const std::string& where) {
  if (node.IsSequence()) return true;
  mistake(node, where, "expected a list [...], found " + kind_of(node));
  return false;
}

std::vector<std::string> Reader::texts(const YAML::Node& node, const std::string& where) {
  std::vector<std::string> list;
  if (!is_sequence(node, where)) return list;
  for (const auto& item : node) {
    const std::string one = text(item, where);
    if (!one.empty()) list.push_back(one);
  }
  return list;
}

std::string Reader::one_of(const YAML::Node& node, const std::string& where, const Words& words) {
  std::string word = node.IsScalar() ? node.Scalar() : "";
  if (contains(words, word)) return word;
  mistake(node, where, "expected one of " + join(words, ", ") + ", found " + kind_of(node));
  return "";
}

std::string Reader::identifier(const YAML::Node& node, const std::string& where, bool upper) {
  std::string word = node.IsScalar() ? node.Scalar() : "";
  if (node.IsScalar() && is_plain(node) && is_yaml_word(word)) {
    mistake(node, where, "YAML reads " + quoted(word) + " as a boolean or as nothing: use another word");
    return "";
  }
  if (is_identifier(word, upper)) return word;
  mistake(node, where,
          std::string("expected a name of ") + (upper ? "letters" : "lower-case letters") +
              ", digits and single underscores that starts with a letter, found " + kind_of(node));
  return "";
}

long long Reader::integer(const YAML::Node& node, const std::string& where) {
  const std::string word = node.IsScalar() ? node.Scalar() : "";
  if (node.IsScalar() && is_plain(node) && is_integer(word)) return std::stoll(word);
  mistake(node, where, "expected an integer, found " + kind_of(node));
  return 0;
}

double Reader::number(const YAML::Node& node, const std::string& where) {
  const std::string word = node.IsScalar() ? node.Scalar() : "";
  double value = 0;
  if (!node.IsScalar() || !is_plain(node) || !is_number(word)) {
    mistake(node, where, "expected a number spelled like 1.0e-6 or 0.5, found " + kind_of(node));
    return 0;
  }
  if (std::from_chars(word.data(), word.data() + word.size(), value).ec != std::errc())
    mistake(node, where, "expected a number within the range of double, found " + quoted(word));
  return value;
}

}  // namespace assay::spec

#include <cctype>
#include <charconv>

#include "spec/compiler/compile.hpp"

namespace assay::spec {
namespace {

std::string camel(const std::string& name) {
  std::string out;
  bool capital = true;
  for (char c : name) {
    if (c == '_') {
      capital = true;
    } else {
      out += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      capital = false;
    }
  }
  return out;
}

std::string number(double value) {
  char buffer[40];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string enumerator(const std::string& name) { return is_reserved(name) ? name + "_" : name; }

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\\') c = ' ';
  return text;
}

std::string member(const OptionSpec& option) {
  const std::string comment = "  /// " + one_line(option.says) + "\n";
  if (option.numeric()) return comment + "  double " + option.name + " = " + number(option.numbers.front()) + ";\n";
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + enumerator(name);
  const std::string type = camel(option.name);
  return "  enum class " + type + " { " + names + " };\n" + comment + "  " + type + " " + option.name + " = " + type +
         "::" + enumerator(option.names.front()) + ";\n";
}

std::string from(const OpSpec& op, const std::string& type) {
  const std::string count = std::to_string(op.options.size());
  std::string out = "  static " + type + " from(const std::vector<double>& all) {\n    if (all.size() != " + count +
                    ") throw Error(\"options of " + op.name + "\", \"" + count +
                    " values\", std::to_string(all.size()));\n    " + type + " options;\n";
  for (std::size_t i = 0; i < op.options.size(); ++i) {
    const OptionSpec& option = op.options[i];
    const std::string value = "all[" + std::to_string(i) + "]";
    if (option.numeric()) {
      out += "    options." + option.name + " = " + value + ";\n";
      continue;
    }
    const std::string n = std::to_string(option.names.size()), type_name = camel(option.name);
    // Compared in double: a cast of NaN or of a huge value to int is undefined.
    out += "    {\n      int index = 0;\n      while (index < " + n + " && " + value + " != index) ++index;\n" +
           "      if (index == " + n + ") throw Error(\"option " + option.name + " of " + op.name +
           "\", \"the index of one of " + join(option.names, ", ") + "\", std::to_string(" + value + "));\n" +
           "      options." + option.name + " = static_cast<" + type_name + ">(index);\n    }\n";
  }
  return out + "    return options;\n  }\n";
}

std::string values(const OpSpec& op) {
  std::string list;
  for (const OptionSpec& option : op.options) {
    if (!list.empty()) list += ", ";
    list += option.numeric() ? option.name : "static_cast<double>(" + option.name + ")";
  }
  return "  std::vector<double> values() const { return {" + list + "}; }\n";
}

}  // namespace

std::string options_header(const Page& page) {
  std::string out = "// Generated from " + page.path + " by spec/compiler; do not edit.\n#pragma once\n";
  if (!page.has_op) return out + "// The page has no op of its own.\n";
  const std::string type = camel(page.op.name) + "Options";
  out += "#include <string>\n#include <vector>\n\n#include \"reference/core/error.hpp\"\n\nnamespace assay {\n\n";
  out += "/// The options of op " + page.op.name + " (" + page.path +
         "). The first value of each is the default.\nstruct " + type + " {\n";
  for (const OptionSpec& option : page.op.options) out += member(option);
  out +=
      "\n  /// From one value per option in the order of the page: the index of a named value, or the number "
      "itself.\n" +
      std::string("  /// Throws Error if there are more or fewer, or if an index is none.\n") + from(page.op, type) +
      "  /// The inverse of from().\n" + values(page.op) + "  bool operator==(const " + type +
      "&) const = default;\n};\n\n}  // namespace assay\n";
  return out;
}

}  // namespace assay::spec

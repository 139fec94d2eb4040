#include "conformance/mutate/instrument.hpp"

#include <sstream>

#include "reference/core/error.hpp"

namespace assay::mutate {
namespace {

std::string trimmed(const std::string& line) {
  const std::size_t from = line.find_first_not_of(" \t\r");
  return from == std::string::npos ? "" : line.substr(from, line.find_last_not_of(" \t\r") - from + 1);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

/// Where the includes end: offset and number of the line after the last.
std::pair<std::size_t, int> after_includes(std::string_view source) {
  std::size_t offset = 0, at = 0;
  int line = 1, next = 1;
  while (at < source.size()) {
    std::size_t end = source.find('\n', at);
    end = end == std::string_view::npos ? source.size() : end + 1;
    ++line;
    if (source.substr(at, 8) == "#include") offset = end, next = line;
    at = end;
  }
  return {offset, next};
}

}  // namespace

Edits::Edits(const std::vector<Token>& tokens, std::string_view source) : t(tokens), at(tokens) {
  for (const Token& token : tokens) edits_.push_back({"", token.text, ""});
  std::istringstream in{std::string(source)};
  for (std::string line; std::getline(in, line);) lines_.push_back(trimmed(line));
}

int Edits::add(int i, const std::string& kind, const std::string& original,
               const std::vector<std::string>& descriptions) {
  const Token& token = t[index(i)];
  const int first = static_cast<int>(mutants.size()) + 1;
  for (const std::string& d : descriptions) {
    const int id = static_cast<int>(mutants.size()) + 1;
    mutants.push_back(
        {id, token.line, token.column, original, kind, d, lines_[static_cast<std::size_t>(token.line - 1)]});
  }
  return first;
}

std::string Edits::spelled(int i, int j) const {
  std::string s;
  for (int k = i; k <= j; ++k) s += (k > i && !t[index(k)].leading.empty() ? " " : "") + t[index(k)].text;
  return s;
}

std::string Edits::result(const std::string& trailing) const {
  std::string s;
  for (std::size_t i = 0; i < t.size(); ++i) s += t[i].leading + edits_[i].before + edits_[i].text + edits_[i].after;
  return s + trailing;
}

Instrumented instrument(std::string_view source, const std::string& op, const std::string& name) {
  const auto [offset, line] = after_includes(source);
  const std::string head(source.substr(0, offset));
  // The head's lines stay in place of a prefix of blank lines, so that positions are those of the file.
  const Lexed lexed = lex(std::string(static_cast<std::size_t>(line - 1), '\n') + std::string(source.substr(offset)));
  Edits e(lexed.tokens, source);
  freeze_planted_bugs(e);
  statements(e);
  guards(e);
  operators(e);
  operands(e);
  if (e.mutants.empty()) throw Error("nothing to mutate in " + name, "a function body with a mutable site", "none");

  std::ostringstream out;
  out << "// Generated from " << name << ": every mutable site asks whether its mutant is on.\n" << head;
  out << "#include \"conformance/mutate/proxies.hpp\"\n"
      << "#pragma GCC diagnostic ignored \"-Wparentheses\"\n"
      << "#pragma GCC diagnostic ignored \"-Wimplicit-fallthrough\"\n"
      << "namespace mu = ::assay::mutate;\n"
      << "namespace {\nconst ::assay::MutantInfo mutants_" << op << "[] = {\n";
  for (const Mutant& m : e.mutants) {
    out << "    {" << m.id << ", " << m.line << ", " << m.column << ", " << quoted(m.original) << ", " << quoted(m.kind)
        << ", " << quoted(m.description) << ", " << quoted(m.source) << "},\n";
  }
  out << "};\n}\n#undef SUBJECT\n#define SUBJECT(op) ASSAY_MUTANTS(op, mutants_##op)\n";
  const std::string body = e.result(lexed.trailing);
  out << "#line " << line << " " << quoted(name) << "\n" << body.substr(static_cast<std::size_t>(line - 1));
  return {out.str(), std::move(e.mutants)};
}

}  // namespace assay::mutate

#include "conformance/mutate/structure.hpp"

#include "reference/core/error.hpp"

namespace assay::mutate {
namespace {

const std::set<std::string, std::less<>> types = {"void",     "bool",    "char",    "short",    "int",      "long",
                                                  "float",    "double",  "signed",  "unsigned", "size_t",   "int8_t",
                                                  "int16_t",  "int32_t", "int64_t", "uint8_t",  "uint16_t", "uint32_t",
                                                  "uint64_t", "Index",   "auto",    "ptrdiff_t"};
const std::set<std::string, std::less<>> keywords = {"return",        "if",          "else",       "for",
                                                     "while",         "do",          "switch",     "case",
                                                     "default",       "break",       "continue",   "throw",
                                                     "new",           "delete",      "sizeof",     "const",
                                                     "constexpr",     "static",      "using",      "struct",
                                                     "class",         "enum",        "union",      "typename",
                                                     "goto",          "try",         "catch",      "operator",
                                                     "template",      "namespace",   "this",       "true",
                                                     "false",         "nullptr",     "inline",     "mutable",
                                                     "static_assert", "static_cast", "const_cast", "reinterpret_cast",
                                                     "typedef",       "co_return",   "noexcept",   "thread_local",
                                                     "volatile"};
const std::set<std::string, std::less<>> templates = {
    "static_cast", "const_cast",     "reinterpret_cast", "bit_cast", "vector",     "array", "pair", "tuple",
    "span",        "numeric_limits", "template",         "function", "unique_ptr", "map",   "set",  "optional"};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  for (std::string_view w : words) {
    if (w == word) return true;
  }
  return false;
}

}  // namespace

bool Structure::builtin_type(std::string_view word) { return types.count(word) != 0; }

Structure::Structure(const std::vector<Token>& tokens) : t_(tokens), places_(tokens.size()) {
  angles();
  brackets();
  statements();
  loops();
  frozen_places();
}

const std::string& Structure::text(int i) const {
  static const std::string nothing;
  return i < 0 || i >= size() ? nothing : t_[static_cast<std::size_t>(i)].text;
}

bool Structure::identifier(int i) const {
  return i >= 0 && i < size() && t_[static_cast<std::size_t>(i)].kind == Kind::identifier &&
         keywords.count(text(i)) == 0 && types.count(text(i)) == 0;
}

bool Structure::ends_operand(int i) const {
  if (i < 0) return false;
  const Kind kind = t_[static_cast<std::size_t>(i)].kind;
  if (kind == Kind::number || kind == Kind::text || identifier(i) ||
      one_of(text(i), {"this", "true", "false", "nullptr", "]"}))
    return true;
  if (text(i) == "++" || text(i) == "--") return ends_operand(i - 1);  // postfix
  if (text(i) != ")") return text(i) == "}" && (*this)[i].brace == Brace::initializer;
  for (int j = (*this)[i].match + 1; j < i; ++j) {  // a cast (float), not a parenthesised operand
    if (!builtin_type(text(j)) && !one_of(text(j), {"const", "*", "&", "std", "::"})) return true;
  }
  return (*this)[i].match + 1 == i;  // f()
}

int Structure::close_angle(int i) const {
  if (!identifier(i - 1) && templates.count(text(i - 1)) == 0) return -1;
  int first = i + 1;
  while (one_of(text(first), {"const", "std", "::", "class", "typename"})) ++first;
  if (templates.count(text(i - 1)) == 0 && !builtin_type(text(first))) return -1;
  int depth = 0;
  for (int j = i; j < size(); ++j) {
    const std::string& s = text(j);
    if (s == "<") ++depth;
    if (s == ">" && --depth == 0) return j;
    if (s == ">>" && (depth -= 2) <= 0) return j;
    const bool fits = t_[static_cast<std::size_t>(j)].kind == Kind::identifier ||
                      t_[static_cast<std::size_t>(j)].kind == Kind::number ||
                      one_of(s, {"<", ">", ">>", "::", ",", "*", "&", "..."});
    if (!fits) return -1;
  }
  return -1;
}

void Structure::angles() {
  for (int i = 0; i < size(); ++i) {
    if (!is(i, "<")) continue;
    const int close = close_angle(i);
    if (close < 0) continue;
    at(i).match = close;
    at(close).match = i;
    for (int j = i; j <= close; ++j) {
      at(j).frozen = true;
      at(j).angle = one_of(text(j), {"<", ">", ">>"});
    }
    i = close;
  }
}

Brace Structure::kind_of_brace(int i, int open) const {
  const std::string& before = text(i - 1);
  const Brace around = open < 0 ? Brace::scope : (*this)[open].brace;
  if (one_of(before, {")", "else", "do", "try", "const", "noexcept", "override", "mutable"})) return Brace::block;
  if (before == "]") return Brace::block;  // a lambda without parameters
  bool arrow = false;
  for (int j = i - 1; j > open && !one_of(text(j), {";", "{", "}", "(", ")"}); --j) {
    if (one_of(text(j), {"struct", "class", "union"}) && !(*this)[j].frozen) return Brace::record;
    if (is(j, "enum")) return Brace::enumeration;
    if (one_of(text(j), {"namespace", "extern"})) return Brace::scope;
    if (is(j, "->")) arrow = true;
  }
  if (arrow) return Brace::block;
  if (one_of(before, {";", "{", "}", ":"}) && around == Brace::block) return Brace::block;
  return Brace::initializer;
}

void Structure::brackets() {
  std::vector<int> open;
  for (int i = 0; i < size(); ++i) {
    const std::string& s = text(i);
    at(i).open = open.empty() ? -1 : open.back();
    at(i).body = !open.empty() && (*this)[open.back()].body;
    if (one_of(s, {"(", "[", "{"})) {
      if (s == "{") {
        at(i).brace = kind_of_brace(i, at(i).open);
        if (at(i).brace == Brace::block) at(i).body = true;
        if (at(i).brace == Brace::record || at(i).brace == Brace::enumeration) at(i).body = false;
      }
      open.push_back(i);
    } else if (one_of(s, {")", "]", "}"})) {
      if (open.empty())
        throw Error("a bracket closes nothing", "balanced brackets",
                    s + " in line " + std::to_string(t_[static_cast<std::size_t>(i)].line));
      at(i).match = open.back();
      at(open.back()).match = i;
      at(i).brace = (*this)[open.back()].brace;
      open.pop_back();
      at(i).open = open.empty() ? -1 : open.back();
    }
  }
  if (!open.empty())
    throw Error("a bracket is not closed", "balanced brackets",
                text(open.back()) + " in line " + std::to_string(t_[static_cast<std::size_t>(open.back())].line));
}

void Structure::statements() {
  for (int i = 1; i < size(); ++i) {
    const int open = (*this)[i].open;
    if (open < 0 || (*this)[open].brace != Brace::block || is(i, ";") || is(i, "}")) continue;
    const int before = i - 1;
    bool starts =
        one_of(text(before), {";", "{", "else", "do"}) || (is(before, "}") && (*this)[before].brace == Brace::block);
    if (is(before, ":")) {  // a label, not the end of a conditional expression
      int j = before - 1;
      while (j > open && !one_of(text(j), {";", "{", "}", "?"})) --j;
      starts = one_of(text(j + 1), {"case", "default"});
    }
    if (is(before, ")")) {
      const int head = (*this)[before].match - 1;
      starts = one_of(text(head), {"if", "for", "while", "switch"}) || (is(head, "constexpr") && is(head - 1, "if"));
    }
    at(i).statement = starts;
  }
}

int Structure::find(int i, const std::set<std::string>& which) const {
  for (; i < size(); ++i) {
    if (which.count(text(i)) != 0 && !(*this)[i].angle) return i;
    if (one_of(text(i), {")", "]", "}"})) return i;
    if (one_of(text(i), {"(", "[", "{"})) i = (*this)[i].match;
  }
  return size() - 1;
}

int Structure::statement_end(int i) const {
  if (is(i, "{")) return (*this)[i].match;
  if (one_of(text(i), {"for", "while", "switch", "if"})) {
    const int head = is(i + 1, "constexpr") ? i + 2 : i + 1;
    const int end = statement_end((*this)[head].match + 1);
    return is(i, "if") && is(end + 1, "else") ? statement_end(end + 2) : end;
  }
  if (is(i, "do")) return find(statement_end(i + 1) + 1, {";"});
  return find(i, {";"});
}

bool Structure::declaration(int i) const {
  return declared_name(i) >= 0 ||
         one_of(text(i), {"const", "static", "auto", "constexpr", "using", "struct", "class", "typedef"}) ||
         builtin_type(text(i));
}

int Structure::declared_name(int i) const {
  while (one_of(text(i), {"const", "static", "constexpr", "volatile"})) ++i;
  if (!builtin_type(text(i)) && !identifier(i)) return -1;
  while (builtin_type(text(i)) && builtin_type(text(i + 1))) ++i;  // unsigned long
  while (is(i + 1, "::")) i += 2;
  ++i;
  if (is(i, "<")) {
    if (!(*this)[i].angle) return -1;
    i = (*this)[i].match + 1;
    while (is(i, "::")) i += 2;
  }
  while (one_of(text(i), {"*", "&", "const"})) ++i;
  return identifier(i) && one_of(text(i + 1), {"=", "(", "{", ";", "[", ",", ":"}) ? i : -1;
}

void Structure::loops() {
  for (int i = 0; i < size(); ++i) {
    if (!(*this)[i].body) continue;
    int from = -1;
    if (one_of(text(i), {"for", "while"}) && is(i + 1, "(") && !is((*this)[i + 1].match + 1, ";"))
      from = (*this)[i + 1].match + 1;
    if (is(i, "do")) from = i + 1;
    if (from < 0) continue;
    for (int j = from; j <= statement_end(from); ++j) ++at(j).loops;
  }
}

void Structure::freeze(int from, int to) {
  for (int j = from; j <= to; ++j) at(j).frozen = true;
}

void Structure::frozen_places() {
  for (int i = 0; i < size(); ++i) {
    if ((*this)[i].statement && one_of(text(i), {"static_assert", "using", "typedef"})) freeze(i, statement_end(i));
    if (is(i, "constexpr") && !is(i - 1, "if")) freeze(i, find(i, {";"}));
    if (is(i, "constexpr") && is(i - 1, "if")) freeze(i, (*this)[i + 1].match);
    if (is(i, "case")) freeze(i, find(i, {":"}));
    if (is(i, "[")) {
      const int before = i - 1;
      const bool bound = identifier(before) &&
                         (builtin_type(text(before - 1)) || (identifier(before - 1) && (*this)[before - 1].statement));
      if (bound || !ends_operand(before)) freeze(i, (*this)[i].match);  // float a[8], or a capture
    }
  }
}

}  // namespace assay::mutate

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "conformance/mutate/instrument.hpp"
#include "reference/core/error.hpp"

namespace assay::mutate {
namespace {

std::string number(int k) { return std::to_string(k); }

/// The digits of a literal without separators, and its suffix.
std::pair<std::string, std::string> split(const std::string& literal) {
  std::string digits, suffix;
  for (char c : literal) {
    if (c != '\'') digits += c;
  }
  const bool hex = digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X";
  std::string suffixes = is_floating(literal) || !hex ? "fFlLuUzZ" : "lLuUzZ";
  while (suffixes.find(digits.back()) != std::string::npos) {
    suffix = digits.back() + suffix;
    digits.pop_back();
  }
  return {digits, suffix};
}

std::string spell_float(double v, const std::string& suffix) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), suffix.empty() ? "%.17g" : "%.9g", v);
  std::string s = text.data();
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  return s + suffix;
}

/// What a literal becomes: one more, one less, zero; for a number so large or small that one more is no mutation, twice
/// and half of it.
std::vector<std::string> alternatives(const std::string& literal) {
  const auto [digits, suffix] = split(literal);
  std::vector<std::string> out;
  if (is_floating(literal)) {
    const double v = std::strtod(digits.c_str(), nullptr);
    if (v != 0 && (v >= 1e6 || v <= 1e-3)) {
      const std::string half = spell_float(v / 2, suffix);
      if (2 * v < 3e38) out.push_back(spell_float(2 * v, suffix));
      out.push_back(half);
    } else {
      out.push_back(spell_float(v + 1, suffix));
      if (v != 1) out.push_back(spell_float(v - 1, suffix));
    }
    if (v != 0) out.push_back(spell_float(0, suffix));
    return out;
  }
  const unsigned long long v = std::strtoull(digits.c_str(), nullptr, 0);
  if (v < 0x7ffffffe || (v > 0x7fffffff && v < 0x7ffffffffffffffe)) out.push_back(std::to_string(v + 1) + suffix);
  const bool is_unsigned = suffix.find_first_of("uU") != std::string::npos;
  if (v > 0) out.push_back(std::to_string(v - 1) + suffix);
  if (v == 0 && !is_unsigned) out.push_back("-1" + suffix);
  if (v > 1) out.push_back("0" + suffix);
  return out;
}

void literal(Edits& e, int i) {
  const Structure& at = e.at;
  const std::string text = at.text(i);
  const int open = at[i].open;
  // {0} in an initialiser must stay a constant: a call that returns int would narrow.
  if (!is_floating(text) && open >= 0 && at[open].brace == Brace::initializer) return;
  std::vector<std::string> to = alternatives(text), says;
  for (const std::string& other : to) says.push_back(text + " becomes " + other);
  const int k = e.add(i, "constant", text, says);
  std::string call = "mu::literal_(" + number(k) + ", " + text;
  for (const std::string& other : to) call += ", " + other;
  e.replace(i, call + ")");
}

void truth(Edits& e, int i) {
  const std::string value = e.at.text(i), other = value == "true" ? "false" : "true";
  const int k = e.add(i, "constant", value, {value + " becomes " + other});
  e.replace(i, "mu::literal_(" + number(k) + ", " + value + ", " + other + ")");
}

/// f(i, j) with two plain names side by side.
void swapped(Edits& e, int open) {
  const Structure& at = e.at;
  static const std::set<std::string> symmetric = {"max", "min", "fmax",  "fmin",   "swap",
                                                  "if",  "for", "while", "switch", "return"};
  if (!at.identifier(open - 1) || symmetric.count(at.text(open - 1)) != 0 || at.identifier(open - 2) ||
      at.builtin_type(at.text(open - 2)) || at[open - 2].angle || at.is(open - 2, "&") || at.is(open - 2, "*"))
    return;  // no call, but a declaration
  const int close = at[open].match;
  const bool store = at.is(open - 1, "set");
  for (int i = open + 1; i + 2 < close; i = at.find(i, {","}) + 1) {
    const bool plain =
        at.identifier(i) && at.is(i + 1, ",") && at.identifier(i + 2) && (at.is(i + 3, ",") || i + 3 == close);
    if (!plain || !e.open(i) || !e.open(i + 2) || at.text(i) == at.text(i + 2)) continue;
    const int k = e.add(i, "arguments", at.text(open - 1) + "(" + at.text(i) + ", " + at.text(i + 2) + ")",
                        {"arguments swapped"});
    const std::string a = e.now(i), b = e.now(i + 2);
    e.replace(i, "mu::pick_(" + number(k) + ", " + a + ", " + at.text(i + 2) + ")");
    e.replace(i + 2, "mu::pick_(" + number(k) + ", " + b + ", " + at.text(i) + ")");
    if (store) break;  // set(i, j, value): the value stays
  }
}

const std::map<std::string, std::vector<std::string>> functions = {
    {"max", {"max becomes min", "second argument dropped", "first argument dropped"}},
    {"min", {"min becomes max", "second argument dropped", "first argument dropped"}},
    {"fmax", {"fmax becomes fmin", "second argument dropped", "first argument dropped"}},
    {"fmin", {"fmin becomes fmax", "second argument dropped", "first argument dropped"}},
    {"exp", {"exp becomes exp2"}},
    {"exp2", {"exp2 becomes exp"}},
    {"log", {"log becomes log2"}},
    {"log2", {"log2 becomes log"}},
    {"sqrt", {"sqrt dropped"}},
    {"abs", {"abs dropped"}},
    {"fabs", {"fabs dropped"}},
};

void function(Edits& e, int name) {
  const Structure& at = e.at;
  const auto known = functions.find(at.text(name));
  if (known == functions.end() || !at.is(name - 1, "::") || !at.is(name - 2, "std") || at.is(name - 3, "::")) return;
  const int open = at[name + 1].angle ? at[name + 1].match + 1 : name + 1;
  if (!at.is(open, "(") || at.is(open + 1, "{")) return;
  int arguments = 1;
  for (int i = at.find(open + 1, {","}); at.is(i, ","); i = at.find(i + 1, {","})) ++arguments;
  if (arguments != (known->second.size() == 3 ? 2 : 1)) return;
  const int k = e.add(name, "function", "std::" + at.text(name), known->second);
  e.replace(name - 2, "mu");
  e.replace(name, at.text(name) + "_");
  e.replace(open, "(" + number(k) + ", ");
}

}  // namespace

void operands(Edits& e) {
  const Structure& at = e.at;
  for (int i = 0; i < at.size(); ++i) {
    if (!e.open(i)) continue;
    if (e.t[static_cast<std::size_t>(i)].kind == Kind::number) literal(e, i);
    if (at.is(i, "true") || at.is(i, "false")) truth(e, i);
    if (at.is(i, "(")) swapped(e, i);
    function(e, i);
    if (at.is(i, "[") && at.identifier(i - 1) && !at.is(i - 2, ".") && !at.is(i - 2, "->") && !at.is(i - 2, "::") &&
        !at.identifier(i - 2) && !at[i - 2].angle)
      e.replace(i - 1, "mu::checked_(" + e.now(i - 1) + ")");
  }
}

}  // namespace assay::mutate

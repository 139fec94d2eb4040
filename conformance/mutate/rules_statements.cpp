#include "conformance/mutate/instrument.hpp"

namespace assay::mutate {
namespace {

bool compound(const std::string& op) { return op == "+=" || op == "-=" || op == "*=" || op == "/="; }

/// Names that hold floating-point numbers anywhere in the file: float m, sum = 0; std::vector<float> row.
std::set<std::string> floating_names(const Structure& at) {
  std::set<std::string> names;
  for (int i = 0; i < at.size(); ++i) {
    if (!at.is(i, "float") && !at.is(i, "double")) continue;
    int j = i + 1;
    if (at[j].angle) ++j;
    while (at.is(j, "*") || at.is(j, "&") || at.is(j, "const")) ++j;
    if (at.identifier(j)) names.insert(at.text(j));
    for (int k = at.find(j, {",", ";"}); at.is(k, ",") && !at[i].frozen; k = at.find(k + 1, {",", ";"})) {
      if (at.identifier(k + 1) && (at.is(k + 2, "=") || at.is(k + 2, ",") || at.is(k + 2, ";")))
        names.insert(at.text(k + 1));
    }
  }
  return names;
}

/// Whether this brace opens the body of a function, not of a statement in one.
bool function_body(const Structure& at, int brace) {
  if (at[brace].brace != Brace::block) return false;
  const std::string& before = at.text(brace - 1);
  if (before == "else" || before == "do" || before == "try" || before == ";" || before == "{" || before == "}" ||
      before == ":")
    return false;
  if (before != ")") return true;
  const std::string& head = at.text(at[brace - 1].match - 1);
  return head != "if" && head != "for" && head != "while" && head != "switch" && head != "catch" && head != "constexpr";
}

/// Whether the body that begins at this brace belongs to a function that returns float or double.
bool returns_floating(const Structure& at, int brace) {
  int i = brace - 1;
  while (i >= 0 && !at.is(i, ";") && !at.is(i, "{") && !at.is(i, "}")) {
    if (at.is(i, ")")) i = at[i].match;
    if ((at.is(i, "float") || at.is(i, "double")) && !at.is(i + 1, "*")) return true;
    --i;
  }
  return false;
}

void scale(Edits& e, int after_token, const std::string& what, int first, int last) {
  if (first > last || e.at.is(first, "{")) return;
  const bool literal = first == last && (e.t[static_cast<std::size_t>(first)].kind == Kind::number);
  if (literal || e.at.is(last, "INFINITY") || e.at.is(last, "NAN")) return;
  const int k = e.add(first, "scale", what + e.spelled(first, last), {"multiplied by 1.001", "multiplied by 1 + 2^-8"});
  e.replace(after_token, e.now(after_token) + " mu::scaled_{" + std::to_string(k) + "} =");
}

/// Whether what stands left of this `=` is a floating-point variable, member or element.
bool floating_target(const Structure& at, int assign, const std::set<std::string>& floats) {
  int name = assign - 1;
  if (at.is(name, "]")) name = at[name].match - 1;
  if (!at.identifier(name) || floats.count(at.text(name)) == 0) return false;
  int start = name;
  while (start > 0 && !at[start].statement && at[start].open == at[assign].open) --start;
  const int declared = at[start].statement ? at.declared_name(start) : -1;
  if (declared < 0) return true;
  bool number = false;
  for (int i = start; i < declared; ++i) {
    if (at.is(i, "*") || at.is(i, "&")) return false;  // a reference cannot be bound to what was scaled
    if (at.is(i, "float") || at.is(i, "double")) number = true;
  }
  return number;
}

/// A variable declared in a loop: from the second pass on it starts with what the first pass left.
void stale(Edits& e, int start, int name) {
  const Structure& at = e.at;
  if (at[start].loops == 0 || at.is(start, "const") || at.is(start, "static") || at.is(start, "auto") ||
      at.is(name - 1, "&") || at.is(name - 1, "*"))
    return;
  const bool vector = at.is(name - 1, ">") && at.is(name + 1, "(");
  const std::string type = e.spelled(start, name - 1);
  const int end = at.statement_end(start);
  for (int n = name; n < end;) {
    const int next = at.find(n, {",", ";"});
    if (at.is(n + 1, "=") || (vector && n == name)) {
      const int k =
          e.add(n, "stale", type + " " + e.spelled(n, next - 1), {"initialised in the first pass of the loop only"});
      e.replace(n, "&" + at.text(n) + (vector ? " = " : ""));
      const std::string slot = "mu::stale_<" + type + ", " + std::to_string(k) + ">()";
      if (vector)
        e.replace(n, e.now(n) + slot);
      else
        e.replace(n + 1, "= " + slot + " =");
    }
    n = next + 1;
    if (at.is(next, ";") || !at.identifier(n)) break;
  }
}

}  // namespace

void statements(Edits& e) {
  const Structure& at = e.at;
  const std::set<std::string> floats = floating_names(at);
  for (int i = 0; i < at.size(); ++i) {
    if (!e.open(i)) continue;
    if (at[i].statement) {
      const int end = at.statement_end(i), name = at.declared_name(i);
      if (name >= 0) {
        stale(e, i, name);
      } else if ((at.identifier(i) && !at.declaration(i) && !at.is(i + 1, ":")) || at.is(i, "++") || at.is(i, "--") ||
                 at.is(i, "*") || at.is(i, "continue") || at.is(i, "break") ||
                 (at.is(i, "return") && at.is(i + 1, ";"))) {
        const int k = e.add(i, "statement", e.spelled(i, end), {"dropped"});
        e.before(i, "{ if (mu::keep_(" + std::to_string(k) + ")) ");
        e.after(end, " }");
      }
      if (at.is(i, "return") && !at.is(i + 1, ";")) {
        int brace = at[i].open;
        while (brace >= 0 && !function_body(at, brace)) brace = at[brace].open;
        if (brace >= 0 && returns_floating(at, brace)) scale(e, i, "return ", i + 1, end - 1);
      }
    }
    if (at.is(i, "=") && floating_target(at, i, floats)) {
      const int name = at.is(i - 1, "]") ? at[i - 1].match - 1 : i - 1;
      scale(e, i, e.spelled(name, i) + " ", i + 1, at.find(i + 1, {",", ";"}) - 1);
    }
    if (at.is(i, "set") && at.is(i - 1, ".") && at.is(i + 1, "(")) {  // out.set(i, j, value)
      int comma = -1;
      for (int k = at.find(i + 2, {","}); at.is(k, ","); k = at.find(k + 1, {","})) comma = k;
      if (comma >= 0) scale(e, comma, "", comma + 1, at[i + 1].match - 1);
    }
    if (compound(at.text(i))) {
      const std::string op = at.text(i), inverse = op == "+=" ? "-=" : op == "-=" ? "+=" : op == "*=" ? "/=" : "*=";
      const int k = e.add(i, "assignment", op, {op + " becomes =", op + " becomes " + inverse});
      const std::string proxy = op == "+="   ? "add_to_"
                                : op == "-=" ? "take_from_"
                                : op == "*=" ? "times_to_"
                                             : "over_to_";
      e.replace(i, op + " mu::" + proxy + "{" + std::to_string(k) + "} " + op);
    }
  }
}

}  // namespace assay::mutate

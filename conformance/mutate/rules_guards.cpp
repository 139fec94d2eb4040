#include "conformance/mutate/instrument.hpp"

namespace assay::mutate {
namespace {

std::string number(int k) { return std::to_string(k); }

bool plain_condition(const Structure& at, int open) {  // no declaration, assignment, comma or ?: at its top level
  const int stop = at.find(open + 1, {";", ",", "=", "?", "+=", "-=", "*=", "/="});
  return stop == at[open].match && open + 1 < stop;
}

void guard(Edits& e, int i) {
  const int open = i + 1, close = e.at[open].match;
  if (!plain_condition(e.at, open)) return;
  const int k = e.add(i, "guard", "if (" + e.spelled(open + 1, close - 1) + ")", {"always taken", "never taken"});
  e.before(close, " || mu::guard_{" + number(k) + "}");
}

/// for (...; i < n; ++i): every pass is counted, and the last may be skipped.
void for_loop(Edits& e, int i) {
  const Structure& at = e.at;
  const int open = i + 1, close = at[open].match;
  const int first = at.find(open + 1, {";"});
  if (!at.is(first, ";")) return;  // a range
  const int second = at.find(first + 1, {";"});
  if (at.find(first + 1, {",", "?"}) < second) return;
  if (second == first + 1) return e.before(second, " true || mu::pass_{}");
  const int name = first + 1;
  std::string step;  // the loop variable, one step on
  if ((at.is(second + 1, "++") || at.is(second + 1, "--")) && at.text(second + 2) == at.text(name) &&
      second + 3 == close)
    step = at.is(second + 1, "++") ? "+ 1" : "- 1";
  if (at.text(second + 1) == at.text(name) && (at.is(second + 2, "++") || at.is(second + 2, "--")))
    step = at.is(second + 2, "++") ? "+ 1" : "- 1";
  const std::string assign = at.text(second + 2);
  if (at.text(second + 1) == at.text(name) && assign.size() == 2 && assign[1] == '=' &&
      std::string("+-*/").find(assign[0]) != std::string::npos)
    step = std::string(1, assign[0]) + " (" + e.spelled(second + 3, close - 1) + ")";
  const std::string compare = at.text(name + 1);
  if (at.identifier(name) && !step.empty() &&
      (compare == "<" || compare == "<=" || compare == ">" || compare == ">=" || compare == "!=")) {
    const int k =
        e.add(name, "loop", "for (...; " + e.spelled(name, second - 1) + "; " + e.spelled(second + 1, close - 1) + ")",
              {"the last pass is skipped"});
    e.replace(name, "(mu::keep_(" + number(k) + ") ? " + at.text(name) + " : " + at.text(name) + " " + step + ")");
  }
  e.before(second, " || mu::pass_{}");
}

void while_loop(Edits& e, int i) {
  if (plain_condition(e.at, i + 1)) e.before(e.at[i + 1].match, " || mu::pass_{}");
}

/// An operand of a chain of && or ||: its tokens.
std::pair<int, int> operand(const Structure& at, int op, bool left) {
  const std::set<std::string> lower = {"||", "?", ":", "=", ",", ";", "+=", "-=", "*=", "/=", "return", "throw"};
  std::set<std::string> stops = lower;
  stops.insert("&&");
  if (at.is(op, "||")) stops.erase("&&");
  int i = op + (left ? -1 : 1);
  for (;; i += left ? -1 : 1) {
    const std::string& s = at.text(i);
    if (stops.count(s) != 0 && !at[i].angle) break;
    if (left ? s == "(" || s == "[" || s == "{" : s == ")" || s == "]" || s == "}") break;
    if (s == "(" || s == "[" || s == "{" || s == ")" || s == "]" || s == "}") i = at[i].match;
  }
  return left ? std::make_pair(i + 1, op - 1) : std::make_pair(op + 1, i - 1);
}

void connective(Edits& e, int op, std::set<int>& done) {
  const bool both = e.at.is(op, "&&");
  for (bool left : {true, false}) {
    const auto [first, last] = operand(e.at, op, left);
    if (first > last || !e.open(first) || !e.open(last) || !done.insert(both ? first : -first).second) continue;
    const int k = e.add(first, "condition", e.spelled(first, last), {both ? "taken to be true" : "taken to be false"});
    e.before(first, both ? "(mu::drop_(" + number(k) + ") || (" : "(!mu::drop_(" + number(k) + ") && (");
    e.after(last, "))");
  }
}

}  // namespace

void guards(Edits& e) {
  const Structure& at = e.at;
  std::set<int> done;
  for (const char* op : {"||", "&&"}) {  // || first: its operands are around those of &&
    for (int i = 0; i < at.size(); ++i) {
      if (e.open(i) && at.is(i, op) && at.ends_operand(i - 1)) connective(e, i, done);
    }
  }
  for (int i = 0; i < at.size(); ++i) {
    if (!e.open(i)) continue;
    if (at.is(i, "if") && at.is(i + 1, "(")) guard(e, i);
    if (at.is(i, "for")) for_loop(e, i);
    if (at.is(i, "while")) while_loop(e, i);
    if (at.is(i, "?")) {
      const int k = e.add(i, "choice", "?:", {"branches swapped"});
      e.before(i, "|| mu::swap_{" + number(k) + "} ");
    }
  }
}

}  // namespace assay::mutate

#include <map>

#include "conformance/mutate/instrument.hpp"

// What only a planted bug switches on is never reached while mutants run: mutants there would be dead, and turning a
// bug on is planted:OP.BUG already.
namespace assay::mutate {
namespace {

/// A bug condition: tokens first..last, with its `!` if it has one.
struct Condition {
  int first, last;
  bool negated;
};

/// The end of a branch of ?: that begins at i.
int branch_end(const Structure& at, int i) {
  int depth = 0;
  for (; i < at.size(); ++i) {
    if (at.is(i, "?")) ++depth;
    if (at.is(i, ":") && depth-- == 0) return i - 1;
    if (at.is(i, ",") || at.is(i, ";") || at.is(i, ")") || at.is(i, "]") || at.is(i, "}")) return i - 1;
    if (at.is(i, "(") || at.is(i, "[") || at.is(i, "{")) i = at[i].match;
  }
  return at.size() - 1;
}

void freeze_dead(Edits& e, const Condition& c) {
  Structure& at = e.at;
  at.freeze(c.first, c.last);
  if (at.is(c.last + 1, "?")) {
    const int then = c.last + 2, then_end = branch_end(at, then);
    at.freeze(c.last + 1, c.last + 1);
    if (c.negated)
      at.freeze(then_end + 2, branch_end(at, then_end + 2));
    else
      at.freeze(then, then_end);
    return;
  }
  const int open = at[c.first].open;
  if (open < 0 || !at.is(open - 1, "if")) return;
  const bool alone = open + 1 == c.first && at[open].match == c.last + 1;
  const bool only_and = at.find(open + 1, {"||", "?"}) == at[open].match;  // without the bug the branch is not taken
  const int body = at[open].match + 1, end = at.statement_end(body);
  if (!c.negated && only_and) at.freeze(open - 1, end);
  if (c.negated && alone) {
    at.freeze(open - 1, at[open].match);
    if (at.is(end + 1, "else")) at.freeze(end + 1, at.statement_end(end + 2));
  }
}

}  // namespace

void freeze_planted_bugs(Edits& e) {
  Structure& at = e.at;
  std::vector<Condition> conditions;
  std::map<std::string, bool> names;  // bool wrong = s.bug("..."), right = !s.bug("..."), some = s.bug("...") && more;
  for (int i = 0; i < at.size(); ++i) {
    Condition c{i, i, false};
    if (at.is(i, "bug") && at.is(i + 1, "(")) {
      c.last = at[i + 1].match;
      while (at.is(c.first - 1, ".") || at.is(c.first - 1, "->") || at.is(c.first - 1, "::")) c.first -= 2;
    } else {
      const auto known = names.find(at.text(i));
      if (known == names.end() || at.is(i - 1, ".") || !at[i].body) continue;
      c.negated = known->second;
    }
    if (at.is(c.first - 1, "!")) --c.first, c.negated = !c.negated;
    conditions.push_back(c);
    const int end = at.find(c.last + 1, {",", ";", "||", "?"});
    const bool whole = end == c.last + 1,
               with_more = !c.negated && at.is(c.last + 1, "&&") && (at.is(end, ",") || at.is(end, ";"));
    if (at.is(c.first - 1, "=") && at.identifier(c.first - 2) && (whole || with_more)) {
      names[at.text(c.first - 2)] = c.negated;
      e.at.freeze(c.last, end - 1);
    }
  }
  for (const Condition& c : conditions) freeze_dead(e, c);
}

}  // namespace assay::mutate

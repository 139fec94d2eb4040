#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "conformance/mutate/structure.hpp"

namespace assay::mutate {

/// One mutant of a source, as the table of the generated file lists it.
struct Mutant {
  int id, line, column;
  std::string original, kind, description, source;  // source: the line of the original, trimmed
};

/// A source in which every mutable site asks a switch.
struct Instrumented {
  std::string text;
  std::vector<Mutant> mutants;  // ids 1, 2, ...
};

/// Rewrites a subject token by token; what the original computes is unchanged as long as no mutant is on. `name` is the
/// source's path as diagnostics of the generated file shall name it. Throws Error if the source has no mutable site.
Instrumented instrument(std::string_view source, const std::string& op, const std::string& name);

/// Collects the edits of one source. Every rule (rules_*.cpp) looks at all tokens once and adds its edits.
class Edits {
 public:
  Edits(const std::vector<Token>& tokens, std::string_view source);

  /// Whether token i may be changed.
  bool open(int i) const { return at[i].body && !at[i].frozen; }
  /// Adds one mutant per description and returns the id of the first.
  int add(int i, const std::string& kind, const std::string& original, const std::vector<std::string>& descriptions);
  /// Edits of one token: text goes before it (a later one inside), after it (a later one inside), or replaces it.
  void before(int i, const std::string& what) { edits_[index(i)].before += what; }
  void after(int i, const std::string& what) { edits_[index(i)].after = what + edits_[index(i)].after; }
  void replace(int i, const std::string& what) { edits_[index(i)].text = what; }
  const std::string& now(int i) const { return edits_[index(i)].text; }
  /// The source from token i to token j, blanks and comments as one blank.
  std::string spelled(int i, int j) const;
  std::string result(const std::string& trailing) const;

  const std::vector<Token>& t;
  Structure at;
  std::vector<Mutant> mutants;

 private:
  struct Edit {
    std::string before, text, after;
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::vector<Edit> edits_;
  std::vector<std::string> lines_;
};

// Rules, in the order in which their edits nest.
void freeze_planted_bugs(Edits& e);  // conditions `bug("...")`, names that hold one, and what only runs with a bug on
void statements(Edits& e);           // dropped statements; stale accumulators; stored and returned values scaled
void guards(Edits& e);               // if, loops, operands of && and ||, ?: swapped
void operators(Edits& e);            // infix and unary operators
void operands(Edits& e);             // literals, swapped arguments, functions, checked subscripts

}  // namespace assay::mutate

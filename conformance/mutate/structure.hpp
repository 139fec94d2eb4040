#pragma once
#include <set>
#include <string>
#include <vector>

#include "conformance/mutate/lexer.hpp"

namespace assay::mutate {

/// What `{` opens.
enum class Brace { none, scope, record, enumeration, block, initializer };

/// What is known of a token without parsing expressions.
struct Place {
  int match = -1;             // the other bracket, for ( ) [ ] { } and template < >
  int open = -1;              // the innermost bracket around it
  Brace brace = Brace::none;  // for { and }
  bool angle = false;         // a bracket of a template argument list
  bool body = false;          // inside a function body
  bool frozen = false;        // not to be changed: template arguments, constexpr, array bounds, captures, planted bugs
  bool statement = false;     // the first token of a statement
  int loops = 0;              // how many loops of its function are around it
};

/// Brackets, blocks and statements of a source. Works on tokens alone, so it knows types only by their spelling.
class Structure {
 public:
  explicit Structure(const std::vector<Token>& tokens);

  const Place& operator[](int i) const { return places_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(t_.size()); }
  const std::string& text(int i) const;  // "" outside
  bool is(int i, std::string_view what) const { return text(i) == what; }
  bool identifier(int i) const;  // an identifier that is no keyword
  /// Whether an expression ends at this token, so that an operator after it is binary.
  bool ends_operand(int i) const;
  /// The last token of the statement that begins here.
  int statement_end(int i) const;
  /// The next token at the same bracket level that is one of these, from i on; the closing bracket or the end if there
  /// is none.
  int find(int i, const std::set<std::string>& which) const;
  /// Whether this statement declares something.
  bool declaration(int i) const;
  /// Where the declared name stands in a declaration that begins here; -1 if that is not plain.
  int declared_name(int i) const;
  /// Spelled types of the language and of this project.
  static bool builtin_type(std::string_view word);
  void freeze(int from, int to);  // inclusive

 private:
  Place& at(int i) { return places_[static_cast<std::size_t>(i)]; }
  void angles();
  void brackets();
  Brace kind_of_brace(int i, int open) const;
  void statements();
  void loops();
  void frozen_places();
  int close_angle(int i) const;

  const std::vector<Token>& t_;
  std::vector<Place> places_;
};

}  // namespace assay::mutate

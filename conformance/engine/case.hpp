#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/page.hpp"

namespace assay {

/// One coordinate of a case: an integer in [low, high], or one of `names` (then low = 0). The default of a name is the
/// first.
struct Axis {
  enum class Kind { size, option, also, pattern, profile, seed };
  std::string name;
  Kind kind = Kind::size;
  std::int64_t low = 0, high = 0, standard = 0;
  std::vector<std::string> names;
};

/// What cases of a page's claims are made of: sizes, options, further parameters, patterns of boolean and index inputs
/// (`mask_is`), value profile, seed. Derived from the page.
class Space {
 public:
  explicit Space(const Page& page);
  const Page& page() const { return *page_; }
  /// The op the page's claims run on: its own or the one it uses; one without a name, tensors and options if it has
  /// neither.
  const OpSpec& op() const { return *op_; }
  const std::vector<Axis>& axes() const { return axes_; }
  /// Position of an axis; throws Error naming the axes there are.
  std::size_t find(std::string_view name) const;

 private:
  const Page* page_;
  const OpSpec* op_;
  std::vector<Axis> axes_;
};

/// A point of a space: what is generated, shrunk, printed and replayed.
class Case {
 public:
  explicit Case(const Space& space);  // all defaults
  Case(const Space& space, std::vector<std::int64_t> values);
  /// Reads the spelling ("T=3 n=70 mask=given seed=9"); axes not named take their default.
  static Case parse(const Space& space, std::string_view text);
  std::string spell() const;

  const Space& space() const { return *space_; }
  const std::vector<std::int64_t>& values() const { return values_; }
  /// The value of an axis, or of a product of sizes.
  std::int64_t operator[](std::string_view axis) const;
  const std::string& name_of(std::string_view axis) const;  // the chosen name of an axis with names
  void set(std::string_view axis, std::int64_t value);
  /// The options that differ from their default, spelled.
  std::string spell_options() const;

 private:
  /// What a product multiplies: a size, the number that an option has, or a number itself.
  std::int64_t factor(const std::string& name) const;
  const Space* space_;
  std::vector<std::int64_t> values_;
};

/// The patterns of a boolean or index input; none for any other.
const std::vector<std::string>& patterns_of(const TensorSpec& input);

}  // namespace assay

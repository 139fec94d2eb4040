#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

// Arithmetic over the sizes and options of a call, as launch files write it: `ceil(T / 64)`, `max(1, n) * 4`,
// `stride(x, 0)`, `is(causal, none)`. Numbers are doubles, `/` divides exactly, a comparison is 1 or 0.
namespace assay {

/// What names mean. The first three are asked while an expression is read, and throw Error on a name that is none.
struct Names {
  std::function<void(const std::string& name)> check_number;                              ///< a size, an option
  std::function<void(const std::string& tensor, int dim)> check_stride;                   ///< of stride(x, 0)
  std::function<void(const std::string& option, const std::string& value)> check_choice;  ///< of is(causal, none)
};
struct Values {
  std::function<double(const std::string& name)> number;
  std::function<double(const std::string& tensor, int dim)> stride;
  std::function<bool(const std::string& option, const std::string& value)> choice;
};

class Expression {
 public:
  /// Throws Error on what is no expression, names what `names` does not know, is longer than 400 characters or nested
  /// deeper than 32.
  Expression(const std::string& text, const Names& names);
  double operator()(const Values& values) const;
  /// Throws Error unless the value is a whole number from `low` to `high`; `what` says of what.
  long long whole(const Values& values, long long low, long long high, const std::string& what) const;
  const std::string& text() const { return text_; }

  struct Node;

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace assay

#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/contract.hpp"
#include "reference/core/format.hpp"
#include "reference/core/tensor.hpp"
#include "spec/page.hpp"

namespace assay {

/// A tensor as the engine holds it: doubles that are values of `format`, so equal values are equal bits (NaN is one
/// value).
struct Named {
  std::string name;
  Tensor<double> value;
  const Format* format = nullptr;
};

/// Tensors by name. Access throws Error naming the tensors there are.
class Tensors {
 public:
  // out of line: compiled once, not in every file that copies a call
  Tensors();
  ~Tensors();
  Tensors(const Tensors&);
  Tensors(Tensors&&) noexcept;
  Tensors& operator=(const Tensors&);
  Tensors& operator=(Tensors&&) noexcept;
  bool has(std::string_view name) const;
  const Tensor<double>& operator[](std::string_view name) const { return find(name).value; }
  const Named& find(std::string_view name) const;
  Named& find(std::string_view name);
  /// Replaces or adds.
  void set(const std::string& name, const Tensor<double>& value, const Format* format);
  void erase(std::string_view name);
  const std::vector<Named>& all() const { return tensors_; }
  std::vector<Named>& all() { return tensors_; }

 private:
  std::vector<Named> tensors_;
};

/// A number spelled as short as it reads back the same.
std::string spell_number(double x);

/// One call of an op: what is asked of a target, and of the definition.
struct Call {
  const OpSpec* op = nullptr;
  Contract contract;
  std::vector<double> options;  // in the page's order: the index of a name, or a number
  Tensors inputs;

  double option(std::string_view name) const;
  void set_option(std::string_view name, double value);
  /// Spelled for an enumeration: "none".
  std::string option_text(std::size_t index) const;
  /// Gives an input a new value; the format stays. Values must be in the format.
  void set(std::string_view name, const Tensor<double>& value) { inputs.find(name).value = value; }
  const Tensor<double>& operator[](std::string_view name) const { return inputs[name]; }
  /// The size a symbol of the op's shapes has in this call; of a number, itself. Throws Error if no input tells.
  Index size(std::string_view symbol) const;
};

/// The format of a tensor under a contract: `in`, `out`, `acc`, or a fixed one.
const Format& format_of(const TensorSpec& tensor, const Contract& contract);
/// Whether a tensor exists in a call with these options.
bool exists(const TensorSpec& tensor, const OpSpec& op, const std::vector<double>& options);
/// A size that a page writes as a number.
std::optional<Index> literal_size(std::string_view symbol);
/// Concrete shape of a tensor of this call.
Shape shape_of(const TensorSpec& tensor, const Call& call);

}  // namespace assay

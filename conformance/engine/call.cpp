#include "conformance/engine/call.hpp"

#include <charconv>
#include <utility>

namespace assay {
namespace {

std::string names_of(const std::vector<Named>& tensors) {
  std::string all;
  for (const Named& t : tensors) all += (all.empty() ? "" : ", ") + t.name;
  return all;
}

std::size_t option_index(const OpSpec& op, std::string_view name) {
  for (std::size_t i = 0; i < op.options.size(); ++i) {
    if (op.options[i].name == name) return i;
  }
  throw Error("no such option of op " + op.name, "an option of the page", std::string(name));
}

}  // namespace

Tensors::Tensors() = default;
Tensors::~Tensors() = default;
Tensors::Tensors(const Tensors&) = default;
Tensors::Tensors(Tensors&&) noexcept = default;
Tensors& Tensors::operator=(const Tensors&) = default;
Tensors& Tensors::operator=(Tensors&&) noexcept = default;

bool Tensors::has(std::string_view name) const {
  for (const Named& t : tensors_) {
    if (t.name == name) return true;
  }
  return false;
}

const Named& Tensors::find(std::string_view name) const {
  for (const Named& t : tensors_) {
    if (t.name == name) return t;
  }
  throw Error("no such tensor", names_of(tensors_), std::string(name));
}

Named& Tensors::find(std::string_view name) { return const_cast<Named&>(std::as_const(*this).find(name)); }

void Tensors::set(const std::string& name, const Tensor<double>& value, const Format* format) {
  for (Named& t : tensors_) {
    if (t.name == name) {
      t = {name, value, format};
      return;
    }
  }
  tensors_.push_back({name, value, format});
}

void Tensors::erase(std::string_view name) {
  std::erase_if(tensors_, [name](const Named& t) { return t.name == name; });
}

double Call::option(std::string_view name) const { return options[option_index(*op, name)]; }
void Call::set_option(std::string_view name, double value) { options[option_index(*op, name)] = value; }

std::string Call::option_text(std::size_t index) const {
  const OptionSpec& o = op->options[index];
  if (!o.numeric()) return o.names[static_cast<std::size_t>(options[index])];
  return spell_number(options[index]);
}

std::string spell_number(double x) {
  char buffer[32];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, x);
  return {buffer, end};
}

std::optional<Index> literal_size(std::string_view symbol) {
  Index n = 0;
  const auto [end, code] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), n);
  if (code != std::errc() || end != symbol.data() + symbol.size()) return {};
  return n;
}

Index Call::size(std::string_view symbol) const {
  if (const auto n = literal_size(symbol)) return *n;
  for (const TensorSpec& spec : op->inputs) {
    if (!inputs.has(spec.name)) continue;
    for (std::size_t d = 0; d < spec.shape.size(); ++d) {
      if (spec.shape[d] == symbol) return inputs[spec.name].shape()[d];
    }
  }
  throw Error("no input of op " + op->name + " tells a size", "a symbol of its input shapes", std::string(symbol));
}

const Format& format_of(const TensorSpec& tensor, const Contract& contract) {
  if (tensor.dtype == "in") return *contract.in;
  if (tensor.dtype == "out") return *contract.out;
  if (tensor.dtype == "acc") return *contract.acc;
  return format(tensor.dtype);
}

bool exists(const TensorSpec& tensor, const OpSpec& op, const std::vector<double>& options) {
  if (tensor.when_option.empty()) return true;
  const std::size_t i = option_index(op, tensor.when_option);
  return op.options[i].names[static_cast<std::size_t>(options[i])] == tensor.when_value;
}

Shape shape_of(const TensorSpec& tensor, const Call& call) {
  Shape shape;
  for (const std::string& symbol : tensor.shape) shape.push_back(call.size(symbol));
  return shape;
}

}  // namespace assay

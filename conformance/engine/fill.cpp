#include "conformance/engine/fill.hpp"

#include "conformance/engine/fill_index.hpp"
#include "reference/core/philox.hpp"
#include "reference/core/profile.hpp"

namespace assay {
namespace {

/// One bit in `period` at (tensor, row, column), from the seed.
bool draw(std::uint64_t seed, std::uint32_t tensor, Index row, Index col, std::uint32_t period) {
  const auto words = philox4x32({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(col), tensor, 0x6d61736bU},
                                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return words[0] % period == 0;
}

/// 1 keeps, 0 removes; the patterns of boolean inputs.
double mask_bit(const std::string& pattern, std::uint64_t seed, std::uint32_t tensor, Index row, Index col,
                Index cols) {
  if (pattern == "random") return !draw(seed, tensor, row, col, 3);
  if (pattern == "empty_rows")
    return row % 2 == 1 && !draw(seed, tensor, row, col, 3);  // every other row keeps nothing
  if (pattern == "head") return col >= (cols + 1) / 2;        // the first half is removed
  if (pattern == "tail") return col < (cols + 1) / 2;
  if (pattern == "single") return col == (row * 7 + static_cast<Index>(seed % 5)) % (cols > 0 ? cols : 1);
  return 1;  // full
}

}  // namespace

Call make_call(const Case& c, const Contract& contract) {
  const Space& space = c.space();
  Call call;
  call.op = &space.op();
  call.contract = contract;
  for (const OptionSpec& o : call.op->options) {
    const std::int64_t i = c[o.name];
    call.options.push_back(o.numeric() ? o.numbers[static_cast<std::size_t>(i)] : static_cast<double>(i));
  }
  const auto seed = static_cast<std::uint64_t>(c["seed"]);
  std::uint32_t tensor = 0;
  for (const TensorSpec& spec : call.op->inputs) {
    const std::uint32_t id = tensor++;
    if (!exists(spec, *call.op, call.options)) continue;
    Shape shape;
    for (const std::string& symbol : spec.shape) {
      const auto number = literal_size(symbol);
      shape.push_back(number ? *number : c[symbol]);
    }
    const Format& f = format_of(spec, contract);
    if (!spec.fill.empty()) {
      call.inputs.set(spec.name, fill_index(spec, c, call.inputs, shape, seed, id), &f);
      continue;
    }
    if (spec.dtype != "bool") {
      call.inputs.set(spec.name, fill(profile(c.name_of("profile")), shape, seed, id, &f), &f);
      continue;
    }
    Tensor<double> mask(shape);
    const Index cols = shape.empty() ? 1 : shape.back();
    for (Index i = 0, n = mask.size(); i < n; ++i) {
      mask.data()[i] = mask_bit(c.name_of(spec.name + "_is"), seed, id, i / cols, i % cols, cols);
    }
    call.inputs.set(spec.name, mask, &f);
  }
  return call;
}

}  // namespace assay

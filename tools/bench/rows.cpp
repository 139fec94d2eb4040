#include <cstring>
#include <memory>

#include "conformance/engine/eval.hpp"
#include "reference/core/math.hpp"
#include "reference/core/profile.hpp"
#include "tools/bench/bench.hpp"

namespace assay::bench {
namespace {

constexpr Index width = 4096;

/// A call of an op on about `elements` values in rows of 4096.
std::shared_ptr<Call> call_of(const char* op, Index elements) {
  auto call = std::make_shared<Call>();
  call->op = &page_of_op(op).op;
  call->contract = parse_contract("fp64");
  for (const OptionSpec& o : call->op->options) call->options.push_back(o.numeric() ? o.numbers[0] : 0);
  std::uint32_t tensor = 0;
  for (const TensorSpec& t : call->op->inputs) {
    if (!exists(t, *call->op, call->options)) continue;
    const Shape shape = t.shape.size() == 2 ? Shape{(elements + width - 1) / width, width} : Shape{width};
    call->inputs.set(t.name, fill(Profile::normal, shape, 1, tensor++), call->contract.in);
  }
  return call;
}

}  // namespace

Group rows() {
  Group g{"rows", {}, {}};
  for (const auto& [elements, size] :
       {std::pair<Index, std::string>{100000, "1e5"}, {1000000, "1e6"}, {10000000, "1e7"}}) {
    const Index n = (elements + width - 1) / width * width;
    const auto x = std::make_shared<Tensor<double>>(fill(Profile::normal, {n}, 1, 0));
    const auto y = std::make_shared<Tensor<double>>(Shape{n});
    const auto amount = static_cast<double>(n);
    g.timed.push_back({"copy " + size,
                       [=] { std::memcpy(y->data(), x->data(), static_cast<std::size_t>(n) * sizeof(double)); }, amount,
                       "elements"});
    g.timed.push_back({"exp " + size, [=] { math::exp(x->data(), y->data(), n); }, amount, "elements"});
    for (const char* op : {"rms_norm", "layer_norm"}) {
      if (!has_definition(op)) continue;
      const auto call = call_of(op, elements);
      const std::string name = std::string(op) + " " + size;
      g.timed.push_back({name, [call] { evaluate<double>(*call); }, amount, "elements"});
      g.ratios.push_back({"speed of " + name + " against a memory copy", "copy " + size, name, 0.4, true});
    }
    const auto call = call_of("softmax", elements);
    g.timed.push_back({"softmax " + size, [call] { evaluate<double>(*call); }, amount, "elements"});
    g.ratios.push_back({"time of softmax " + size + " against its exp", "softmax " + size, "exp " + size, 1.7, false});
  }
  return g;
}

}  // namespace assay::bench

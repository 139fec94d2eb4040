#include "conformance/engine/fill_index.hpp"

#include <algorithm>
#include <numeric>

#include "reference/core/philox.hpp"

namespace assay {
namespace {

/// 0 <= . < n, by where it stands.
struct Draws {
  std::uint64_t seed;
  std::uint32_t tensor;
  Index operator()(Index row, Index col, Index n) const {
    const auto words = PhiloxElement(seed, tensor, {row, col}).words(0);
    return static_cast<Index>(words[0] % static_cast<std::uint32_t>(n));
  }
};

Tensor<double> lengths(const std::string& pattern, Index most, Index page, const Shape& shape, const Draws& draw) {
  const Tensor<double> y(shape);
  for (Index i = 0; i < y.size(); ++i) {
    Index length = draw(0, i, most + 1);
    if (pattern == "full") length = most;
    if (pattern == "zero" || (pattern == "some_zero" && i % 2 == 0)) length = 0;
    if (pattern == "whole") length = page > 0 ? length / page * page : 0;
    y.data()[i] = static_cast<double>(length);
  }
  return y;
}

/// Pages in an order that the seed alone decides: no two places have the same page before every page has one.
Tensor<double> page_table(const std::string& pattern, Index pages, const Shape& shape, const Draws& draw) {
  std::vector<Index> order(static_cast<std::size_t>(pages));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = pages; i-- > 1 && pattern != "in_order";)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(draw(0, i, i + 1))]);
  const Tensor<double> y(shape);
  for (Index i = 0; i < y.size(); ++i) {
    const Index place = pattern == "shared" ? i % shape[1] : i;
    y.data()[i] = static_cast<double>(order[static_cast<std::size_t>(place % pages)]);
  }
  return y;
}

Tensor<double> cu_seqlens(const std::string& pattern, Index total, const Shape& shape, const Draws& draw) {
  const Index n = shape[0] - 1;
  if (n < 0 || (n == 0 && total > 0))
    throw Error("a case has packed rows, but no sequence", "at least 2 ends", std::to_string(shape[0]));
  const Tensor<double> y(shape);
  std::vector<Index> cuts;
  for (Index i = 1; i < n; ++i) {
    if (pattern == "random") cuts.push_back(draw(0, i, total + 1));
    if (pattern == "even") cuts.push_back(i * total / n);
    if (pattern == "first") cuts.push_back(total);
    if (pattern == "last") cuts.push_back(0);
  }
  std::sort(cuts.begin(), cuts.end());
  for (Index i = 1; i < n; ++i) y.data()[i] = static_cast<double>(cuts[static_cast<std::size_t>(i - 1)]);
  y.data()[0] = 0;
  y.data()[n] = static_cast<double>(total);
  return y;
}

}  // namespace

Tensor<double> fill_index(const TensorSpec& spec, const Case& c, const Tensors& earlier, const Shape& shape,
                          std::uint64_t seed, std::uint32_t tensor) {
  const std::string& pattern = c.name_of(spec.name + "_is");
  const Draws draw{seed, tensor};
  if (spec.fill == "lengths") {
    Index most = 1;
    for (const std::string& size : spec.fill_of) most *= c[size];
    return lengths(pattern, most, c[spec.fill_of.back()], shape, draw);
  }
  if (spec.fill == "cu_seqlens") return cu_seqlens(pattern, c[spec.fill_of[0]], shape, draw);
  const Index pages = c[spec.fill_of[0]];
  if (pages > 0) return page_table(pattern, pages, shape, draw);
  const Tensor<double>& lens = earlier[spec.fill_of[2]];
  for (Index i = 0; i < lens.size(); ++i)
    if (lens.at_flat(i) != 0)
      throw Error("a case has tokens, but no page", "a page, or lengths of 0", std::to_string(lens.at_flat(i)));
  return Tensor<double>(shape, 0.0);
}

}  // namespace assay

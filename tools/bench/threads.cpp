#include <memory>

#include "reference/core/kernels.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/profile.hpp"
#include "tools/bench/bench.hpp"

namespace assay::bench {

Group threads() {
  Group g{"threads", {}, {}};
  if (thread_count() < 2) return g;
  const Index n = 768;
  const auto a = std::make_shared<Tensor<double>>(fill(Profile::normal, {n, n}, 1, 0));
  const auto b = std::make_shared<Tensor<double>>(fill(Profile::normal, {n, n}, 1, 1));
  const auto c = std::make_shared<Tensor<double>>(Shape{n, n});
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const std::string many = std::to_string(thread_count()) + " threads";
  g.timed.push_back({"matmul 768, one thread",
                     [=] { kernels::matmul_serial(a->data(), n, 1, b->data(), n, 1, c->data(), n, n, n, n); }, flops,
                     "flops"});
  g.timed.push_back({"matmul 768, " + many,
                     [=] { kernels::matmul(a->data(), n, 1, b->data(), n, 1, c->data(), n, n, n, n); }, flops,
                     "flops"});
  g.ratios.push_back({"speed of " + many + " against one", "matmul 768, one thread", "matmul 768, " + many,
                      0.9 * thread_count(), true});
  return g;
}

}  // namespace assay::bench

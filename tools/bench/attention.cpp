#include <memory>

#include "reference/core/math.hpp"
#include "reference/core/profile.hpp"
#include "reference/core/vocabulary.hpp"
#include "tools/bench/bench.hpp"

namespace assay::bench {
namespace {

constexpr Index d = 64;

std::shared_ptr<Matrix<double>> draw(Index rows, Index cols, std::uint32_t tensor) {
  return std::make_shared<Matrix<double>>(fill(Profile::normal, {rows, cols}, 1, tensor, &formats::bf16).matrix());
}
std::shared_ptr<Matrix<Bound>> lift(const Matrix<double>& x) {
  auto y = std::make_shared<Matrix<Bound>>(x.rows(), x.cols());
  for (Index i = 0; i < x.rows() * x.cols(); ++i) y->data()[i] = Bound(x.data()[i]);
  return y;
}

}  // namespace

Group attention() {
  Group g{"attention", {}, {}};
  for (const Index n : {512, 1024, 2048}) {
    const std::string size = std::to_string(n);
    const auto q = draw(n, d, 0), k = draw(n, d, 1), v = draw(n, d, 2), s = draw(n, n, 3);
    const double flops = 4.0 * static_cast<double>(n * n * d);
    g.timed.push_back({"q k^T and s v, " + size, [=] { matmul(matmul(*q, transpose(*k)), *v); }, flops, "flops"});
    g.timed.push_back({"softmax_mean of q k^T, " + size,
                       [=] { softmax_mean(matmul(*q, transpose(*k)), *v, Mask(), Vector<double>()); }, flops, "flops"});
    g.ratios.push_back({"speed of attention " + size + " against its products", "q k^T and s v, " + size,
                        "softmax_mean of q k^T, " + size, 0.6, true});
  }
  g.ratios.push_back({"cost of attention, 1024 to 2048 (4 by its work)", "softmax_mean of q k^T, 2048",
                      "softmax_mean of q k^T, 1024", 6, false});
  const Index n = 128;
  const auto s = draw(n, n, 0), v = draw(n, d, 1), o = draw(n, d, 2);
  const auto contract = std::make_shared<Contract>(parse_contract("bf16 p=bf16"));
  const double terms = static_cast<double>(n * n * d);
  g.timed.push_back({"softmax_mean, untiled double loop",
                     [=] {
                       std::vector<double> e(static_cast<std::size_t>(n));
                       for (Index i = 0; i < n; ++i) {
                         double m = (*s)(i, 0), l = 0;
                         for (Index j = 1; j < n; ++j) m = (*s)(i, j) > m ? (*s)(i, j) : m;
                         for (Index j = 0; j < n; ++j) l += e[static_cast<std::size_t>(j)] = math::exp((*s)(i, j) - m);
                         for (Index x = 0; x < d; ++x) {
                           double t = 0;
                           for (Index j = 0; j < n; ++j) t += e[static_cast<std::size_t>(j)] * (*v)(j, x);
                           o->data()[i * d + x] = t / l;
                         }
                       }
                     },
                     terms, "terms"});
  const auto bs = lift(*s), bv = lift(*v);
  g.timed.push_back({"softmax_mean, Bound",
                     [=] {
                       const ReadingScope scope(Reading{contract.get(), false, 8.0});
                       softmax_mean(*bs, *bv, Mask(), Vector<Bound>());
                     },
                     terms, "terms"});
  g.ratios.push_back({"time of Bound against the loop, softmax_mean", "softmax_mean, Bound",
                      "softmax_mean, untiled double loop", 200, false});
  return g;
}

}  // namespace assay::bench

#include <memory>

#include "reference/core/math.hpp"
#include "reference/core/profile.hpp"
#include "reference/core/vocabulary.hpp"
#include "tools/bench/bench.hpp"

namespace assay::bench {
namespace {

Matrix<Bound> lift(const Tensor<double>& x) {
  Matrix<Bound> z(x.shape()[0], x.shape()[1]);
  for (Index i = 0, n = x.size(); i < n; ++i) z.data()[i] = Bound(x.data()[i]);
  return z;
}

}  // namespace

Group bound() {
  Group g{"bound", {}, {}};
  const Index n = 96, k = 256;
  const auto a = std::make_shared<Tensor<double>>(fill(Profile::normal, {n, k}, 1, 0, &formats::bf16));
  const auto b = std::make_shared<Tensor<double>>(fill(Profile::normal, {k, n}, 1, 1, &formats::bf16));
  const auto c = std::make_shared<Tensor<double>>(Shape{n, n});
  const auto contract = std::make_shared<Contract>(parse_contract("bf16"));
  const double terms = static_cast<double>(n * n * k);
  g.timed.push_back({"product, untiled double loop",
                     [=] {
                       for (Index i = 0; i < n; ++i) {
                         for (Index j = 0; j < n; ++j) {
                           double s = 0;
                           for (Index p = 0; p < k; ++p) s += a->data()[i * k + p] * b->data()[p * n + j];
                           c->data()[i * n + j] = s;
                         }
                       }
                     },
                     terms, "terms"});
  const auto x = std::make_shared<Matrix<Bound>>(lift(*a)), y = std::make_shared<Matrix<Bound>>(lift(*b));
  g.timed.push_back({"product, Bound",
                     [=] {
                       const ReadingScope scope(Reading{contract.get(), false, 8.0});
                       matmul(*x, *y);
                     },
                     terms, "terms"});
  g.ratios.push_back(
      {"time of Bound against the loop, product", "product, Bound", "product, untiled double loop", 200, false});

  const Index rows = 64, cols = 1024;
  const auto v = std::make_shared<Tensor<double>>(fill(Profile::normal, {rows, cols}, 1, 2, &formats::bf16));
  const auto out = std::make_shared<Tensor<double>>(Shape{rows, cols});
  const auto lifted = std::make_shared<Matrix<Bound>>(lift(*v));
  g.timed.push_back({"softmax, untiled double loop",
                     [=] {
                       for (Index i = 0; i < rows; ++i) {
                         const double* row = v->data() + i * cols;
                         double* p = out->data() + i * cols;
                         double m = row[0], l = 0;
                         for (Index j = 1; j < cols; ++j) m = row[j] > m ? row[j] : m;
                         for (Index j = 0; j < cols; ++j) l += p[j] = math::exp(row[j] - m);
                         for (Index j = 0; j < cols; ++j) p[j] /= l;
                       }
                     },
                     static_cast<double>(rows * cols), "elements"});
  g.timed.push_back({"softmax, Bound",
                     [=] {
                       const ReadingScope scope(Reading{contract.get(), false, 8.0});
                       const Matrix<Bound> e = exp(sub_rows(*lifted, anchor(max_rows(*lifted))));
                       div_rows(e, sum_rows(e));
                     },
                     static_cast<double>(rows * cols), "elements"});
  g.ratios.push_back(
      {"time of Bound against the loop, softmax", "softmax, Bound", "softmax, untiled double loop", 200, false});
  return g;
}

}  // namespace assay::bench

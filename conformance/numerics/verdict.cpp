#include <cmath>
#include <string>
#include <vector>

#include "conformance/engine/claim.hpp"
#include "reference/core/vocabulary.hpp"

// Claims of spec/numerics/verdict.md, on the products x w of the op linear, under contract fp32.
namespace assay {
namespace {

Matrix<Bound> lift(const Matrix<double>& x) {
  Matrix<Bound> y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = Bound(x(i, j));
  }
  return y;
}

Matrix<double> rounded(const Matrix<double>& x) {
  Matrix<double> y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = round_to(formats::fp32, x(i, j));
  }
  return y;
}

double fp32(double x) { return round_to(formats::fp32, x); }

}  // namespace

CLAIM(numerics.verdict.exact_small) {
  const Call call = check.with("profile", "small_integers").call();
  const Contract contract = parse_contract("fp32");
  ReadingScope scope({&contract, false, 8});
  const Matrix<Bound> y = matmul(lift(call["x"].matrix()), lift(call["w"].matrix()));
  check.nothing_to_compare();
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) check.at_most("allowed deviation", y(i, j).w, 0);
  }
}

CLAIM(numerics.verdict.any_order) {
  const Call call = check.call();
  const Matrix<double> x = rounded(call["x"].matrix()), w = rounded(call["w"].matrix());
  const Contract contract = parse_contract("fp32");
  ReadingScope scope({&contract, false, 8});
  const Matrix<Bound> y = matmul(lift(x), lift(w));
  // An order that does not look at the data.
  std::vector<Index> order(static_cast<std::size_t>(x.cols()));
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<Index>(k);
  for (std::size_t k = order.size(); k > 1; --k) {
    const auto other =
        static_cast<std::size_t>(check.pick("order" + std::to_string(k), 0, static_cast<std::int64_t>(k) - 1));
    std::swap(order[k - 1], order[other]);
  }
  check.nothing_to_compare();
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      double sum = 0;
      for (const Index k : order) sum = fp32(sum + fp32(x(i, k) * w(k, j)));
      const Bound& b = y(i, j);
      check.at_most("|sum - definition| beyond the worst case", std::fabs(sum - b.v) - b.w, 0);
      check.at_most("|sum - definition| in any order", std::fabs(sum - b.v), b.allowed());
    }
  }
}

}  // namespace assay

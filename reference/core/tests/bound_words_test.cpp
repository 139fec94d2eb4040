// Definitions read as Bound have the values of the double reading, and their rows share what they share.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/core/math.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/vocabulary.hpp"
#include "reference/softmax/safe.hpp"

namespace assay {
namespace {

using testing::Random;

Matrix<Bound> lift(const Matrix<double>& x) {
  Matrix<Bound> y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = Bound(x(i, j));
  return y;
}
template <class M>
void expect_same(const Matrix<Bound>& x, const M& y) {
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) EXPECT_EQ(x(i, j).v, y(i, j));
}

struct BoundWords : ::testing::Test {
  Contract fp32 = parse_contract("fp32");
  ReadingScope scope{{&fp32, false, 8}};
  Random random{21};
  Matrix<double> draw(Index rows, Index cols) {
    Matrix<double> x(rows, cols);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j) x(i, j) = static_cast<float>(3 * random.normal());
    return x;
  }
};

TEST_F(BoundWords, ValuesAreTheDoubleReadings) {
  for (Index n : {1, 2, 9, 70}) {
    const Matrix<double> x = draw(4, n), y = draw(n, 5);
    const Matrix<Bound> bx = lift(x), by = lift(y);
    expect_same(matmul(bx, by), matmul(x, y));
    expect_same(matmul(transpose(by), transpose(bx)), matmul(transpose(y), transpose(x)));
    SoftmaxOptions opt;
    const auto d = softmax_safe(x, Mask(), full<double>(4, -infinity), opt);
    const auto b = softmax_safe(bx, Mask(), full<Bound>(4, -infinity), opt);
    expect_same(b.p, d.p);
    expect_same(b.log_p, d.log_p);
    // layer norm in the words of its page
    const auto norm = [](const auto& v) {
      const auto centred = sub_rows(v, mean_rows(v));
      return scale_rows(centred, inv_rms(centred, 1e-5));
    };
    expect_same(norm(bx), norm(x));
  }
}

TEST_F(BoundWords, SqrtIsAWordOfEveryReading) {
  for (const double x : {0.0, 2.0, 9.0, 0.25, 1000.0}) {
    const double root = math::sqrt(x);
    EXPECT_EQ(sqrt(Vector<double>{x})[0], root);
    const Bound b = sqrt(Vector<Bound>{x})[0];
    EXPECT_EQ(b.v, root);
    EXPECT_EQ(b.w == 0, std::fma(root, root, -x) == 0) << x << ": exact where the root is";
    EXPECT_EQ(sqrt(Vector<Flow>{x})[0].v, root);
    EXPECT_EQ(sqrt(Vector<Count>{x})[0].v, root);
    EXPECT_EQ(sqrt(Vector<Wide>{x})[0].hi, root);
  }
  const Dual d = sqrt(Vector<Dual>{Dual{Bound(9), Bound(1)}})[0];
  EXPECT_EQ(d.v.v, 3);
  EXPECT_EQ(d.d.v, 1.0 / 6);
}

TEST_F(BoundWords, TanhIsAWordOfEveryReading) {
  for (const double x : {0.0, 0.25, -1.0, 3.0, 30.0, -infinity}) {
    const double y = math::tanh(x);
    EXPECT_EQ(tanh(Matrix<double>(1, 1, x))(0, 0), y);
    EXPECT_EQ(tanh(Matrix<Bound>(1, 1, x))(0, 0).v, y);
    EXPECT_EQ(tanh(Matrix<Flow>(1, 1, x))(0, 0).v, y);
    EXPECT_EQ(tanh(Matrix<Count>(1, 1, x))(0, 0).v, y);
    EXPECT_NEAR(tanh(Matrix<Wide>(1, 1, x))(0, 0).hi, y, 0x1p-52);
  }
  const Dual d = tanh(Matrix<Dual>(1, 1, Dual{Bound(1), Bound(2)}))(0, 0);
  // 2 (1 - t^2), t = 0.76 off by 2^-53 and the C library's cosh by 2^-52 of itself: a dozen roundings of 2^-53
  EXPECT_NEAR(d.d.v, 2 / (std::cosh(1.0) * std::cosh(1.0)), 12 * 0x1p-53);
}

TEST_F(BoundWords, AStaleShiftFollowsLateAndCarriesNoError) {
  const double none = -infinity, nan = not_a_number;
  const Vector<double> used{none, none, 0, 0, 5, 1}, top{none, 2, 3, 3.5, 1, nan};
  Vector<Bound> b(6);
  for (Index i = 0; i < 6; ++i) {
    b[i] = Bound(top[i]);
    b[i].w = 0.1;
  }
  const Vector<double> m = stale(used, top, 3);
  const Vector<Bound> bm = stale(Vector<Bound>{none, none, 0.0, 0.0, 5.0, 1.0}, b, 3);
  const double expected[] = {none, 2, 0, 3.5, 5};
  for (Index i = 0; i < 5; ++i) {
    EXPECT_EQ(m[i], expected[i]) << i;
    EXPECT_EQ(bm[i].v, expected[i]) << i;
    EXPECT_EQ(bm[i].w, 0) << i;
  }
  EXPECT_TRUE(std::isnan(m[5]) && std::isnan(bm[5].v)) << "a NaN logit is not hidden by an older maximum";
}

TEST_F(BoundWords, ARowSharesItsDenominator) {
  const Matrix<Bound> x = lift(draw(2, 64));
  const auto b = softmax_safe(x, Mask(), full<Bound>(2, -infinity), SoftmaxOptions());
  EXPECT_NE(b.p(0, 0).symbol, 0u);
  EXPECT_EQ(b.p(0, 0).symbol, b.p(0, 63).symbol);
  EXPECT_NE(b.p(0, 0).symbol, b.p(1, 0).symbol);
}

TEST_F(BoundWords, ExactRowsStayExact) {
  Matrix<Bound> x(1, 1, Bound(0.3f));
  const auto one = softmax_safe(x, Mask(), full<Bound>(1, -infinity), SoftmaxOptions());
  EXPECT_EQ(one.p(0, 0).v, 1);
  EXPECT_EQ(one.p(0, 0).allowed(), 0);
  Matrix<Bound> equal(1, 64, Bound(0.3f));
  EXPECT_EQ(softmax_safe(equal, Mask(), full<Bound>(1, -infinity), SoftmaxOptions()).p(0, 0).allowed(), 0)
      << "64 ones add up exactly and 1/64 is exact";
}

}  // namespace
}  // namespace assay

// Words that write into what they are handed: only where nobody else can see it, and with the same bits.
#include <gtest/gtest.h>

#include "reference/core/profile.hpp"
#include "reference/core/vocabulary.hpp"

namespace assay {
namespace {

Matrix<double> numbers(Index rows, Index cols, std::uint32_t tensor) {
  return fill(Profile::normal, {rows, cols}, 1, tensor).matrix();
}
Vector<double> numbers(Index n, std::uint32_t tensor) { return fill(Profile::normal, {n}, 1, tensor).vector(); }
Matrix<double> copy(const Matrix<double>& x) { return Tensor<double>(x).clone().matrix(); }
void expect_same(const Matrix<double>& x, const Matrix<double>& y, const char* what) {
  ASSERT_EQ(shape(x), shape(y)) << what;
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) EXPECT_EQ(x(i, j), y(i, j)) << what << " at " << i << ", " << j;
}

TEST(Words, AMatrixThatSomebodyHoldsIsNotWrittenTo) {
  const Matrix<double> x = numbers(3, 21, 0), before = copy(x);
  const Vector<double> r = numbers(3, 1), g = numbers(21, 2), b = numbers(21, 3);
  const Matrix<double> view = x.row_range(0, 3);
  for (const Matrix<double>& z : {add_rows(x, r), sub_rows(x, r), scale_rows(x, r), div_rows(x, r), exp(x),
                                  add_cols(x, g), scale_cols(x, g), affine(x, r, g), affine(x, r, g, b)})
    EXPECT_NE(x.data(), z.data());
  scale_rows(x.row_range(1, 2), x.row_range(1, 2).col(0));  // a temporary handle on storage that others hold
  expect_same(before, x, "x");
  expect_same(before, view, "view");
}

TEST(Words, AChainOverATemporaryFillsOneMatrix) {
  const Matrix<double> x = numbers(4, 33, 0);
  const Vector<double> r = numbers(4, 1), g = numbers(33, 2);
  Matrix<double> first = scale_rows(x, r);
  const double* const storage = first.data();
  EXPECT_EQ(storage, exp(scale_cols(std::move(first), g)).data());
  // A temporary that is not dense is left alone.
  const Matrix<double> z = scale_rows(transpose(copy(x)), g);
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 33; ++j) EXPECT_EQ(x(i, j) * g[j], z(j, i));
}

TEST(Words, AffineIsItsThreeWords) {
  for (const Index cols : {0, 1, 8, 511, 513, 1100}) {
    const Matrix<double> x = numbers(3, cols, 0), across = transpose(numbers(cols, 3, 4));
    const Vector<double> r = numbers(3, 1), g = numbers(cols, 2), b = numbers(cols, 3);
    for (const Matrix<double>& m : {x, across}) {
      expect_same(scale_cols(scale_rows(m, r), g), affine(m, r, g), "x r g");
      expect_same(add_cols(scale_cols(scale_rows(m, r), g), b), affine(m, r, g, b), "x r g + b");
      expect_same(affine(m, r, g, b), affine(copy(m), r, g, b), "in place");
    }
  }
  EXPECT_THROW(affine(numbers(2, 3, 0), numbers(3, 1), numbers(3, 2)), Error);
  EXPECT_THROW(affine(numbers(2, 3, 0), numbers(2, 1), numbers(2, 2)), Error);
  EXPECT_THROW(affine(numbers(2, 3, 0), numbers(2, 1), numbers(3, 2), numbers(2, 3)), Error);
}

TEST(Words, AProductOverKeptPairsSelects) {
  const Matrix<double> x = numbers(4, 5, 0), y = numbers(5, 3, 1);
  Mask keep(4, 5, 1);
  for (Index i = 0; i < 4; ++i) keep(i, 2) = keep(i, i) = 0;
  for (Index j = 0; j < 5; ++j) keep(3, j) = 0;  // a row of none
  const Matrix<double> clean = matmul(keep, x, y);
  expect_same(clean, matmul(select(keep, x, 0), y), "finite");
  expect_same(matmul(Mask(), x, y), matmul(x, y), "no mask");
  Matrix<double> poisoned = copy(y);
  poisoned(2, 0) = not_a_number, poisoned(2, 1) = infinity;  // nobody keeps row 2
  expect_same(matmul(keep, x, poisoned), clean, "garbage that no row keeps");
  poisoned(0, 0) = not_a_number;  // row 0 does not keep it, row 1 does
  EXPECT_EQ(matmul(keep, x, poisoned)(0, 0), clean(0, 0));
  EXPECT_NE(matmul(keep, x, poisoned)(1, 0), matmul(keep, x, poisoned)(1, 0));
}

}  // namespace
}  // namespace assay

#include "reference/core/tensor.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr Index big = Index{1} << 62;

TEST(tensor, dense_strides_are_row_major) {
  EXPECT_EQ(dense_strides({}), Shape{});
  EXPECT_EQ(dense_strides({7}), Shape{1});
  EXPECT_EQ(dense_strides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(dense_strides({big, 1}), (Shape{1, 1}));
  EXPECT_EQ(dense_strides({0, 4}), (Shape{4, 1}));
}

// The product of the sizes behind the 0 overflows, but no element is ever addressed.
TEST(tensor, an_empty_shape_may_have_huge_sizes) {
  EXPECT_EQ(dense_strides({0, big, 4}), (Shape{0, 4, 1}));
  for (const Shape& shape : {Shape{0, big, 4}, Shape{big, 4, 0}, Shape{big, 0, 4}}) {
    EXPECT_EQ(count(shape), 0) << to_string(shape);
    EXPECT_EQ(dense_strides(shape).back(), 1) << to_string(shape);
    EXPECT_EQ(Tensor<double>(shape).size(), 0) << to_string(shape);
  }
}

TEST(tensor, a_shape_that_no_memory_holds_is_refused) {
  EXPECT_THROW(count({big, 4}), Error);
  EXPECT_THROW(dense_strides({big, 4}), Error);
  EXPECT_THROW(dense_strides({2, -1}), Error);
  EXPECT_THROW(count({0, -1}), Error);
}

TEST(tensor, views_share_storage_and_clones_do_not) {
  Tensor<double> t(Shape{2, 3});
  for (Index i = 0; i < 6; ++i) t.at_flat(i) = static_cast<double>(i);
  Matrix<double> m = t.matrix();
  EXPECT_EQ(m(1, 2), 5);
  EXPECT_EQ(m.col(1)[1], 4);
  EXPECT_EQ(Tensor<double>(m.col_range(1, 3)).at_flat(2), 4);
  const Tensor<double> copy = t.clone();
  m(1, 2) = -1;
  EXPECT_EQ(t.at_flat(5), -1);
  EXPECT_EQ(copy.at_flat(5), 5);
  EXPECT_THROW(t.vector(), Error);
}

}  // namespace
}  // namespace assay

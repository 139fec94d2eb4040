#include "reference/core/lift.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace assay {
namespace {

Tensor<double> counted(const Shape& shape) {
  Tensor<double> x(shape);
  for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i);
  return x;
}

TEST(Lift, HeadsAreViews) {
  const Tensor<double> x = counted({2, 5, 3, 4});  // [B, S, H, D]
  const Tensor<double> by_head = swap_dims(x, 1, 2);
  for (Index b = 0; b < 2; ++b) {
    for (Index h = 0; h < 3; ++h) {
      const Matrix<double> m = at_lead(by_head, {b, h});  // [S, D]
      EXPECT_EQ(m.storage(), x.storage());
      for (Index s = 0; s < 5; ++s) {
        for (Index d = 0; d < 4; ++d) EXPECT_EQ(m(s, d), static_cast<double>(((b * 5 + s) * 3 + h) * 4 + d));
      }
    }
  }
  EXPECT_THROW(at_lead(x, {0}), Error);
  EXPECT_THROW(at_lead(x, {0, 5}), Error);
  EXPECT_THROW(swap_dims(x, 0, 4), Error);
}

TEST(Lift, EveryRowOfEveryEntryOnce) {
  for (const Index grain : {1, 3, 100}) {
    Tensor<double> seen(Shape{2, 3, 7});
    lift({2, 3}, 7, grain, [&](const Shape& lead, Index first, Index last) {
      for (Index r = first; r < last; ++r) seen.data()[(lead[0] * 3 + lead[1]) * 7 + r] += 1;
    });
    for (Index i = 0; i < seen.size(); ++i) EXPECT_EQ(seen.data()[i], 1) << "grain " << grain << " element " << i;
  }
}

TEST(Lift, ThreadsReadAsTheCallerDoes) {
  const Contract bf16 = parse_contract("bf16");
  const ReadingScope scope(Reading{&bf16, true, 7});
  std::atomic<int> wrong{0};
  lift({64}, 4, 1, [&](const Shape&, Index, Index) { wrong += reading().contract != &bf16 || reading().z != 7; });
  EXPECT_EQ(wrong, 0);
}

TEST(Lift, PackedSequencesAndGroups) {
  const Vector<Index> cu{0, 3, 3, 8};
  EXPECT_EQ(packed_rows(cu, 1, 8).first, 3);
  EXPECT_EQ(packed_rows(cu, 1, 8).last, 3);
  EXPECT_EQ(packed_rows(cu, 2, 8).last, 8);
  EXPECT_THROW(packed_rows(cu, 3, 8), Error);
  EXPECT_THROW(packed_rows(cu, 0, 9), Error);
  EXPECT_THROW(packed_rows({0, 5, 4, 8}, 1, 8), Error);
  EXPECT_EQ(kv_head(0, 8, 2), 0);
  EXPECT_EQ(kv_head(3, 8, 2), 0);
  EXPECT_EQ(kv_head(4, 8, 2), 1);
  EXPECT_THROW(kv_head(0, 8, 3), Error);
}

}  // namespace
}  // namespace assay

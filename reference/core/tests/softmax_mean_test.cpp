// softmax_mean in the readings that carry no error: values, what takes part, blocks of rows, tokens, operations.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/core/math.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/vocabulary.hpp"

namespace assay {
namespace {

using testing::Random;
constexpr double kNan = not_a_number;

bool same_bits(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y)); }

Matrix<double> normal(Random& random, Index rows, Index cols, double scale = 1) {
  Matrix<double> x(rows, cols);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < cols; ++j) x(i, j) = scale * random.normal();
  return x;
}
template <class T>
Matrix<T> as(const Matrix<double>& x) {
  Matrix<T> y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = T(x(i, j));
  return y;
}
Mask some(Random& random, Index rows, Index cols) {
  Mask m(rows, cols);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < cols; ++j) m(i, j) = random.below(4) != 0 && i % 7 != 3;  // rows 3, 10, ... are empty
  return m;
}

TEST(SoftmaxMean, IsTheMeanUnderItsSoftmax) {
  Random random(1);
  for (const Index n : {1, 2, 9, 64, 70, 200}) {
    const Index rows = 1 + random.below(80), d = 1 + random.below(5);
    const Matrix<double> s = normal(random, rows, n, 4), v = normal(random, n, d);
    const Mask keep = some(random, rows, n);
    Vector<double> sink(rows);
    for (Index i = 0; i < rows; ++i) sink[i] = i % 3 == 0 ? -infinity : 2 * random.normal();
    const SoftmaxMean<double> y = softmax_mean(s, v, keep, sink);
    // Double-double says how good that is.
    Vector<Wide> wide_sink(rows);
    for (Index i = 0; i < rows; ++i) wide_sink[i] = Wide(sink[i]);
    const SoftmaxMean<Wide> w = softmax_mean(as<Wide>(s), as<Wide>(v), keep, wide_sink);
    for (Index i = 0; i < rows; ++i) {
      double top = -infinity, mass = 0, reach = 0;
      for (Index j = 0; j < n; ++j)
        if (keep(i, j)) top = std::max(top, s(i, j));
      if (top == -infinity) {
        EXPECT_EQ(y.lse[i], -infinity);
        for (Index c = 0; c < d; ++c) EXPECT_TRUE(same_bits(y.o(i, c), 0));
        continue;
      }
      EXPECT_NEAR(y.lse[i], value(w.lse[i]), 4e-16 * (2 + std::fabs(top)));
      for (Index j = 0; j < n; ++j)
        if (keep(i, j)) {
          mass += std::exp(s(i, j) - value(w.lse[i]));
          reach = std::max(reach, std::fabs(s(i, j) - top));
        }
      for (Index c = 0; c < d; ++c) {
        double size = 0;
        for (Index j = 0; j < n; ++j)
          if (keep(i, j)) size += std::exp(s(i, j) - value(w.lse[i])) * std::fabs(v(j, c));
        EXPECT_NEAR(y.o(i, c), value(w.o(i, c)), 0x1p-53 * (static_cast<double>(n) + 4 + 2 * reach) * size);
      }
      EXPECT_NEAR(mass, 1, 1e-12);
    }
  }
}

TEST(SoftmaxMean, RowsDoNotDependOnBlocks) {
  Random random(2);
  const Index rows = 150, n = 130;
  const Matrix<double> s = normal(random, rows, n, 3), v = normal(random, n, 3);
  Mask causal(rows, n);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < n; ++j) causal(i, j) = j <= i && j > i - 40;
  const SoftmaxMean<double> y = softmax_mean(s, v, causal, Vector<double>());
  for (Index i = 0; i < rows; ++i) {
    const Mask one(causal.storage(), causal.data() + i * n, 1, n, n, 1);
    const SoftmaxMean<double> alone = softmax_mean(s.row_range(i, i + 1), v, one, Vector<double>());
    EXPECT_TRUE(same_bits(alone.lse[0], y.lse[i])) << i;
    for (Index c = 0; c < 3; ++c) EXPECT_TRUE(same_bits(alone.o(0, c), y.o(i, c))) << i;
  }
  // A mask is the same as -inf, and what is masked is as if it were not there.
  const SoftmaxMean<double> cut = softmax_mean(select(causal, s, -infinity), v, Mask(), Vector<double>());
  for (Index i = 0; i < rows; ++i) EXPECT_TRUE(same_bits(cut.o(i, 0), y.o(i, 0)));
}

TEST(SoftmaxMean, AMaskHasTheBitsOfMinusInfinity) {
  // What is masked in front is left out in whole groups of a sum: every row keeps its order.
  Random random(6);
  const Index rows = 3000, n = 300;
  const Matrix<double> s = normal(random, rows, n, 6), v = normal(random, n, 1);
  Mask window(rows, n);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < n; ++j) window(i, j) = j >= i % 280;
  const SoftmaxMean<double> masked = softmax_mean(s, v, window, Vector<double>());
  const SoftmaxMean<double> cut = softmax_mean(select(window, s, -infinity), v, Mask(), Vector<double>());
  Index different = 0;
  for (Index i = 0; i < rows; ++i)
    different += !same_bits(masked.o(i, 0), cut.o(i, 0)) || !same_bits(masked.lse[i], cut.lse[i]);
  EXPECT_EQ(different, 0);
}

TEST(SoftmaxMean, WhatTakesNoPartHasNoInfluence) {
  Random random(3);
  const Index rows = 6, n = 20;
  Matrix<double> s = normal(random, rows, n), v = normal(random, n, 4);
  Mask keep(rows, n, 1);
  for (Index i = 0; i < rows; ++i) keep(i, 5) = keep(i, 19) = 0;
  keep(4, 7) = 0;
  const SoftmaxMean<double> y = softmax_mean(s, v, keep, Vector<double>());
  for (Index i = 0; i < rows; ++i) s(i, 5) = s(i, 19) = i % 2 ? kNan : infinity;
  for (Index c = 0; c < 4; ++c) v(5, c) = v(19, c) = c % 2 ? kNan : infinity;
  v(7, 2) = kNan;  // seen by all rows but 4
  const SoftmaxMean<double> z = softmax_mean(s, v, keep, Vector<double>());
  const SoftmaxMean<Flow> generic = softmax_mean(as<Flow>(s), as<Flow>(v), keep, Vector<Flow>());
  const SoftmaxMean<Bound> bound = softmax_mean(as<Bound>(s), as<Bound>(v), keep, Vector<Bound>());
  for (Index i = 0; i < rows; ++i) {
    EXPECT_TRUE(same_bits(z.lse[i], y.lse[i]));
    for (Index c = 0; c < 4; ++c) {
      const bool poisoned = c == 2 && i != 4;
      EXPECT_EQ(std::isnan(z.o(i, c)), poisoned) << i << " " << c;
      EXPECT_EQ(std::isnan(generic.o(i, c).v), poisoned);
      EXPECT_EQ(std::isnan(bound.o(i, c).v), poisoned);
      if (!poisoned) {
        EXPECT_TRUE(same_bits(z.o(i, c), y.o(i, c)));
        EXPECT_TRUE(same_bits(bound.o(i, c).v, y.o(i, c)));
      }
    }
  }
  // A logit that is NaN, or +inf, takes its row and no other.
  s(2, 0) = kNan;
  const SoftmaxMean<double> nan = softmax_mean(s, v, keep, Vector<double>());
  EXPECT_TRUE(std::isnan(nan.lse[2]) && std::isnan(nan.o(2, 0)));
  EXPECT_TRUE(same_bits(nan.o(1, 0), y.o(1, 0)));
}

TEST(SoftmaxMean, SinkAndShapes) {
  const Matrix<double> s(2, 3, 0.5), v(3, 1, 2.0);
  const SoftmaxMean<double> y = softmax_mean(s, v, Mask(), Vector<double>{0.5, infinity});
  EXPECT_DOUBLE_EQ(y.o(0, 0), 1.5) << "a fourth key of value 0";
  EXPECT_EQ(y.o(1, 0), 0);
  EXPECT_DOUBLE_EQ(y.lse[0], 0.5 + std::log(3)) << "the sink is not in it";
  const SoftmaxMean<Bound> b =
      softmax_mean(as<Bound>(s), as<Bound>(v), Mask(), Vector<Bound>{Bound(0.5), Bound(infinity)});
  EXPECT_EQ(b.o(1, 0).v, 0);
  EXPECT_EQ(b.o(1, 0).w, 0);
  EXPECT_EQ(b.o(0, 0).v, y.o(0, 0));
  const SoftmaxMean<double> none =
      softmax_mean(Matrix<double>(2, 0), Matrix<double>(0, 3), Mask(), Vector<double>{1, -1});
  EXPECT_EQ(none.lse[1], -infinity);
  EXPECT_EQ(none.o(1, 2), 0);
  EXPECT_EQ(softmax_mean(Matrix<double>(0, 3), v, Mask(), Vector<double>()).o.rows(), 0);
  EXPECT_THROW(softmax_mean(s, Matrix<double>(2, 1), Mask(), Vector<double>()), Error);
  EXPECT_THROW(softmax_mean(s, v, Mask(3, 3), Vector<double>()), Error);
  EXPECT_THROW(softmax_mean(s, v, Mask(), Vector<double>(3)), Error);
}

TEST(SoftmaxMean, TokensAndOperations) {
  Matrix<Flow> s(1, 4), v(4, 1);
  for (Index j = 0; j < 4; ++j) {
    s(0, j) = Flow(0.25 * static_cast<double>(j), 1u << j);
    v(j, 0) = Flow(1, 1u << (8 + j));
  }
  Mask keep(1, 4, 1);
  keep(0, 2) = 0;
  const SoftmaxMean<Flow> y = softmax_mean(s, v, keep, Vector<Flow>{Flow(0, 1u << 16)});
  EXPECT_EQ(y.o(0, 0).tokens, 0x10B0Bu) << "neither logit nor value of what is masked";
  EXPECT_EQ(y.lse[0].tokens, 0xBu);
  // n = 3 entries, d = 2: 3 exponentials, 3 d products, 3 d - d additions for o, 2 for l.
  tally() = {};
  const Matrix<Count> cs = as<Count>(Matrix<double>(1, 4, 0.5)), cv = as<Count>(Matrix<double>(4, 2, 1.0));
  softmax_mean(cs, cv, keep, Vector<Count>());
  EXPECT_EQ(tally().multiply, 6);
  EXPECT_EQ(tally().function, 3 + 1);
  EXPECT_EQ(tally().divide, 2);
  EXPECT_EQ(tally().add, 3 + 2 + 4 + 1);
}

TEST(SoftmaxMean, EmulatesWhatIsStored) {
  Random random(4);
  const Matrix<double> s = normal(random, 2, 12), v = normal(random, 12, 2);
  double top = -infinity;
  for (Index j = 0; j < 12; ++j) top = std::max(top, s(0, j));
  double l = 0, rounded = 0, n = 0, stored = 0, unnormalised = 0;
  for (Index j = 0; j < 12; ++j) l += math::exp(s(0, j) - top);
  for (Index j = 0; j < 12; ++j) {
    const double e = math::exp(s(0, j) - top), r = round_to(formats::bf16, e);
    rounded += r;
    n += r * v(j, 0);
    unnormalised = n;
    stored += round_to(formats::bf16, e / l) * v(j, 0);
  }
  const auto o = [&](const char* contract) {
    const Contract c = parse_contract(contract);
    const ReadingScope scope({&c, true, 8});
    return softmax_mean(s, v, Mask(), Vector<double>()).o(0, 0);
  };
  EXPECT_NEAR(o("bf16 p=bf16"), unnormalised / l, 1e-15);
  EXPECT_NEAR(o("bf16 p=bf16 l=rounded"), unnormalised / rounded, 1e-15);
  EXPECT_NEAR(o("bf16 p=bf16 p_scale=normalised"), stored, 1e-15);
  EXPECT_GT(std::fabs(o("bf16") - o("bf16 p=bf16")), 1e-6) << "p=fp32 rounds in fp32";
}

}  // namespace
}  // namespace assay

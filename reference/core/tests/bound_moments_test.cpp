// Mean and variance taken in one pass: inv_std covers what Welford's recurrence and Chan's formula inherit from running
// means, and the aggregate test knows that a row shares two errors, of its mean and of its deviation.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/verdict.hpp"
#include "reference/core/vocabulary.hpp"
#include "reference/core/vocabulary/primitives.hpp"

namespace assay {
namespace {

using testing::Adversary;
using testing::Random;

constexpr double eps = 1e-5;

/// Moments in an arithmetic fl of doubles: of float, or of an adversary.
struct Moments {
  double n = 0, mean = 0, m2 = 0;
  template <class F>
  void add(double x, F&& fl) {
    n += 1;
    if (n == 1) {  // 0 + x is x
      mean = x;
      return;
    }
    const double d = fl(x - mean);
    mean = fl(mean + fl(d / n));
    m2 = fl(m2 + fl(d * fl(x - mean)));
  }
  template <class F>
  void join(const Moments& o, F&& fl) {
    if (o.n == 0) return;
    if (n == 0) {
      *this = o;
      return;
    }
    const double all = n + o.n, d = fl(o.mean - mean);
    mean = fl(mean + fl(d * fl(o.n / all)));
    m2 = fl(m2 + fl(o.m2 + fl(fl(d * d) * fl(n * o.n / all))));
    n = all;
  }
};

/// Moments of a row by `lanes` strided lanes, joined pairwise.
template <class F>
Moments moments(const Matrix<double>& x, Index row, std::size_t lanes, F&& fl) {
  std::vector<Moments> lane(lanes);
  for (Index i = 0; i < x.cols(); ++i) lane[static_cast<std::size_t>(i) % lanes].add(x(row, i), fl);
  for (std::size_t width = lanes / 2; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) lane[k].join(lane[k + width], fl);
  }
  return lane[0];
}

/// Rows of one mean and one deviation; in fp32.
Matrix<double> rows(Random& random, Index n, Index d, double mean, double deviation) {
  Matrix<double> x(n, d);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < d; ++j) x(i, j) = static_cast<float>(mean + deviation * random.normal());
  }
  return x;
}
Matrix<Bound> lift(const Matrix<double>& x) {
  Matrix<Bound> z(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = Bound(x(i, j));
  }
  return z;
}

struct BoundMoments : ::testing::Test {
  Contract fp32 = parse_contract("fp32");
  double z = z_of(1e9);
  ReadingScope scope{{&fp32, false, z}};
  Random random{3};

  /// How many of 400 tensors of honest kernels are rejected, element by element or as a whole.
  template <class Statistic>
  int rejected(Statistic inverse) {
    int count = 0;
    for (int rep = 0; rep < 400; ++rep) {
      const double mean = std::ldexp(random.sign(), static_cast<int>(random.below(10))), deviation = 0.125;
      const Matrix<double> x = rows(random, 2, 1 + random.below(200), mean, deviation);
      const Matrix<Bound> bx = lift(x);
      const Vector<Bound> m = mean_rows(bx);
      const Matrix<Bound> c = sub_rows(bx, m), y = scale_rows(c, inverse(c, m));
      std::vector<Bound> expected;
      std::vector<double> observed;
      const auto fl = [](double v) { return static_cast<double>(static_cast<float>(v)); };
      const std::size_t lanes = rep % 2 ? 32 : 1;
      bool held = true;
      for (Index i = 0; i < x.rows(); ++i) {
        const Moments k = moments(x, i, lanes, fl);
        const double r = fl(1 / fl(std::sqrt(fl(fl(k.m2 / k.n) + fl(eps)))));
        for (Index j = 0; j < x.cols(); ++j) {
          expected.push_back(y(i, j));
          observed.push_back(fl(fl(x(i, j) - k.mean) * r));
          held = held && judge(y(i, j), observed.back(), formats::fp32, Round::nearest_even, z).accepted;
        }
      }
      held = held && judge_aggregate(expected.data(), observed.data(), static_cast<Index>(observed.size()),
                                     formats::fp32, Round::nearest_even, z)
                         .accepted;
      count += !held;
    }
    return count;
  }
};

TEST_F(BoundMoments, HonestKernelsOfOnePassAreAccepted) {
  const auto one_pass = [](const Matrix<Bound>& c, const Vector<Bound>& m) { return inv_std(c, m, eps); };
  const auto two_passes = [](const Matrix<Bound>& c, const Vector<Bound>&) { return inv_rms(c, eps); };
  EXPECT_EQ(rejected(one_pass), 0);
  EXPECT_GT(rejected(two_passes), 10) << "without the running means' errors";
}

TEST_F(BoundMoments, ARowMayShareTwoErrors) {
  // y = (x - mean) r with a mean and an r that err by one draw each: both errors reach the whole row.
  const double of_mean = 1e-3, of_r = 1e-4;
  int with = 0, without = 0;
  for (int rep = 0; rep < 40; ++rep) {
    const Matrix<double> x = rows(random, 1, 4096, 0, 1);
    Vector<Bound> mean(1), r(1);
    mean[0].s2 = of_mean * of_mean;
    r[0] = Bound(1);
    r[0].s2 = of_r * of_r;
    mean[0].w = r[0].w = 1;
    const Matrix<Bound> y = scale_rows(sub_rows(lift(x), mean), r);
    const double m = of_mean * random.normal(), g = 1 + of_r * random.normal();
    std::vector<Bound> expected;
    std::vector<double> observed;
    for (Index j = 0; j < x.cols(); ++j) {
      expected.push_back(y(0, j));
      observed.push_back(static_cast<float>((x(0, j) - m) * g));
    }
    const auto accepted = [&] {
      return judge_aggregate(expected.data(), observed.data(), x.cols(), formats::fp32, Round::nearest_even, z)
          .accepted;
    };
    with += !accepted();
    for (Bound& e : expected) e.folded = 0;
    without += !accepted();
  }
  EXPECT_EQ(with, 0);
  EXPECT_GT(without, 10) << "as if what gave way were independent";
}

TEST_F(BoundMoments, HoldsInTheWorstCase) {
  double reached = 0;
  for (int rep = 0; rep < 4000; ++rep) {
    const Matrix<double> x =
        rows(random, 1, 2 + random.below(40), std::ldexp(1.0, static_cast<int>(random.below(8))), 1);
    Adversary fl{random, fp32.u(), static_cast<double>(random.below(3)) - 1};
    const Matrix<Bound> bx = lift(x);
    const Vector<Bound> m = mean_rows(bx);
    const Bound in = inv_std(sub_rows(bx, m), m, eps)[0];
    const Moments k = moments(x, 0, random.below(2) ? 1 : 8, fl);
    const double r = fl(1 / std::sqrt(fl(fl(k.m2 / k.n) + fl(eps))), 4);
    ASSERT_LE(std::fabs(r - in.v), in.w * (1 + testing::kTestArithmetic) + testing::kTestArithmetic * in.v) << rep;
    if (std::isfinite(in.w)) reached = std::max(reached, std::fabs(r - in.v) / in.w);
  }
  EXPECT_GT(reached, 0.02) << "it is not vacuous";
}

TEST_F(BoundMoments, MeansOfDoublesAreCompensated) {
  Matrix<double> x(1, 40);
  for (Index j = 0; j < 40; ++j) x(0, j) = j % 4 == 0 ? 1e16 : j % 4 == 2 ? -1e16 : 1;
  EXPECT_EQ(mean_rows(x)[0], 0.5);
  EXPECT_EQ(mean_rows(lift(x))[0].v, 0.5);
}

}  // namespace
}  // namespace assay

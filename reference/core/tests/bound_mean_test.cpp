// The closed form of the softmax-weighted mean: honest kernels stay inside, the worst one inside w, the naive reading
// and a wrong contract do not hold, exact inputs are judged bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "reference/core/math.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/verdict.hpp"
#include "reference/core/vocabulary/bound_accumulate.hpp"
#include "reference/core/vocabulary/softmax_mean.hpp"

namespace assay {
namespace {

using testing::Random;

/// Rounds a result that took so many operations: to fp32, or as badly as possible.
using Round32 = std::function<double(double exact, double times)>;

struct Kernel {
  Index tile = 16;
  const Format* p = &formats::fp32;
  bool rounded_sum = false, fma = false, normalised = false;
  double exp_ulp = 2.5;
  Round32 fl = [](double x, double) { return static_cast<double>(static_cast<float>(x)); };
};

/// Flash attention of one row: tiles, running maximum, rescale.
std::vector<double> run(const Kernel& k, const Matrix<double>& s, const Matrix<double>& v) {
  const Index n = s.cols(), d = v.cols();
  const auto exp = [&](double x, double m) {
    if (m == -infinity) return 0.0;
    if (k.fma) {
      const double arg = k.fl(std::fma(x, 1.44269504f, -k.fl(m * 1.44269504f, 1)), 1);
      return k.fl(math::exp2(arg), k.exp_ulp * 2 - 1);
    }
    const double arg = x == m ? 0 : k.fl(x - m, 1);
    return arg == 0 ? 1 : k.fl(math::exp(arg), k.exp_ulp * 2 - 1);
  };
  double m = -infinity, l = 0;
  std::vector<double> o(static_cast<std::size_t>(d), 0);
  const Index tile = k.normalised ? n : k.tile;
  for (Index t = 0; t < n; t += tile) {
    const Index end = std::min(n, t + tile);
    double top = m;
    for (Index j = t; j < end; ++j) top = std::max(top, s(0, j));
    const double alpha = exp(m, m == -infinity ? m : top);
    m = top;
    if (t > 0) l = alpha == 1 ? l : k.fl(l * alpha, 1);
    std::vector<double> e, p;
    for (Index j = t; j < end; ++j) {
      e.push_back(exp(s(0, j), m));
      p.push_back(round_to(*k.p, e.back()));
      const double add = k.rounded_sum ? p.back() : e.back();
      l = l == 0 ? add : k.fl(l + add, 1);
    }
    if (k.normalised)
      for (std::size_t j = 0; j < e.size(); ++j) p[j] = round_to(*k.p, k.fl(e[j] / l, 1));
    for (Index c = 0; c < d; ++c) {
      double& x = o[static_cast<std::size_t>(c)];
      if (t > 0 && alpha != 1) x = k.fl(x * alpha, 1);
      for (Index j = t; j < end; ++j) {
        const double product = p[static_cast<std::size_t>(j - t)] * v(j, c);
        x = x == 0 ? k.fl(product, 1) : k.fl(x + product, 1);
      }
    }
  }
  if (!k.normalised)
    for (double& x : o) x = k.fl(x / l, 1);
  o.push_back(l == 1 ? m : k.fl(m + k.fl(math::log(l), 4), 1));
  return o;
}

struct BoundMean : ::testing::Test {
  Random random{5};
  void TearDown() override { detail::algebra_switches() = {}; }

  Matrix<double> fp32(Index rows, Index cols, double scale) {
    Matrix<double> x(rows, cols);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j) x(i, j) = static_cast<float>(scale * random.normal());
    return x;
  }
  static Matrix<Bound> lift(const Matrix<double>& x) {
    Matrix<Bound> y(x.rows(), x.cols());
    for (Index i = 0; i < x.rows(); ++i)
      for (Index j = 0; j < x.cols(); ++j) y(i, j) = Bound(x(i, j));
    return y;
  }
  /// The definition of a row, and what a kernel returned: o, then lse.
  static std::vector<Bound> define(const Matrix<double>& s, const Matrix<double>& v, bool naive = false) {
    SoftmaxMean<Bound> y{Vector<Bound>(1), Matrix<Bound>(1, v.cols())};
    const Vector<Bound> none;
    if (naive)
      prim::softmax_mean<Bound>(lift(s), lift(v), Mask(), none, y);
    else
      prim::softmax_mean(lift(s), lift(v), Mask(), none, y);
    std::vector<Bound> all;
    for (Index c = 0; c < v.cols(); ++c) all.push_back(y.o(0, c));
    all.push_back(y.lse[0]);
    return all;
  }
  /// Largest z of a kernel's fp32 outputs; `accepted` counts.
  static double z_of_kernel(const std::vector<Bound>& y, const std::vector<double>& o, bool with_lse = true) {
    double z = 0;
    for (std::size_t i = 0; i < y.size() - !with_lse; ++i)
      z = std::max(z, judge(y[i], static_cast<float>(o[i]), formats::fp32, Round::nearest_even, 8).z);
    return z;
  }
};

TEST_F(BoundMean, HonestKernelsStayInside) {
  for (const char* text : {"fp32", "bf16 p=bf16 out=fp32", "bf16 p=bf16 l=rounded", "fp16 p=fp16 exponent=fma",
                           "fp16 p=fp16 p_scale=normalised", "fp32 exponent=fma"}) {
    const Contract c = parse_contract(text);
    const ReadingScope scope({&c, false, 8});
    Kernel k;
    k.p = c.p;
    k.rounded_sum = c.l == RowSum::rounded;
    k.fma = c.exponent == Exponent::fma;
    k.normalised = c.p_scale == PScale::normalised;
    double largest = 0, squares = 0, count = 0;
    for (int rep = 0; rep < 300; ++rep) {
      const Index n = 1 + random.below(150);
      Matrix<double> s = fp32(1, n, rep % 3 == 0 ? 20 : 2), v = fp32(n, 5, 1);
      for (Index j = 0; j < n; ++j) {
        for (Index x = 0; x < 5; ++x) v(j, x) = round_to(*c.in, rep % 5 == 1 ? 0.1 : v(j, x));
        if (rep % 4 == 1) s(0, j) = s(0, j % 3);
        if (rep % 7 == 2) s(0, j) = static_cast<float>(0.1 * static_cast<double>(j));
      }
      const std::vector<Bound> y = define(s, v);
      k.tile = 16 + random.below(40);
      const std::vector<double> o = run(k, s, v);
      const double z = z_of_kernel(y, o, !k.normalised);
      largest = std::max(largest, z);
      squares += z * z;
      ++count;
      for (std::size_t i = 0; i < y.size() - k.normalised; ++i)
        ASSERT_LE(std::fabs(o[i] - y[i].v), y[i].w * 1.001) << text << n;
    }
    EXPECT_LT(largest, 4) << text;
    EXPECT_GT(std::sqrt(squares / count), 0.05) << text << ": the bound means something";
  }
}

TEST_F(BoundMean, TheNaiveReadingDoesNotHold) {
  // Equal logits carry equal errors: with P in bf16 the kernel is off by one rounding of P, not by an average of many.
  const Contract c = parse_contract("bf16 p=bf16 out=fp32");
  const ReadingScope scope({&c, false, 8});
  Kernel k;
  k.p = c.p;
  k.tile = 1000;
  double naive = 0, ungrouped = 0, closed = 0;
  for (int rep = 0; rep < 50; ++rep) {
    const Index n = 400;
    Matrix<double> s(1, n, static_cast<float>(-random.uniform())), v(n, 2, 1.0);
    s(0, 0) = 1;
    const std::vector<double> o = run(k, s, v);
    naive = std::max(naive, z_of_kernel(define(s, v, true), o));
    closed = std::max(closed, z_of_kernel(define(s, v), o));
    detail::algebra_switches().grouping = false;
    ungrouped = std::max(ungrouped, z_of_kernel(define(s, v), o));
    detail::algebra_switches() = {};
  }
  EXPECT_GT(naive, 8);
  EXPECT_GT(ungrouped, 8);
  EXPECT_LT(closed, 4);
}

TEST_F(BoundMean, AWrongContractIsSeen) {
  struct Wrong {
    const char* contract;
    Kernel kernel;
  };
  Kernel plain, fma, normalised, rounded, narrow;
  for (Kernel* k : {&plain, &fma, &normalised, &rounded}) k->p = &formats::bf16;
  fma.fma = normalised.normalised = rounded.rounded_sum = true;
  narrow.p = &formats::e4m3;
  const std::vector<Wrong> all{{"bf16 p=bf16 out=fp32", fma},
                               {"bf16 p=bf16 out=fp32", normalised},
                               {"bf16 p=bf16 out=fp32", rounded},
                               {"bf16 p=bf16 out=fp32 l=rounded", plain},
                               {"bf16 p=bf16 out=fp32 p_scale=normalised", plain},
                               {"fp32", plain},
                               {"bf16 p=bf16 out=fp32", narrow}};
  for (const Wrong& w : all) {
    const Contract c = parse_contract(w.contract);
    const ReadingScope scope({&c, false, 8});
    int seen = 0;
    for (int rep = 0; rep < 60; ++rep) {
      const Index n = 3 + random.below(60);
      Matrix<double> s = fp32(1, n, 3), v = fp32(n, 2, 1);
      for (Index j = 0; j < n; ++j) {
        if (rep % 3 == 0) s(0, j) = s(0, 0) + (j % 2 ? 0 : 100);  // equal keys, far from 0
        if (rep % 3 == 1) s(0, j) = static_cast<float>(s(0, j) + 300);
        for (Index x = 0; x < 2; ++x) v(j, x) = rep % 2 ? 0.75 : round_to(*c.in, v(j, x));
      }
      const std::vector<Bound> y = define(s, v);
      const std::vector<double> o = run(w.kernel, s, v);
      for (std::size_t i = 0; i + 1 < y.size(); ++i)
        seen += !judge(y[i], static_cast<float>(o[i]), formats::fp32, Round::nearest_even, 8).accepted;
    }
    EXPECT_GT(seen, 0) << w.contract;
  }
}

TEST_F(BoundMean, TheWorstCaseIsOne) {
  double reached = 0;
  for (const char* text : {"fp32", "fp32 exponent=fma", "fp16_acc_fp16"}) {
    const Contract c = parse_contract(std::string(text) + " split_min=1000");
    const ReadingScope scope({&c, false, 8});
    for (int rep = 0; rep < 2000; ++rep) {
      const Index n = 1 + random.below(40);
      const Matrix<double> s = fp32(1, n, rep % 2 ? 3 : 0.5), v = fp32(n, 2, 1);
      testing::Adversary worst{random, c.u(), static_cast<double>(random.below(3)) - 1};
      Kernel k;
      k.p = &formats::fp64;
      k.fma = c.exponent == Exponent::fma;
      k.fl = [&](double x, double times) { return worst(x, times); };
      const std::vector<Bound> y = define(s, v);
      const std::vector<double> o = run(k, s, v);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double off = std::fabs(o[i] - y[i].v);
        ASSERT_LE(off, y[i].w + testing::kTestArithmetic * (1 + std::fabs(y[i].v))) << text << " n=" << n << " " << i;
        if (y[i].w > 0 && y[i].w < infinity) reached = std::max(reached, off / y[i].w);
      }
    }
  }
  EXPECT_GT(reached, 0.3);
}

TEST_F(BoundMean, ExactInputsAreJudgedBitByBit) {
  const Contract c = parse_contract("bf16 p=bf16 split_min=100");
  const ReadingScope scope({&c, false, 8});
  Matrix<double> v(4, 3);
  for (Index j = 0; j < 4; ++j) v(j, j % 3) = 1 + static_cast<double>(j);
  for (const Bound& y : define(Matrix<double>(1, 4, 2.5), v)) {
    if (y.v > 2.5) continue;  // the log-sum-exp
    EXPECT_EQ(y.w, 0) << "four equal keys: l = 4";
  }
  const std::vector<Bound> three = define(Matrix<double>(1, 3, 2.5), v.row_range(0, 3));
  EXPECT_EQ(three[0].v, 1.0 / 3);
  EXPECT_GT(three[0].w, 0) << "a third is rounded";
  EXPECT_LT(three[0].allowed(), 0x1p-20);
  EXPECT_EQ(define(Matrix<double>(1, 1, 7.0), v.row_range(1, 2))[1].w, 0) << "one key: o = v";
}

TEST_F(BoundMean, ErrorsOfTheOperandsComeThrough) {
  const Contract c = parse_contract("fp64");
  const ReadingScope scope({&c, false, 8});
  // With u = 2^-53 what is left is the operands' own: do/ds_j = p_j (v_j - o), do/dv_j = p_j.
  Matrix<Bound> s(1, 3), v(3, 1);
  const double logits[] = {0.3, -0.2, 1.1}, values[] = {2, -1, 0.5};
  for (Index j = 0; j < 3; ++j) s(0, j) = Bound(logits[j]), v(j, 0) = Bound(values[j]);
  const double o = softmax_mean(s, v, Mask(), Vector<Bound>()).o(0, 0).v;
  double whole = 0, expected = 0, of_lse = 0;
  for (const double x : logits) whole += std::exp(x);
  for (Index j = 0; j < 3; ++j) {
    s(0, j).s2 = 1e-12 * static_cast<double>(j + 1);
    v(j, 0).s2 = 3e-12;
    s(0, j).w = v(j, 0).w = 1e-4;
    const double p = std::exp(logits[j]) / whole;
    expected += std::pow(p * (values[j] - o), 2) * s(0, j).s2 + p * p * 3e-12;
    of_lse += p * p * s(0, j).s2;
  }
  const SoftmaxMean<Bound> y = softmax_mean(s, v, Mask(), Vector<Bound>());
  // The first order leaves out as much, relatively, as the deviations are: 1e-6.
  EXPECT_NEAR(y.o(0, 0).s2 / expected, 1, 1e-6);
  EXPECT_NEAR(y.lse[0].s2 / of_lse, 1, 1e-6);
  // One symbol that all logits share: a common shift moves the log-sum-exp alone.
  for (Index j = 0; j < 3; ++j) {
    s(0, j).c = 1e-6;
    s(0, j).symbol = 77;
  }
  const SoftmaxMean<Bound> z = softmax_mean(s, v, Mask(), Vector<Bound>());
  // Up to the roundings of three terms of at most 3e-6.
  EXPECT_NEAR(z.o(0, 0).c, 0, 8 * 0x1p-53 * 3e-6);
  EXPECT_NEAR(z.lse[0].c, 1e-6, 8 * 0x1p-53 * 3e-6);
}

}  // namespace
}  // namespace assay

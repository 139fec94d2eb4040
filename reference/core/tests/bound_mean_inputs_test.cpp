// The closed form of the softmax-weighted mean on every profile of values, under every preset and declaration: bounds
// stay numbers, values are those of double, and a chunked passage is judged like the one it is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/attention/core.hpp"
#include "reference/core/math.hpp"
#include "reference/core/profile.hpp"
#include "reference/core/tests/bound_testing.hpp"
#include "reference/core/verdict.hpp"
#include "reference/core/vocabulary.hpp"
#include "reference/softmax/online.hpp"

namespace assay {
namespace {

using testing::Random;

bool same_bits(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y)); }

Matrix<Bound> lift(const Matrix<double>& x, double w) {
  Matrix<Bound> y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) {
      y(i, j) = Bound(x(i, j));
      if (w == 0 || !std::isfinite(x(i, j))) continue;
      y(i, j).w = w * std::fabs(x(i, j));
      y(i, j).s2 = std::pow(y(i, j).w / 4, 2);
      y(i, j).b = y(i, j).w / 8;
    }
  return y;
}

/// stored: what rounding the weights may move the value by, where the bound carries the stored ones.
void expect_sound(const Bound& x, double value, double stored, const std::string& where) {
  ASSERT_FALSE(std::isnan(x.s2) || std::isnan(x.b) || std::isnan(x.w) || std::isnan(x.c) || std::isnan(x.folded))
      << where;
  ASSERT_GE(x.w, 0) << where;
  ASSERT_GE(x.b, 0) << where;
  ASSERT_GE(x.s2, 0) << where;
  ASSERT_GE(x.allowed(), 0) << where;
  if (!std::isfinite(x.v)) {
    ASSERT_EQ(x.w, 0) << where;
  }
  ASSERT_TRUE(x.w > 0 || stored > 0 || same_bits(x.v, value)) << where;
  ASSERT_TRUE(same_bits(x.v, value) || std::fabs(x.v - value) <= x.w * (1 + 1e-9) + stored)
      << where << x.v << " " << value;
}

TEST(BoundMeanInputs, EveryProfileUnderEveryContract) {
  Random random(3);
  std::vector<std::string> contracts = contract_presets();
  for (const char* more :
       {"bf16 p=bf16", "fp16 p=fp16 p_scale=normalised", "bf16 p=e4m3 l=rounded", "fp32 exponent=fma",
        "fp16 p=fp16 exponent=fma splits=2", "bf16 p=bf16 partial=fp16 tile=1", "fp16_acc_fp16 order=any",
        "bf16 p=e5m2 kind=mma(13,32) split_min=1", "in=e4m3 acc=fp32 p=e2m1 out=bf16"})
    contracts.emplace_back(more);
  int emulated = 0;
  for (const std::string& text : contracts) {
    const Contract c = parse_contract(text);
    const ReadingScope scope({&c, false, 8});
    for (const Profile p : all_profiles())
      for (const Index n : {1, 2, 9, 16, 17, 40}) {
        const Matrix<double> s = fill(p, {3, n}, random.bits(), 0, c.in).matrix();
        const Matrix<double> v = fill(p, {n, 2}, random.bits(), 1, c.in).matrix();
        Mask keep(3, n);
        for (Index i = 0; i < 3 * n; ++i) keep.data()[i] = random.below(5) != 0;
        Vector<double> sink(3);
        for (Index i = 0; i < 3; ++i) sink[i] = i == 0 ? -infinity : 3 * random.normal();
        Vector<Bound> lifted(3);
        for (Index i = 0; i < 3; ++i) lifted[i] = Bound(sink[i]);
        const SoftmaxMean<double> y = softmax_mean(s, v, keep, sink);
        double stored = 0;
        for (Index j = 0; c.p->p() < c.acc->p() && j < 2 * n; ++j)
          if (std::isfinite(v.data()[j])) stored = std::max(stored, 2 * c.p->u() * std::fabs(v.data()[j]));
        for (const double error : {0.0, 1e-6, 0.1}) {
          const SoftmaxMean<Bound> z = softmax_mean(lift(s, error), lift(v, error), keep, lifted);
          for (Index i = 0; i < 3; ++i) {
            const std::string where =
                text + " " + std::string(name(p)) + " n=" + std::to_string(n) + " error=" + std::to_string(error);
            expect_sound(z.lse[i], y.lse[i], 0, where);
            for (Index x = 0; x < 2; ++x) {
              expect_sound(z.o(i, x), y.o(i, x), stored, where);
              emulated += !same_bits(z.o(i, x).v, y.o(i, x));
            }
          }
        }
      }
  }
  EXPECT_GT(emulated, 100) << "stored weights were rounded somewhere";
}

TEST(BoundMeanInputs, ChunksAreAPassage) {
  Random random(4);
  const Contract c = parse_contract("fp32 tile=64 splits=1");
  const ReadingScope scope({&c, false, 8});
  const Index n = 48;
  const Matrix<double> s = fill(Profile::normal, {1, n}, 1, 0, &formats::fp32).matrix();
  const Matrix<double> v = fill(Profile::normal, {n, 1}, 1, 1, &formats::fp32).matrix();
  OnlineSoftmaxOptions whole, each;
  whole.chunk = 64;
  each.chunk = 1;
  const Bound once = softmax_mean(lift(s, 0), lift(v, 0), Mask(), Vector<Bound>()).o(0, 0);
  const Bound one = online_softmax(lift(s, 0), lift(v, 0), whole).o(0, 0);
  const Bound many = online_softmax(lift(s, 0), lift(v, 0), each).o(0, 0);
  EXPECT_DOUBLE_EQ(one.s2, once.s2) << "one chunk is one tile";
  EXPECT_GT(many.s2, once.s2) << "rescales add their own";
  // A maximum that comes first is never exceeded: nothing is rescaled.
  Matrix<double> sorted = fill(Profile::descending, {1, n}, 1, 0, &formats::fp32).matrix();
  EXPECT_DOUBLE_EQ(online_softmax(lift(sorted, 0), lift(v, 0), each).o(0, 0).s2,
                   online_softmax(lift(sorted, 0), lift(v, 0), whole).o(0, 0).s2);
  for (Index j = 0; j < n; ++j) sorted(0, j) = -sorted(0, j);
  const Bound climbing = online_softmax(lift(sorted, 0), lift(v, 0), each).o(0, 0);
  EXPECT_GT(climbing.s2, 2 * online_softmax(lift(sorted, 0), lift(v, 0), whole).o(0, 0).s2);
}

/// Attention whose scores a kernel stores in bf16: possible where the contract says so, impossible where it does not.
TEST(AttentionScores, AreStoredAsTheContractSays) {
  const Index n = 6;
  const Matrix<double> q(1, 1, 1.0), k(n, 1), v(n, 1);
  for (Index j = 0; j < n; ++j) {
    k.data()[j] = round_to(format("fp32"), 100 + 0.37 * static_cast<double>(j));  // bf16 has steps of 0.5 there
    v.data()[j] = j % 2 == 0 ? 1 : -1;
  }
  double l = 0, o = 0;
  for (Index j = 0; j < n; ++j) {
    const double e = math::exp(round_to(format("bf16"), k(j, 0)) - 102);
    l += e;
    o += e * v(j, 0);
  }
  const double stored = round_to(format("fp32"), o / l);
  AttentionOptions opt;
  opt.causal = AttentionOptions::Causal::none;
  opt.scale = 1;
  const auto lifted = [](const Matrix<double>& x) {
    Matrix<Bound> y(x.rows(), x.cols());
    for (Index i = 0; i < x.rows(); ++i)
      for (Index j = 0; j < x.cols(); ++j) y(i, j) = x(i, j);
    return y;
  };
  for (const bool declared : {true, false}) {
    const Contract c = parse_contract(declared ? "fp32 s=bf16" : "fp32");
    const ReadingScope scope(Reading{&c, false, 8});
    const Attention<Bound> y =
        attention(lifted(q), lifted(k), lifted(v), Mask(), Matrix<Bound>(), Vector<Bound>(), opt);
    EXPECT_EQ(declared, judge(y.o(0, 0), stored, format("fp32"), Round::nearest_even, 8).accepted) << c.spell();
  }
}

}  // namespace
}  // namespace assay

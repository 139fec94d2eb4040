// Ring attention against full attention: any number of ranks, any partition of the tokens, forward and backward.
#include "distributed/attention/ring.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "distributed/communicator/tests/testing.hpp"
#include "distributed/communicator/watched.hpp"
#include "reference/attention/ring.hpp"

namespace assay {
namespace {

struct Problem {
  Index B = 2, S = 0, H = 4, Hkv = 2, d = 6, dv = 3;
  AttentionRingOptions opt;
  Tensor<float> q, k, v, d_o;
  Tensor<unsigned char> mask;
  Vector<float> sink;
};

/// The same numbers on every rank.
Problem problem(Index S, unsigned seed) {
  Problem p;
  p.S = S;
  unsigned state = seed * 7919 + 1;
  const auto draw = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<int>(state >> 16 & 1023U) - 512) / 128;
  };
  const auto fill = [&](Shape shape) {
    const Tensor<float> x(std::move(shape));
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = draw();
    return x;
  };
  p.q = fill({p.B, S, p.H, p.d});
  p.k = fill({p.B, S, p.Hkv, p.d});
  p.v = fill({p.B, S, p.Hkv, p.dv});
  p.d_o = fill({p.B, S, p.H, p.dv});
  p.opt.causal = seed % 2 == 0 ? AttentionRingOptions::Causal::causal : AttentionRingOptions::Causal::none;
  p.opt.window = seed % 3 == 2 ? 3 : -1;
  if (seed % 4 > 1) {
    p.opt.mask = AttentionRingOptions::Mask::given;
    p.mask = Tensor<unsigned char>(Shape{p.B, S, S});
    for (Index i = 0; i < p.mask.size(); ++i) p.mask.data()[i] = draw() > -1 && i / S % 5 != 1;  // with empty rows
  }
  if (seed % 5 > 2) {
    p.opt.sink = AttentionRingOptions::Sink::given;
    p.sink = fill({p.H}).vector();
  }
  return p;
}

/// Tokens dealt at random, some ranks perhaps without any.
Tokens any_partition(Index S, int R, unsigned seed) {
  Tokens tokens(static_cast<std::size_t>(R));
  for (Index t = S; t-- > 0;) {
    seed = seed * 1664525U + 1013904223U;
    tokens[(seed >> 20) % static_cast<unsigned>(R)].push_back(t);
  }
  return tokens;
}

/// Dimension 1 (or `dim`) of x at the given places.
template <class To, class From>
Tensor<To> take(const Tensor<From>& x, const std::vector<Index>& which) {
  Shape shape = x.shape();
  const Index B = shape[0], S = shape[1], inner = S == 0 || B == 0 ? 0 : x.size() / (B * S);
  shape[1] = static_cast<Index>(which.size());
  const Tensor<To> y(shape);
  for (Index b = 0; b < B; ++b)
    for (Index i = 0; i < shape[1]; ++i)
      for (Index c = 0; c < inner; ++c)
        y.data()[(b * shape[1] + i) * inner + c] =
            static_cast<To>(x.data()[(b * S + which[static_cast<std::size_t>(i)]) * inner + c]);
  return y;
}

template <class F>
RingShard<F> shard_of(const Problem& p, const std::vector<Index>& own) {
  RingShard<F> s{take<F>(p.q, own), take<F>(p.k, own), take<F>(p.v, own), {}, {}};
  if (p.mask.data() != nullptr) s.mask = take<unsigned char>(p.mask, own);
  if (p.sink.data() != nullptr) {
    s.sink = Vector<F>(p.H);
    for (Index h = 0; h < p.H; ++h) s.sink[h] = static_cast<F>(p.sink[h]);
  }
  return s;
}

Tensor<Bound> lifted(const Tensor<float>& x) {
  const Tensor<Bound> y(x.shape());
  for (Index i = 0; i < x.size(); ++i) y.data()[i] = static_cast<double>(x.data()[i]);
  return y;
}

/// Full attention and its gradients with the worst error of a computation in F that merges R parts.
template <class F>
AttentionRingOutputs<Bound> full_attention(const Problem& p, int R) {
  static const Contract contract = parse_contract(sizeof(F) == 4 ? "fp32" : "fp64");
  const ReadingScope scope(Reading{&contract, false, 8});
  AttentionRingOptions opt = p.opt;
  opt.ranks = R;
  Vector<Bound> sink;
  if (p.sink.data() != nullptr) {
    sink = Vector<Bound>(p.H);
    for (Index h = 0; h < p.H; ++h) sink[h] = static_cast<double>(p.sink[h]);
  }
  return attention_ring<Bound>({lifted(p.q), lifted(p.k), lifted(p.v), p.mask, sink, lifted(p.d_o)}, opt);
}

/// Elements within the worst error, and one rounding to F.
template <class F>
void expect_near(const std::string& what, const Tensor<F>& found, const Tensor<Bound>& expected) {
  ASSERT_EQ(expected.shape(), found.shape()) << what;
  for (Index i = 0; i < found.size(); ++i) {
    const Bound& y = expected.at_flat(i);
    const auto x = static_cast<double>(found.data()[i]);
    if (std::isinf(y.v)) {
      EXPECT_EQ(y.v, x) << what << " at " << i;
      continue;
    }
    const double rounding = std::numeric_limits<F>::epsilon() * std::fabs(y.v);
    EXPECT_LE(std::fabs(x - y.v), y.w + rounding) << what << " at " << i << ": expected " << y.v << ", found " << x;
  }
}

/// L of own rows: [B, H, S] at the tokens of a rank.
Tensor<Bound> rows_of_lse(const Tensor<Bound>& lse, const std::vector<Index>& own) {
  const Index B = lse.shape()[0], H = lse.shape()[1], S = lse.shape()[2], n = static_cast<Index>(own.size());
  const Tensor<Bound> y(Shape{B, H, n});
  for (Index r = 0; r < B * H; ++r)
    for (Index i = 0; i < n; ++i) y.data()[r * n + i] = lse.data()[r * S + own[static_cast<std::size_t>(i)]];
  return y;
}

template <class F>
void expect_full_attention(Communicator& c, const Problem& p, const RingPlan& plan, const std::string& what) {
  const std::vector<Index>& own = plan.tokens[static_cast<std::size_t>(c.rank())];
  const RingShard<F> shard = shard_of<F>(p, own);
  const RingResult<F> y = ring_forward(c, plan, shard);
  const RingGradients<F> g = ring_backward(c, plan, shard, y, take<F>(p.d_o, own));
  const AttentionRingOutputs<Bound> full = full_attention<F>(p, c.size());
  expect_near("o, " + what, y.o, take<Bound>(full.o, own));
  expect_near("lse, " + what, y.lse, rows_of_lse(full.lse, own));
  expect_near("dq, " + what, g.dq, take<Bound>(full.grad_q, own));
  expect_near("dk, " + what, g.dk, take<Bound>(full.grad_k, own));
  expect_near("dv, " + what, g.dv, take<Bound>(full.grad_v, own));
}

RingPlan plan_of(const Problem& p, Tokens tokens, unsigned seed) {
  RingPlan plan;
  plan.tokens = std::move(tokens);
  plan.rule.causal = p.opt.causal == AttentionRingOptions::Causal::causal;
  plan.rule.window = static_cast<Index>(p.opt.window);
  plan.merge_hidden = seed % 2 == 1;
  plan.start = static_cast<int>(seed % 4);
  return plan;
}

TEST(Ring, EqualsFullAttention) {
  using Schedule = AttentionRingOptions::Schedule;
  unsigned seed = 0;
  for (const int R : testing::rank_counts())
    for (const Schedule schedule : {Schedule::contiguous, Schedule::zigzag, Schedule::striped}) {
      const Problem p = problem(2 * R * 2, ++seed);
      const RingPlan plan = plan_of(p, shards(schedule, p.S, R), seed);
      const std::string what = std::to_string(R) + " ranks, seed " + std::to_string(seed);
      testing::on_ranks(R, [&](Communicator& c) {
        expect_full_attention<float>(c, p, plan, what + ", float");
        expect_full_attention<double>(c, p, plan, what + ", double");
      });
    }
}

TEST(Ring, AnyPartition) {
  for (const int R : testing::rank_counts())
    for (unsigned seed = 0; seed < 6; ++seed) {
      const Problem p = problem(R * 3, seed);
      const RingPlan plan = plan_of(p, any_partition(p.S, R, seed + 5), seed);
      testing::on_ranks(
          R, [&](Communicator& c) { expect_full_attention<float>(c, p, plan, "seed " + std::to_string(seed)); });
    }
}

TEST(Ring, OneRankIsTheLocalKernel) {
  const Problem p = problem(12, 4);
  const RingPlan plan = plan_of(p, shards(AttentionRingOptions::Schedule::contiguous, p.S, 1), 4);
  testing::on_ranks(1, [&](Communicator& c) {
    const RingShard<float> shard = shard_of<float>(p, plan.tokens[0]);
    RingShard<float> without = shard;
    without.sink = {};
    const RingPart<float> local = attend_block(shard.q, shard.k, shard.v, {plan.rule, plan.tokens[0], plan.tokens[0]});
    const RingResult<float> y = ring_forward(c, plan, without);
    for (Index i = 0; i < y.o.size(); ++i) EXPECT_EQ(local.o.data()[i], y.o.data()[i]);
    for (Index i = 0; i < y.lse.size(); ++i) EXPECT_EQ(local.lse.data()[i], y.lse.data()[i]);
  });
}

TEST(Ring, Traffic) {
  for (const int R : testing::rank_counts()) {
    const Problem p = problem(2 * R, 1);
    RingPlan plan = plan_of(p, shards(AttentionRingOptions::Schedule::zigzag, p.S, R), 0);
    testing::on_ranks(R, [&](Communicator& c) {
      WatchedTransport watched(c.transport(), 5);
      Communicator ranks(watched);
      const auto& own = plan.tokens[static_cast<std::size_t>(c.rank())];
      const RingShard<float> shard = shard_of<float>(p, own);
      const RingResult<float> y = ring_forward(ranks, plan, shard);
      const Index hop = p.B * (p.S / R) * p.Hkv * (p.d + p.dv) * 4, forward = (R - 1) * hop;
      EXPECT_EQ(forward, watched.sent()) << R << " ranks";
      ring_backward(ranks, plan, shard, y, take<float>(p.d_o, own));
      EXPECT_EQ(2 * forward + (R > 1 ? R * hop : 0), watched.sent()) << R << " ranks";
    });
  }
}

TEST(Ring, WrongShapesAreErrors) {
  const int R = testing::rank_counts().back();
  const Problem p = problem(2 * R, 0);
  RingPlan plan = plan_of(p, shards(AttentionRingOptions::Schedule::contiguous, p.S, R), 0);
  EXPECT_TRUE(testing::all_say(R,
                               testing::errors(R,
                                               [&](Communicator& c) {
                                                 RingShard<float> s = shard_of<float>(p, plan.tokens[0]);
                                                 s.v = Tensor<float>(Shape{p.B, 1, p.Hkv, p.dv});
                                                 ring_forward(c, plan, s);
                                               }),
                               {"ring attention: shape of v"}));
  EXPECT_THROW(shards(AttentionRingOptions::Schedule::zigzag, 6, 4), Error);
}

}  // namespace
}  // namespace assay

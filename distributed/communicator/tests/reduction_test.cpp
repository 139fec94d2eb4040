// Reductions over ranks: the bits of the order that was asked for, on every rank.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "distributed/communicator/tests/order_oracle.hpp"
#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

using testing::acted_out;
using testing::on_ranks;
using testing::rank_counts;

constexpr Index counts[] = {0, 1, 5, 13};
constexpr Op ops[] = {Op::sum, Op::prod, Op::max, Op::min};

/// Values of many magnitudes and both signs, so that the order shows in the last bits.
float value(int rank, Index i) {
  const auto k = static_cast<std::uint32_t>(rank * 1009 + i * 31 + 7) * 2654435761U;
  const float magnitude = 1 + static_cast<float>(k >> 9) / 8388608;
  return (k & 1 ? -magnitude : magnitude) * static_cast<float>(1 << (k >> 4 & 7));
}

/// The format's value of that, as a double.
double value_in(const Format& f, int rank, Index i) { return round_to(f, value(rank, i)); }

template <class T>
T combine(Op op, T a, T b) {
  switch (op) {
    case Op::sum:
    case Op::avg:
      return a + b;
    case Op::prod:
      return a * b;
    case Op::max:
      return a > b ? a : b;
    case Op::min:
      return a < b ? a : b;
  }
  return a;
}

Index chunk_of(Index i, Index count, int n) { return i / ((count + n - 1) / n); }

/// all_reduce and reduce_scatter of all ranks' `x(rank, i)`, out of place and in place, are `expected(i, count,
/// chunk)`.
template <class T, class X, class E>
void expect_reductions(Communicator& c, Reduction how, X x, E expected) {
  const int n = c.size();
  for (const Index count : counts) {
    std::vector<T> in(static_cast<std::size_t>(count)), out(in.size());
    for (Index i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = x(c.rank(), i);
    const std::vector<T> before = in;
    c.all_reduce(in, out, how);
    EXPECT_EQ(before, in);
    for (Index i = 0; i < count; ++i)
      ASSERT_EQ(expected(i, static_cast<int>(chunk_of(i, count, n))), out[static_cast<std::size_t>(i)])
          << name(how.op) << " " << name(how.order) << " n=" << n << " count=" << count << " i=" << i;
    c.all_reduce(in, in, how);
    EXPECT_EQ(out, in) << "in place";

    std::vector<T> blocks(static_cast<std::size_t>(count * n)), mine(static_cast<std::size_t>(count));
    for (Index i = 0; i < count * n; ++i) blocks[static_cast<std::size_t>(i)] = x(c.rank(), i);
    c.reduce_scatter(blocks, mine, how);
    for (Index i = 0; i < count; ++i)
      ASSERT_EQ(expected(count * c.rank() + i, c.rank()), mine[static_cast<std::size_t>(i)])
          << "reduce_scatter " << name(how.op) << " " << name(how.order) << " n=" << n << " count=" << count;
    Buffer in_place = Buffer(blocks).part(count * c.rank(), count);
    c.reduce_scatter(blocks, in_place, how);
    EXPECT_EQ(0, count == 0 ? 0 : std::memcmp(mine.data(), in_place.data, in_place.bytes().size())) << "in place";
  }
}

/// In the arithmetic of T itself.
template <class T>
void expect_own_arithmetic() {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      const auto x = [](int rank, Index i) {
        const double v = value(rank, i);
        return static_cast<T>(std::is_integral_v<T> ? v * 3 : v / 3);
      };
      for (const Op op : ops)
        for (const CombineOrder order : all_orders())
          expect_reductions<T>(c, {op, order}, x, [&](Index i, int chunk) {
            std::vector<T> all;
            for (int r = 0; r < n; ++r) all.push_back(x(r, i));
            return acted_out<T>(order, all, chunk, [op](T a, T b) { return combine(op, a, b); });
          });
    });
}

TEST(Reduction, DoubleInTheOrderAskedFor) { expect_own_arithmetic<double>(); }
TEST(Reduction, FloatInTheOrderAskedFor) { expect_own_arithmetic<float>(); }
TEST(Reduction, Int64) { expect_own_arithmetic<std::int64_t>(); }

TEST(Reduction, IntegersWrap) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      std::vector<std::int32_t> x{std::numeric_limits<std::int32_t>::max(), 0x10001, -7 - c.rank(), c.rank()}, sum(4),
          prod(4);
      c.all_reduce(x, sum, {Op::sum, CombineOrder::ring});
      c.all_reduce(x, prod, {Op::prod, CombineOrder::halving});
      const std::vector<std::int32_t> both_signs{c.rank() - 2};
      std::vector<std::int32_t> most(1), least(1);
      c.all_reduce(both_signs, most, {Op::max, CombineOrder::halving});
      c.all_reduce(both_signs, least, {Op::min, CombineOrder::doubling});
      EXPECT_EQ(n - 3, most[0]);
      EXPECT_EQ(-2, least[0]);
      std::uint32_t s = 0, p = 1, q = 1;
      for (int r = 0; r < n; ++r) {
        s += 0x7FFFFFFF;
        p *= 0x10001;
        q *= static_cast<std::uint32_t>(-7 - r);
      }
      EXPECT_EQ(static_cast<std::int32_t>(s), sum[0]);
      EXPECT_EQ(static_cast<std::int32_t>(p), prod[1]);
      EXPECT_EQ(static_cast<std::int32_t>(q), prod[2]);
      EXPECT_EQ(n * (n - 1) / 2, sum[3]);
    });
}

TEST(Reduction, CodesAccumulateInTheFormatStated) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      for (const Format* f : {&formats::bf16, &formats::fp16})
        for (const Format* acc : {&formats::fp32, f, static_cast<const Format*>(nullptr)})
          for (const CombineOrder order : all_orders()) {
            const auto code = [f](int r, Index i) {
              return static_cast<std::uint16_t>(encode(*f, value_in(*f, r, i), Round::nearest_even));
            };
            const Format& node = acc == nullptr ? formats::fp32 : *acc;
            const Index count = 9;
            std::vector<std::uint16_t> in, out(count), expected;
            for (Index i = 0; i < count; ++i) {
              in.push_back(code(c.rank(), i));
              std::vector<double> all;
              for (int r = 0; r < n; ++r) all.push_back(value_in(*f, r, i));
              const double sum = acted_out<double>(order, all, static_cast<int>(chunk_of(i, count, n)),
                                                   [&](double a, double b) { return round_to(node, a + b); });
              expected.push_back(static_cast<std::uint16_t>(encode(*f, sum, Round::nearest_even)));
            }
            c.all_reduce({in, *f}, {out, *f}, {Op::sum, order, acc});
            EXPECT_EQ(expected, out) << f->name << " in " << node.name << " " << name(order);
          }
    });
}

TEST(Reduction, ToARootTheBitsOfAllReduce) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      for (const CombineOrder order : all_orders())
        for (const Index count : counts) {
          std::vector<float> x, all(static_cast<std::size_t>(count));
          for (Index i = 0; i < count; ++i) x.push_back(value(c.rank(), i));
          c.all_reduce(x, all, {Op::sum, order});
          for (int root = 0; root < n; ++root) {
            const bool here = c.rank() == root;
            std::vector<float> y(here ? all.size() : 0), in_place = x;
            c.reduce(x, y, root, {Op::sum, order});
            EXPECT_EQ(here ? all : std::vector<float>{}, y) << name(order) << " root " << root;
            c.reduce(in_place, in_place, root, {Op::sum, order});
            EXPECT_EQ(here ? all : x, in_place) << "in place, and nothing is written elsewhere";
          }
        }
    });
}

TEST(Reduction, AnAverageDividesOnce) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      // 7, 9, 11 .. ones in bf16 sum up exactly; their average is 1, whatever n.
      std::vector<std::uint16_t> one{0x3F80}, y(1);
      c.all_reduce({one, formats::bf16}, {y, formats::bf16}, {Op::avg, CombineOrder::ring, &formats::bf16});
      EXPECT_EQ(0x3F80, y[0]);
      std::vector<float> x{value(c.rank(), 0)}, sum(1), avg(1);
      c.all_reduce(x, sum, {Op::sum, CombineOrder::halving});
      c.all_reduce(x, avg, {Op::avg, CombineOrder::halving});
      EXPECT_EQ(sum[0] / static_cast<float>(n), avg[0]);
      std::vector<std::int32_t> k{c.rank() == 0 ? -1 - n : 0}, least(1);
      c.all_reduce(k, least, {Op::avg});
      EXPECT_EQ(n == 1 ? -2 : -1, least[0]) << "integers toward zero";
    });
}

TEST(Reduction, ExactlyAndRoundedOnce) {
  for (const int n : rank_counts()) {
    if (n == 1) continue;
    on_ranks(n, [n](Communicator& c) {
      Reduction how;
      how.exact = true;
      const bool first = c.rank() == 0, last = c.rank() == n - 1;
      const auto at = [&](double a, double b, double other) { return first ? a : last ? b : other; };
      // cancelling; a half ulp and what decides the tie; the least subnormal; -0; infinities
      const std::vector<double> x{at(1e300, -1e300, 1),        at(1, 0x1p-53, 0),    at(1, 0x1p-53 + 0x1p-105, 0),
                                  at(0x1p-1074, 0x1p-1074, 0), at(-0.0, -0.0, -0.0), at(-1, 0x1p-200, 0)};
      std::vector<double> y(x.size());
      c.all_reduce(x, y, how);
      EXPECT_EQ(n - 2.0, y[0]);
      EXPECT_EQ(1, y[1]);
      EXPECT_EQ(1 + 0x1p-52, y[2]);
      EXPECT_EQ(0x1p-1073, y[3]);
      EXPECT_TRUE(y[4] == 0 && std::signbit(y[4]));
      EXPECT_EQ(-1, y[5]);
      // To fp32 at once: a rounding to fp64 on the way would make the second one a tie.
      const std::vector<float> f{static_cast<float>(at(1, 0x1p-24, 0)),
                                 static_cast<float>(at(0x1p100, 0x1p76, 0x1p-149))};
      std::vector<float> g(2);
      c.all_reduce(f, g, how);
      EXPECT_EQ(1.0F, g[0]);
      EXPECT_EQ(n == 2 ? 0x1p100F : 0x1p100F + 0x1p77F, g[1]);
    });
  }
}

TEST(Reduction, TheAccumulatorIsSeen) {
  // 256 + 1 + 1 + .. in bf16: one at a time they vanish (steps of 2, ties to even), together they do not.
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      std::vector<std::uint16_t> x{c.rank() == 0 ? std::uint16_t{0x4380} : std::uint16_t{0x3F80}}, narrow(1), wide(1);
      c.all_reduce({x, formats::bf16}, {narrow, formats::bf16}, {Op::sum, CombineOrder::ascending, &formats::bf16});
      c.all_reduce({x, formats::bf16}, {wide, formats::bf16});
      EXPECT_EQ(0x4380, narrow[0]);
      EXPECT_EQ(encode(formats::bf16, 255.0 + n, Round::nearest_even), wide[0]);
    });
}

TEST(Reduction, NaNIsOneValueAndZerosHaveAnOrder) {
  for (const int n : rank_counts()) {
    if (n == 1) continue;
    on_ranks(n, [n](Communicator& c) {
      const double nan = std::bit_cast<double>(0xFFF8000000000123 + static_cast<std::uint64_t>(c.rank()));
      const double inf = std::numeric_limits<double>::infinity();
      const bool last = c.rank() == n - 1;
      for (const CombineOrder order : all_orders())
        for (const Op op : ops) {
          // NaNs of several payloads; +0 on one rank only; Inf - Inf or Inf * Inf
          const std::vector<double> x{nan, last ? 0.0 : -0.0, last ? -inf : inf};
          std::vector<double> y(3);
          c.all_reduce(x, y, {op, order});
          EXPECT_EQ(0x7FF8000000000000U, std::bit_cast<std::uint64_t>(y[0]));
          const auto sign = std::signbit(y[1]);
          if (op == Op::max || op == Op::min) {
            EXPECT_EQ(op == Op::min, sign) << name(order);
          }
          if (op == Op::sum) {
            EXPECT_TRUE(std::isnan(y[2]));
          }
          if (op == Op::max) {
            EXPECT_EQ(inf, y[2]);
          }
        }
    });
  }
}

TEST(Reduction, AllRanksHoldTheSameBitsAndOrdersDiffer) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      constexpr Index count = 50;
      std::vector<std::vector<float>> results;
      for (const CombineOrder order : all_orders()) {
        std::vector<float> x, y(count), all(static_cast<std::size_t>(count * n));
        for (Index i = 0; i < count; ++i) x.push_back(value(c.rank(), i));
        c.all_reduce(x, y, {Op::sum, order});
        c.all_gather(y, all);
        for (Index i = 0; i < count * n; ++i)
          ASSERT_EQ(y[static_cast<std::size_t>(i % count)], all[static_cast<std::size_t>(i)]) << name(order);
        results.push_back(y);
      }
      // With 5 ranks the five trees are five; with 2^k, and some others, the balanced tree is recursive doubling.
      for (std::size_t a = 0; a < results.size() && n == 5; ++a)
        for (std::size_t b = 0; b < a; ++b) EXPECT_NE(results[a], results[b]) << a << " " << b << " n=" << n;
    });
}

TEST(Reduction, WhatCannotBeReducedIsRefused) {
  for (const int n : rank_counts()) {
    std::vector<std::byte> b(4);
    std::vector<float> x(4);
    std::vector<std::int32_t> k(4);
    const auto refused = [n](const std::string& why, const testing::Body& body) {
      EXPECT_TRUE(testing::all_say(n, testing::errors(n, body), {why}));
    };
    refused("expected floats, int32 or int64", [b](Communicator& c) mutable { c.all_reduce(b, b); });
    refused("expected a format that holds its values, found bf16", [x](Communicator& c) mutable {
      c.all_reduce(x, x, {Op::sum, CombineOrder::ring, &formats::bf16});
    });
    refused("expected int32, found fp64", [k](Communicator& c) mutable {
      c.all_reduce(k, k, {Op::sum, CombineOrder::ring, &formats::fp64});
    });
  }
}

}  // namespace
}  // namespace assay

// What is where after each call: bytes that differ for every rank and place, formats of every width, counts that do not
// divide, every root, guards around what is written.
#include <algorithm>
#include <chrono>
#include <thread>

#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

using testing::carried_formats;
using testing::on_ranks;
using testing::pattern;
using testing::rank_counts;

constexpr Index counts[] = {0, 1, 5, 67};
constexpr std::size_t guard = 16;

/// Memory for `count` elements with guards on both sides.
class Guarded {
 public:
  Guarded(Index count, const Format& f)
      : bytes_(2 * guard + static_cast<std::size_t>(count) * static_cast<std::size_t>(f.bits) / 8, std::byte{0xA5}),
        count_(count),
        format_(f) {}
  ~Guarded() {
    for (std::size_t i = 0; i < guard; ++i)
      EXPECT_TRUE(bytes_[i] == std::byte{0xA5} && bytes_[bytes_.size() - 1 - i] == std::byte{0xA5}) << "guard";
  }
  Buffer buffer() { return {bytes_.data() + guard, count_, format_}; }
  std::vector<std::byte> content() const {
    return {bytes_.begin() + guard, bytes_.end() - static_cast<std::ptrdiff_t>(guard)};
  }
  void fill(Index first, const std::vector<std::byte>& from) {
    std::copy(from.begin(), from.end(), buffer().part(first, 0).data);
  }

 private:
  std::vector<std::byte> bytes_;
  Index count_;
  const Format& format_;
};

std::vector<std::byte> joined(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// body(communicator, format, count) in every combination.
template <class F>
void everywhere(F body) {
  for (const int n : rank_counts())
    on_ranks(n, [&](Communicator& c) {
      EXPECT_EQ(n, c.size());
      for (const Format* f : carried_formats())
        for (const Index count : counts) body(c, *f, count);
    });
}

TEST(Movement, ARingStepMovesToTheRight) {
  everywhere([](Communicator& c, const Format& f, Index count) {
    const int n = c.size(), right = (c.rank() + 1) % n, left = (c.rank() + n - 1) % n;
    std::vector<std::byte> mine = pattern(c.rank(), count, f);
    Guarded in(count, f);
    c.send_recv(Buffer(mine.data(), count, f), right, in.buffer(), left);
    EXPECT_EQ(pattern(left, count, f), in.content());
    EXPECT_EQ(pattern(c.rank(), count, f), mine);
  });
}

TEST(Movement, MessagesArriveInTheOrderSent) {
  // At once and one by one, in each combination.
  for (const int n : rank_counts())
    for (const bool sent_at_once : {false, true})
      for (const bool received_at_once : {false, true})
        on_ranks(n, [&](Communicator& c) {
          const int last = n - 1;
          if (last == 0 || (c.rank() != 0 && c.rank() != last)) return;
          std::vector<std::vector<std::int64_t>> x{{1}, {2}, {3}};
          if (c.rank() == 0) {
            if (sent_at_once) return c.exchange({{x[0], last}, {x[1], last}, {x[2], last}}, {});
            for (const auto& k : x) c.send(k, last);
            return;
          }
          x = {{0}, {0}, {0}};
          if (received_at_once)
            c.exchange({}, {{x[0], 0}, {x[1], 0}, {x[2], 0}});
          else
            for (auto& k : x) c.recv(k, 0);
          EXPECT_EQ((std::vector<std::vector<std::int64_t>>{{1}, {2}, {3}}), x);
        });
}

TEST(Movement, ExchangeWithAllAndWithItself) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      std::vector<std::vector<float>> out, in(static_cast<std::size_t>(n), std::vector<float>(2));
      std::vector<Send> sends;
      std::vector<Receive> receives;
      for (int r = 0; r < n; ++r) out.push_back({static_cast<float>(c.rank()), static_cast<float>(r)});
      for (int r = 0; r < n; ++r) {
        sends.push_back({out[static_cast<std::size_t>(r)], r});
        receives.push_back({in[static_cast<std::size_t>(r)], r});
      }
      c.exchange(sends, receives);
      for (int r = 0; r < n; ++r)
        EXPECT_EQ((std::vector<float>{static_cast<float>(r), static_cast<float>(c.rank())}),
                  in[static_cast<std::size_t>(r)]);
    });
}

// The clock is the same for all threads and processes of a machine.
std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

TEST(Movement, ASendReturnsWhenItIsReceived) {
  for (const int n : rank_counts())
    on_ranks(n, [n](Communicator& c) {
      if (n == 1) return;
      std::vector<double> x(1);
      std::vector<std::int64_t> time{0}, times(static_cast<std::size_t>(n));
      if (c.rank() == 0) {
        c.send(x, n - 1);
        time[0] = now();
      } else if (c.rank() == n - 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        time[0] = now();
        c.recv(x, 0);
      }
      c.all_gather(time, times);
      EXPECT_LE(times.back(), times.front()) << "nothing is buffered";
    });
}

TEST(Movement, BroadcastFromEveryRoot) {
  everywhere([](Communicator& c, const Format& f, Index count) {
    for (int root = 0; root < c.size(); ++root) {
      Guarded data(count, f);
      data.fill(0, pattern(c.rank(), count, f));
      c.broadcast(data.buffer(), root);
      EXPECT_EQ(pattern(root, count, f), data.content());
    }
  });
}

TEST(Movement, ScatterAndGatherFromAndToEveryRoot) {
  everywhere([](Communicator& c, const Format& f, Index count) {
    const int n = c.size();
    for (int root = 0; root < n; ++root) {
      const bool here = c.rank() == root;
      std::vector<std::byte> blocks;  // what the root has: block r is the pattern of rank r + root
      for (int r = 0; r < n; ++r) blocks = joined(blocks, pattern(r + root, count, f));
      const Index total = here ? count * n : 0;  // other ranks pass nothing
      Guarded all(total, f), mine(count, f), back(total, f);
      if (here) all.fill(0, blocks);
      c.scatter(all.buffer(), mine.buffer(), root);
      EXPECT_EQ(pattern(c.rank() + root, count, f), mine.content());
      c.gather(mine.buffer(), back.buffer(), root);
      EXPECT_EQ(here ? blocks : std::vector<std::byte>{}, back.content());
      // In place: the root's block is in the buffer that has them all.
      const Buffer own = here ? all.buffer().part(count * root, count) : mine.buffer();
      c.scatter(all.buffer(), own, root);
      c.gather(own, all.buffer(), root);
      EXPECT_EQ(here ? blocks : std::vector<std::byte>{}, all.content());
    }
  });
}

TEST(Movement, AllGatherJoinsInRankOrder) {
  everywhere([](Communicator& c, const Format& f, Index count) {
    std::vector<std::byte> expected, mine = pattern(c.rank(), count, f);
    for (int r = 0; r < c.size(); ++r) expected = joined(expected, pattern(r, count, f));
    Guarded all(count * c.size(), f), in_place(count * c.size(), f);
    c.all_gather(Buffer(mine.data(), count, f), all.buffer());
    EXPECT_EQ(expected, all.content());
    EXPECT_EQ(pattern(c.rank(), count, f), mine);
    in_place.fill(count * c.rank(), mine);
    c.all_gather(in_place.buffer().part(count * c.rank(), count), in_place.buffer());
    EXPECT_EQ(expected, in_place.content());
  });
}

// What r sends to s: from the pattern of a rank that only this pair has.
std::vector<std::byte> block(int from, int to, Index count, const Format& f) {
  return pattern(from * 10 + to, count, f);
}

TEST(Movement, AllToAllTransposesBlocks) {
  everywhere([](Communicator& c, const Format& f, Index count) {
    std::vector<std::byte> in, expected;
    for (int r = 0; r < c.size(); ++r) {
      in = joined(in, block(c.rank(), r, count, f));
      expected = joined(expected, block(r, c.rank(), count, f));
    }
    const Index total = count * c.size();
    Guarded out(total, f), back(total, f);
    c.all_to_all(Buffer(in.data(), total, f), out.buffer());
    EXPECT_EQ(expected, out.content());
    c.all_to_all(out.buffer(), back.buffer());
    EXPECT_EQ(in, back.content());
  });
}

TEST(Movement, AllToAllOfUnequalBlocks) {
  everywhere([](Communicator& c, const Format& f, Index count) {
    const auto size = [&](int from, int to) { return (from + to) % 3 == 1 ? 0 : count + from - to + 8; };
    std::vector<std::byte> in, expected;
    std::vector<Index> sent, received;
    Index total_in = 0, total_out = 0;
    for (int r = 0; r < c.size(); ++r) {
      sent.push_back(size(c.rank(), r));
      received.push_back(size(r, c.rank()));
      in = joined(in, block(c.rank(), r, sent.back(), f));
      expected = joined(expected, block(r, c.rank(), received.back(), f));
      total_in += sent.back();
      total_out += received.back();
    }
    Guarded out(total_out, f);
    c.all_to_all(Buffer(in.data(), total_in, f), sent, out.buffer(), received);
    EXPECT_EQ(expected, out.content());
  });
}

TEST(Movement, NoRankLeavesACollectiveBeforeAllHaveEntered) {
  // With zero elements too.
  for (const int n : rank_counts())
    for (const int late : {0, n - 1})
      on_ranks(n, [&](Communicator& c) {
        std::vector<double> none;
        const auto calls = {+[](Communicator& g, std::vector<double>&) { g.barrier(); },
                            +[](Communicator& g, std::vector<double>& x) { g.broadcast(x, 0); },
                            +[](Communicator& g, std::vector<double>& x) { g.all_reduce(x, x); }};
        for (const auto call : calls) {
          if (c.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
          std::vector<std::int64_t> entered{now()}, all(static_cast<std::size_t>(n));
          call(c, none);
          const std::int64_t left = now();
          c.all_gather(entered, all);
          for (const std::int64_t e : all) EXPECT_LE(e, left);
        }
      });
}

TEST(Movement, DenseTensorsAreBuffers) {
  for (const int n : rank_counts())
    on_ranks(n, [](Communicator& c) {
      Matrix<double> m(2, 3, c.rank() + 1);
      Tensor<float> t({2, 2}, static_cast<float>(c.rank()));
      c.broadcast(m, c.size() - 1);
      c.broadcast(t, 0);
      EXPECT_EQ(c.size(), m(1, 2));
      EXPECT_EQ(0, t.at_flat(3));
      EXPECT_THROW(Buffer(m.col(1)), Error);
      std::vector<std::uint16_t> codes{0x3F80};
      EXPECT_THROW(Buffer(codes, formats::fp32), Error);
      EXPECT_THROW(Buffer(codes, formats::e2m1), Error);
    });
}

}  // namespace
}  // namespace assay

// Calls that do not match, ranks that fail, waits that never end: an error on all ranks, never a hang.
#include <chrono>
#include <limits>
#include <thread>

#include "distributed/communicator/tests/testing.hpp"

namespace assay {
namespace {

using testing::all_say;
using testing::all_see_a_difference;
using testing::Body;
using testing::errors;
using testing::on_ranks;

constexpr int n = 4;
using Doubles = std::vector<double>;

TEST(Misuse, AnotherCallOnOneRank) {
  for (int odd = 0; odd < n; ++odd) {
    const auto told = errors(n, [odd](Communicator& c) {
      Doubles x(3), y(12);
      if (c.rank() == odd)
        c.broadcast(x, 1);
      else
        c.all_reduce(x, x);
    });
    EXPECT_TRUE(all_see_a_difference(n, told));
    EXPECT_TRUE(all_say(n, told, {"broadcast of 3 fp64 from rank 1"}));
    EXPECT_TRUE(all_say(n, told, {"all_reduce of 3 fp64, sum in order ascending, accumulated in fp64"}));
  }
}

TEST(Misuse, AnotherArgumentOnOneRank) {
  const std::vector<std::pair<std::string, Body>> calls{
      {"4 fp64",
       [](Communicator& c) {
         Doubles x(c.rank() == 2 ? 4 : 3);
         c.all_reduce(x, x);
       }},
      {"0 fp64",
       [](Communicator& c) {
         Doubles x(c.rank() == 3 ? 0 : 3), all(x.size() * n);
         c.all_gather(x, all);
       }},
      {"3 int64",
       [](Communicator& c) {
         Doubles x(3);
         std::vector<std::int64_t> k(3);
         c.broadcast(c.rank() == 0 ? Buffer(k) : Buffer(x), 2);
       }},
      {"12 fp16",
       [](Communicator& c) {
         std::vector<std::uint16_t> x(12), y(12);
         const Format& f = c.rank() == 1 ? formats::fp16 : formats::bf16;
         c.all_to_all({x, f}, {y, f});
       }},
      {"from rank 3",
       [](Communicator& c) {
         Doubles x(3);
         c.broadcast(x, c.rank() == 1 ? 3 : 0);
       }},
      {"max in order ring",
       [](Communicator& c) {
         Doubles x(8), y(2);
         c.reduce_scatter(x, y, {c.rank() == 2 ? Op::max : Op::sum, CombineOrder::ring});
       }},
      {"sum in order halving",
       [](Communicator& c) {
         Doubles x(8);
         c.all_reduce(x, x, {Op::sum, c.rank() == 0 ? CombineOrder::halving : CombineOrder::doubling});
       }},
      {"accumulated in fp64",
       [](Communicator& c) {
         std::vector<float> x(8);
         c.all_reduce(x, x, {Op::sum, CombineOrder::ring, c.rank() == 3 ? &formats::fp64 : nullptr});
       }},
      {"message of 2 fp64 from rank 1 to rank 0",  // in a collective call
       [](Communicator& c) {
         Doubles x(2);
         if (c.rank() == 1) c.send(x, 0);
         c.barrier();
       }},
      {"barrier",  // while a message is awaited
       [](Communicator& c) {
         Doubles x(2);
         if (c.rank() == 1)
           c.recv(x, 0);
         else
           c.barrier();
       }},
      {"message of 5 fp64 from rank 0 to rank 1",
       [](Communicator& c) {
         Doubles x(c.rank() == 0 ? 5 : 4);
         if (c.rank() == 0) c.send(x, 1);
         if (c.rank() == 1) c.recv(x, 0);
         c.barrier();
       }},
      {"message of 6 int32 from rank 3 to rank 2",  // as many bytes
       [](Communicator& c) {
         std::vector<std::int32_t> k(6);
         std::vector<float> x(6);
         if (c.rank() == 3) c.send(k, 2);
         if (c.rank() == 2) c.recv(x, 3);
         c.barrier();
       }},
      {"message of 7 fp64",  // a shard of the ring is larger on one rank, which its neighbours do not know
       [](Communicator& c) {
         Doubles out(c.rank() == 2 ? 7 : 6), in(6);
         c.send_recv(out, (c.rank() + 1) % n, in, (c.rank() + n - 1) % n);
       }},
      {"all_to_all of 3 fp64 (step 1)",  // counts on which sender and receiver disagree
       [](Communicator& c) {
         Doubles in(8), out(c.rank() == 0 ? 9 : 8);
         const std::vector<Index> sent(n, 2);
         std::vector<Index> received(n, 2);
         if (c.rank() == 0) received[3] = 3;
         c.all_to_all(in, sent, out, received);
       }},
  };
  for (const auto& call : calls) {
    const auto told = errors(n, call.second);
    EXPECT_TRUE(all_see_a_difference(n, told)) << call.first;
    EXPECT_TRUE(all_say(n, told, {call.first}));
  }
}

TEST(Misuse, ARankThatThrows) {
  for (int odd = 0; odd < n; ++odd) {
    const auto told = errors(n, [odd](Communicator& c) {
      Doubles x(3);
      c.all_reduce(x, x);
      if (c.rank() == odd) throw std::runtime_error("out of cheese");
      c.all_reduce(x, x);
    });
    EXPECT_TRUE(all_say(n, told, {"out of cheese"}));
  }
  // The others learn of it although they wait for someone else, or do not wait.
  const auto told = errors(n, [](Communicator& c) {
    Doubles x(1);
    if (c.rank() == 0) throw 42;
    if (c.rank() == 1) c.recv(x, 2);
    if (c.rank() == 2) c.recv(x, 1);
  });
  EXPECT_TRUE(all_say(n, told, {"rank 0 failed: an exception that is no std::exception"}));
}

TEST(Misuse, WrongArgumentsOfOneRank) {
  const std::vector<std::pair<std::string, Body>> calls{
      {"scatter: root: expected a rank from 0 to 3, found -1",
       [](Communicator& c) {
         Doubles all(12), x(3);
         c.scatter(all, x, c.rank() == 1 ? -1 : 0);
       }},
      {"gather: what is written, one block for each rank: expected 12 elements, found 3",
       [](Communicator& c) {
         Doubles x(3), y(3);
         c.gather(x, y, 2);
       }},
      {"reduce: what is written: expected 3 elements, found 1",
       [](Communicator& c) {
         Doubles x(3), y(1);
         c.reduce(x, y, 1);
       }},
      {"broadcast: root: expected a rank from 0 to 3, found 4",
       [](Communicator& c) {
         Doubles x(3);
         c.broadcast(x, c.rank() == 2 ? 4 : 0);
       }},
      {"message: to: expected a rank from 0 to 3, found -1",
       [](Communicator& c) {
         Doubles x(3);
         if (c.rank() == 2) c.send(x, -1);
         c.barrier();
       }},
      {"recv: from: expected another rank",
       [](Communicator& c) {
         Doubles x(3);
         if (c.rank() == 2) c.recv(x, 2);
         c.barrier();
       }},
      {"all_gather: what is written, one block for each rank: expected 12 elements, found 13",
       [](Communicator& c) {
         Doubles x(3), all(c.rank() == 1 ? 13 : 12);
         c.all_gather(x, all);
       }},
      {"reduce_scatter: what is read, one block for each rank: expected 12 elements, found 10",
       [](Communicator& c) {
         Doubles x(10), y(3);
         c.reduce_scatter(x, y);
       }},
      {"all_to_all: what is read: expected a multiple of 4 elements, found 6",
       [](Communicator& c) {
         Doubles x(6), y(6);
         c.all_to_all(x, y);
       }},
      {"all_to_all: receive counts: expected a count for each of 4 ranks, found [2, -2, 4, 4]",
       [](Communicator& c) {
         Doubles x(8), y(8);
         c.all_to_all(x, std::vector<Index>{2, 2, 2, 2}, y, std::vector<Index>{2, -2, 4, 4});
       }},
      {"all_to_all: memory that is read and written: expected none",
       [](Communicator& c) {
         Doubles x(8);
         c.all_to_all(x, x);
       }},
      {"all_reduce: memory that is read and written: expected none, or exactly",
       [](Communicator& c) {
         Doubles x(8);
         c.all_reduce(Buffer(x).part(0, 5), Buffer(x).part(3, 5));
       }},
      {"all_gather: memory that is read and written",
       [](Communicator& c) {
         Doubles x(8);
         c.all_gather(Buffer(x).part(2 * ((c.rank() + 1) % n), 2), x);  // another rank's block
       }},
      {"message: memory that is read and written",
       [](Communicator& c) {
         Doubles x(8);
         c.send_recv(x, (c.rank() + 1) % n, x, (c.rank() + n - 1) % n);
       }},
      {"all_reduce: format of what is written: expected fp64, found fp32",
       [](Communicator& c) {
         Doubles x(8);
         std::vector<float> y(8);
         c.all_reduce(x, y);
       }},
  };
  for (const auto& call : calls) EXPECT_TRUE(all_say(n, errors(n, call.second), {call.first}));
}

TEST(Misuse, AReceiveWithoutASendEndsAtTheDeadline) {
  using std::chrono::milliseconds;
  const auto told =
      errors(n,
             [](Communicator& c) {
               Doubles x(3);
               if (c.rank() == 1) c.recv(x, 0);
               std::this_thread::sleep_for(milliseconds(360));  // busy, not waiting: only the clock can tell
             },
             {milliseconds(60)});
  EXPECT_TRUE(all_say(n, told,
                      {"waiting to receive message of 3 fp64 from rank 0 to rank 1 from rank 0: "
                       "expected it within the deadline of 60 ms, found nothing"}));
}

TEST(Misuse, ASendWithoutAReceiveEndsAtTheDeadline) {
  using std::chrono::milliseconds;
  const auto told = errors(n,
                           [](Communicator& c) {
                             Doubles x(100'000);
                             if (c.rank() == 3) c.send(x, 0);
                             std::this_thread::sleep_for(milliseconds(360));
                           },
                           {milliseconds(60)});
  EXPECT_TRUE(all_say(n, told,
                      {"waiting for rank 0 to receive message of 100000 fp64 from rank 3 to rank 0: "
                       "expected it within the deadline of 60 ms, found nothing"}));
}

TEST(Misuse, ARankThatHasFinishedIsNotAwaited) {
  // Long before the deadline, which errors() checks.
  const std::vector<Body> bodies{
      [](Communicator& c) {
        Doubles x(3);
        if (c.rank() == 1) c.recv(x, 0);
      },
      [](Communicator& c) {
        Doubles x(3);
        if (c.rank() == 1) c.send(x, 0);
      },
      [](Communicator& c) {
        Doubles x(3);
        if (c.rank() != 0) c.all_reduce(x, x);
      },
      [](Communicator& c) {  // the number of steps of the ring, one too few on rank 2
        Doubles out(3), in(3);
        for (int k = 0; k < (c.rank() == 2 ? n - 2 : n - 1); ++k)
          c.send_recv(out, (c.rank() + 1) % n, in, (c.rank() + n - 1) % n);
      },
  };
  for (const Body& body : bodies) EXPECT_TRUE(all_say(n, errors(n, body), {"that rank has finished"}));
}

TEST(Misuse, SizesOfTheRingThatDisagree) {
  const auto told = errors(n,
                           [](Communicator& c) {  // rank 3 believes in a ring of 3
                             const int size = c.rank() == 3 ? 3 : n;
                             Doubles out(3), in(3);
                             c.send_recv(out, (c.rank() + 1) % size, in, (c.rank() + size - 1) % size);
                           },
                           {std::chrono::milliseconds(200)});
  EXPECT_TRUE(all_say(n, told, {"waiting", "no rank can go on"}));
}

TEST(Misuse, SendsThatAwaitEachOtherAreNoHang) {
  const auto told = errors(n,
                           [](Communicator& c) {
                             Doubles x(1);
                             c.send(x, (c.rank() + 1) % n);
                             c.recv(x, (c.rank() + n - 1) % n);
                           },
                           {std::chrono::milliseconds(200)});
  EXPECT_TRUE(all_say(n, told, {"no rank can go on", "within the deadline of 200 ms"}));
}

TEST(Misuse, AFailedGroupStaysFailed) {
  const auto told = errors(n, [](Communicator& c) {
    Doubles x(c.rank() == 0 ? 1 : 2);
    for (int attempt = 0; attempt < 3; ++attempt) EXPECT_THROW(c.all_reduce(x, x), Error);
    EXPECT_THROW(c.barrier(), Error);
  });
  EXPECT_TRUE(all_see_a_difference(n, told));  // of the run, though no body threw
}

TEST(Misuse, OthersLearnOfAFailureThoughTheRankGoesOn) {
  using std::chrono::milliseconds;
  const auto told = errors(n, [](Communicator& c) {
    Doubles x(3);
    const auto start = std::chrono::steady_clock::now();
    if (c.rank() == 2) std::this_thread::sleep_for(milliseconds(30));  // the others wait by then
    EXPECT_THROW(c.broadcast(x, c.rank() == 2 ? 17 : 0), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(400));
    if (c.rank() == 2) std::this_thread::sleep_for(milliseconds(450));
  });
  EXPECT_TRUE(all_say(n, told, {"rank 2 failed: broadcast: root: expected a rank from 0 to 3, found 17"}));
}

TEST(Misuse, ARunAfterAFailureIsWell) {
  for (int k = 0; k < 5; ++k) {
    const auto told = errors(n, [k](Communicator& c) {
      Doubles x(200'000, 1);  // too large to be buffered, and never received
      if (c.rank() == k % n) throw Error("planted");
      c.send(x, k % n);
    });
    EXPECT_TRUE(all_say(n, told, {"planted"}));
    on_ranks(n, [](Communicator& c) {
      std::vector<std::int64_t> x{1};
      c.all_reduce(x, x);
      EXPECT_EQ(n, x[0]);
    });
  }
}

TEST(Misuse, NoRanks) {
  for (const int bad : {0, -1}) EXPECT_THROW(on_ranks(bad, [](Communicator&) {}), Error);
}

}  // namespace
}  // namespace assay

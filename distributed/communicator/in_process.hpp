#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "distributed/communicator/transport.hpp"

namespace assay {

/// Where the ranks of one process meet: for each pair of ranks a queue of what the one wants to send to the other. The
/// receiver copies it from the sender's memory; until then the sender waits. One mutex guards everything, copies too,
/// so that a sender that gives up takes its memory back safely.
class InProcess {
 public:
  InProcess(int n, std::chrono::milliseconds deadline);
  int size() const { return static_cast<int>(ranks_.size()); }

  void exchange(int rank, std::span<const Outgoing> out, std::span<const Incoming> in);
  void fail(int rank, const std::string& why);
  /// This rank makes no more calls.
  void finish(int rank);
  std::optional<RankFailure> failure() const { return failure_; }  ///< when all ranks have finished

 private:
  struct Post {
    const Outgoing* what;
    bool taken = false;
  };
  struct Wait {
    int peer;
    bool sending;
    Envelope envelope;
  };
  struct Rank {
    std::condition_variable news;
    bool finished = false;
    bool waits = false;        ///< and nothing has happened since that it could go on with
    std::optional<Wait> wait;  ///< for what
  };
  using Lock = std::unique_lock<std::mutex>;

  std::deque<Post*>& queue(int from, int to) { return queues_[static_cast<std::size_t>(from * size() + to)]; }
  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void tell(int rank);
  void tell_all();
  void take(int rank, std::span<const Incoming> in, std::vector<bool>& done);
  std::optional<Wait> missing(std::span<const Incoming> in, const std::vector<bool>& done, std::span<const Post> posts);
  void wait_until_all_is_done(Lock& lock, int rank, std::span<const Incoming> in, std::span<const Post> posts);
  void require_that_someone_can_go_on() const;

  std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::vector<std::deque<Post*>> queues_;  // [n * n]
  std::deque<Rank> ranks_;                 // [n], not moved
  std::optional<RankFailure> failure_;
};

/// One rank of it.
class InProcessTransport : public Transport {
 public:
  InProcessTransport(InProcess& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_.size(); }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    meeting_.exchange(rank_, out, in);
  }
  void fail(const std::string& why) override { meeting_.fail(rank_, why); }

 private:
  InProcess& meeting_;
  int rank_;
};

}  // namespace assay

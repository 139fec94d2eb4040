#include "distributed/communicator/in_process.hpp"

#include <algorithm>
#include <cstring>

#include "reference/core/error.hpp"

namespace assay {

InProcess::InProcess(int n, std::chrono::milliseconds deadline) : deadline_(deadline) {
  if (n < 1) throw Error("ranks of a process", "at least 1", std::to_string(n));
  queues_.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) ranks_.emplace_back();
}

/// Something has happened that this rank may wait for.
void InProcess::tell(int rank) {
  at(rank).waits = false;
  at(rank).news.notify_one();
}

void InProcess::tell_all() {
  for (int r = 0; r < size(); ++r) tell(r);
}

void InProcess::fail(int rank, const std::string& why) {
  const Lock lock(mutex_);
  if (!failure_) failure_ = {rank, why};
  tell_all();
}

void InProcess::finish(int rank) {
  const Lock lock(mutex_);
  at(rank).finished = true;
  tell_all();
}

void InProcess::exchange(int rank, std::span<const Outgoing> out, std::span<const Incoming> in) {
  Lock lock(mutex_);
  std::vector<Post> posts;
  for (const Outgoing& o : out) posts.push_back({&o});
  for (Post& p : posts) {
    queue(rank, p.what->to).push_back(&p);
    tell(p.what->to);
  }
  try {
    wait_until_all_is_done(lock, rank, in, posts);
  } catch (...) {
    for (Post& p : posts)
      if (!p.taken) {
        std::deque<Post*>& q = queue(rank, p.what->to);
        q.erase(std::find(q.begin(), q.end(), &p));
      }
    at(rank).waits = false;
    throw;
  }
}

/// Takes what has been posted for this rank; messages of one rank in their order.
void InProcess::take(int rank, std::span<const Incoming> in, std::vector<bool>& done) {
  std::vector<bool> behind(ranks_.size(), false);  // an earlier message of that rank is still missing
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto from = static_cast<std::size_t>(in[i].from);
    if (done[i] || behind[from]) continue;
    std::deque<Post*>& q = queue(in[i].from, rank);
    if (q.empty()) {
      behind[from] = true;
      continue;
    }
    Post& post = *q.front();
    require_match(rank, in[i].from, in[i].envelope, post.what->envelope);
    if (post.what->bytes.size() != in[i].bytes.size())
      throw Error("size of " + describe(in[i].envelope), std::to_string(in[i].bytes.size()) + " bytes",
                  std::to_string(post.what->bytes.size()));
    if (!in[i].bytes.empty()) std::memcpy(in[i].bytes.data(), post.what->bytes.data(), in[i].bytes.size());
    q.pop_front();
    post.taken = done[i] = true;
    tell(in[i].from);
  }
}

/// The first thing that is not done yet. @throws Error if it is a rank's that has finished.
std::optional<InProcess::Wait> InProcess::missing(std::span<const Incoming> in, const std::vector<bool>& done,
                                                  std::span<const Post> posts) {
  std::optional<Wait> first;
  const auto add = [&](int peer, bool sending, const Envelope& e) {
    if (at(peer).finished) throw_finished(peer, sending, e);
    if (!first) first = {peer, sending, e};
  };
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!done[i]) add(in[i].from, false, in[i].envelope);
  for (const Post& p : posts)
    if (!p.taken) add(p.what->to, true, p.what->envelope);
  return first;
}

void InProcess::wait_until_all_is_done(Lock& lock, int rank, std::span<const Incoming> in,
                                       std::span<const Post> posts) {
  const auto until = std::chrono::steady_clock::now() + deadline_;
  std::vector<bool> done(in.size(), false);
  bool late = false;
  while (true) {
    if (failure_) throw Error(failure_->text());
    take(rank, in, done);
    Rank& self = at(rank);
    self.wait = missing(in, done, posts);
    if (!self.wait) return;
    if (late) throw_late(deadline_, self.wait->peer, self.wait->sending, self.wait->envelope);
    self.waits = true;
    require_that_someone_can_go_on();
    late = self.news.wait_until(lock, until) == std::cv_status::timeout;
    self.waits = false;
  }
}

/// A rank that waits goes on when another one tells it something. If all wait, none ever does.
void InProcess::require_that_someone_can_go_on() const {
  std::string who;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].finished) continue;
    if (!ranks_[r].waits) return;
    const Wait& w = *ranks_[r].wait;
    who += (who.empty() ? "rank " : "; rank ") + std::to_string(r) + " waits " +
           waiting_text(w.peer, w.sending, w.envelope);
  }
  throw Error("no rank can go on", "calls that match", who);
}

}  // namespace assay

#include "distributed/communicator/mpi_transport.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "reference/core/error.hpp"

namespace assay {
namespace {

// A message is whole blocks of 64 bytes, the first of them its envelope: MPI counts in int, so this allows 128 GiB.
constexpr std::size_t block_bytes = 64;
constexpr int message_tag = 0, notice_tag = 1;

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(call, "success", text);
}

/// The head of a notice; the text of the failure follows.
struct Notice {
  std::int32_t failed, rank;
  std::int64_t sent, received;
};

/// Ranks may be more than cores: who finds nothing to do lets others run.
class Idle {
 public:
  void rest() {
    if (++turns_ < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  int turns_ = 0;
};

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator, std::chrono::milliseconds deadline) : deadline_(deadline) {
  check(MPI_Comm_dup(communicator, &communicator_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  check(MPI_Type_contiguous(block_bytes, MPI_BYTE, &block_), "MPI_Type_contiguous");
  check(MPI_Type_commit(&block_), "MPI_Type_commit");
  peers_.resize(static_cast<std::size_t>(size_));
}

MpiTransport::~MpiTransport() {
  MPI_Type_free(&block_);
  MPI_Comm_free(&communicator_);
}

void MpiTransport::start_sending(const Outgoing& o) {
  Sending& s = sending_.emplace_back();
  s.to = o.to;
  s.envelope = o.envelope;
  const std::size_t blocks = 1 + (o.bytes.size() + block_bytes - 1) / block_bytes;
  s.bytes.resize(blocks * block_bytes);
  std::memcpy(s.bytes.data(), &o.envelope, sizeof o.envelope);
  if (!o.bytes.empty()) std::memcpy(s.bytes.data() + block_bytes, o.bytes.data(), o.bytes.size());
  check(MPI_Issend(s.bytes.data(), static_cast<int>(blocks), block_, o.to, message_tag, communicator_, &s.request),
        "MPI_Issend");
  ++peer(o.to).sent;
}

/// Whether the message was there. @throws Error if it was another one.
bool MpiTransport::receive(const Incoming& i) {
  int there = 0, blocks = 0;
  MPI_Message message;
  MPI_Status status;
  check(MPI_Improbe(i.from, message_tag, communicator_, &there, &message, &status), "MPI_Improbe");
  if (!there) return false;
  check(MPI_Get_count(&status, block_, &blocks), "MPI_Get_count");
  std::vector<std::byte> bytes(static_cast<std::size_t>(blocks) * block_bytes);
  check(MPI_Mrecv(bytes.data(), blocks, block_, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  ++peer(i.from).received;
  Envelope found;
  std::memcpy(&found, bytes.data(), sizeof found);
  require_match(rank_, i.from, i.envelope, found);
  const std::size_t expected = 1 + (i.bytes.size() + block_bytes - 1) / block_bytes;
  if (bytes.size() != expected * block_bytes)
    throw Error("size of " + describe(i.envelope), std::to_string(expected) + " blocks", std::to_string(blocks));
  if (!i.bytes.empty()) std::memcpy(i.bytes.data(), bytes.data() + block_bytes, i.bytes.size());
  return true;
}

bool MpiTransport::sent_everything() {
  for (auto s = sending_.begin(); s != sending_.end();) {
    int done = 0;
    check(MPI_Test(&s->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    s = done ? sending_.erase(s) : std::next(s);
  }
  return sending_.empty();
}

void MpiTransport::exchange(std::span<const Outgoing> out, std::span<const Incoming> in) {
  const auto until = std::chrono::steady_clock::now() + deadline_;
  read_notices();
  if (failure_) throw Error(failure_->text());
  for (const Outgoing& o : out) start_sending(o);
  std::vector<bool> done(in.size(), false);
  Idle idle;
  while (true) {
    read_notices();  // before looking for messages: what a rank sent before its notice is found below
    const Incoming* missing = nullptr;
    std::vector<bool> behind(peers_.size(), false);  // an earlier message of that rank is still missing
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto from = static_cast<std::size_t>(in[i].from);
      if (done[i] || behind[from]) continue;
      done[i] = receive(in[i]);
      if (done[i]) continue;
      behind[from] = true;
      if (missing == nullptr || peer(in[i].from).ended) missing = &in[i];
    }
    if (sent_everything() && missing == nullptr) return;
    require_possible(missing);
    if (std::chrono::steady_clock::now() >= until) {
      if (missing != nullptr) throw_late(deadline_, missing->from, false, missing->envelope);
      throw_late(deadline_, sending_.front().to, true, sending_.front().envelope);
    }
    idle.rest();
  }
}

/// @throws Error if what this rank waits for cannot come any more: a rank has failed, or has ended its body and by its
/// count has not sent, or not received, what is missing.
void MpiTransport::require_possible(const Incoming* missing) {
  if (failure_) throw Error(failure_->text());
  if (missing != nullptr) {
    const Peer& p = peer(missing->from);
    if (p.ended && p.received == p.it_sent) throw_finished(missing->from, false, missing->envelope);
  }
  for (const Sending& s : sending_) {
    const Peer& p = peer(s.to);
    if (p.ended && p.sent > p.it_received) throw_finished(s.to, true, s.envelope);
  }
}

void MpiTransport::fail(const std::string& why) {
  if (!failure_) failure_ = {rank_, why};
  tell_all(true);
}

/// This rank's one notice.
void MpiTransport::tell_all(bool failed) {
  if (!notices_.empty()) return;
  const std::string why = failed ? failure_->why : "";
  for (int to = 0; to < size_; ++to) {
    if (to == rank_) continue;
    const Notice head{failed, failed ? failure_->rank : rank_, peer(to).sent, peer(to).received};
    auto& bytes = notice_.emplace_back();
    bytes.resize(sizeof head + why.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    std::copy(why.begin(), why.end(), reinterpret_cast<char*>(bytes.data()) + sizeof head);
    check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, notice_tag, communicator_,
                    &notices_.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend");
  }
}

void MpiTransport::read_notices() {
  while (true) {
    int there = 0, size = 0;
    MPI_Message message;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, notice_tag, communicator_, &there, &message, &status), "MPI_Improbe");
    if (!there) return;
    check(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
    std::vector<char> bytes(static_cast<std::size_t>(size));
    check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    Notice head;
    std::memcpy(&head, bytes.data(), sizeof head);
    Peer& p = peer(status.MPI_SOURCE);
    p.ended = true;
    p.failed = head.failed != 0;
    p.it_sent = head.sent;
    p.it_received = head.received;
    if (p.failed && !failure_) failure_ = {head.rank, std::string(bytes.begin() + sizeof head, bytes.end())};
  }
}

std::optional<RankFailure> MpiTransport::finish() {
  const bool self_failed = failure_.has_value();
  tell_all(self_failed);
  Idle idle;
  const auto all_ended = [&] {
    for (int r = 0; r < size_; ++r)
      if (r != rank_ && !peer(r).ended) return false;
    return true;
  };
  while (!all_ended()) {
    read_notices();
    idle.rest();
  }
  check(MPI_Waitall(static_cast<int>(notices_.size()), notices_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  // Where every body has ended well, every message has been received. All ranks know all notices, so all do the same.
  const bool any = self_failed || std::any_of(peers_.begin(), peers_.end(), [](const Peer& p) { return p.failed; });
  if (any) drain();
  return failure_;
}

/// Receives what was sent and never will be wanted, until all ranks' sends have been received.
void MpiTransport::drain() {
  MPI_Request everyone = MPI_REQUEST_NULL;
  bool mine = false;
  Idle idle;
  while (true) {
    int there = 0, blocks = 0;
    MPI_Message message;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, message_tag, communicator_, &there, &message, &status), "MPI_Improbe");
    if (there) {
      check(MPI_Get_count(&status, block_, &blocks), "MPI_Get_count");
      std::vector<std::byte> bytes(static_cast<std::size_t>(blocks) * block_bytes);
      check(MPI_Mrecv(bytes.data(), blocks, block_, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    }
    if (!mine && sent_everything()) {
      mine = true;
      check(MPI_Ibarrier(communicator_, &everyone), "MPI_Ibarrier");
    }
    if (mine) {
      int done = 0;
      check(MPI_Test(&everyone, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done) return;
    }
    idle.rest();
  }
}

}  // namespace assay

#pragma once
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "distributed/communicator/transport.hpp"

namespace assay {

/// A rank that is a process. MPI is used as a mover of bytes, and only by calls that do not wait: a message is one
/// synchronous send of its envelope and elements, received when a probe has found it. Beside the messages each rank
/// sends each other one notice, which says that it failed and why, or that its body has ended.
class MpiTransport : public Transport {
 public:
  /// Over its own copy of `communicator`: collective over its ranks.
  MpiTransport(MPI_Comm communicator, std::chrono::milliseconds deadline);
  ~MpiTransport() override;
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// For calls of MPI's own that all ranks make between exchanges.
  MPI_Comm communicator() const { return communicator_; }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;
  void fail(const std::string& why) override;
  /// Waits until every rank's body has ended; then no message is under way. The failure, if any rank failed.
  std::optional<RankFailure> finish();

 private:
  struct Sending {
    int to;
    Envelope envelope;
    std::vector<std::byte> bytes;  // must outlive the request
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Peer {
    std::int64_t sent = 0, received = 0;  ///< messages to it and from it
    bool ended = false;                   ///< its notice has come
    bool failed = false;
    std::int64_t it_sent = 0, it_received = 0;  ///< to and from this rank, when its body had ended
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void start_sending(const Outgoing& o);
  bool receive(const Incoming& i);
  bool sent_everything();
  void tell_all(bool failed);
  void read_notices();
  void require_possible(const Incoming* missing);
  void drain();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
  int rank_ = 0, size_ = 1;
  std::chrono::milliseconds deadline_;
  std::list<Sending> sending_;
  std::list<std::vector<std::byte>> notice_;  // [n - 1], must outlive the requests
  std::vector<MPI_Request> notices_;
  std::vector<Peer> peers_;  // [n]
  std::optional<RankFailure> failure_;
};

}  // namespace assay

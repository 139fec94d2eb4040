#pragma once
#include <span>
#include <vector>

#include "distributed/communicator/buffer.hpp"
#include "distributed/communicator/reduce.hpp"
#include "distributed/communicator/transport.hpp"

namespace assay {

/// Messages of Communicator::exchange.
struct Send {
  View data;
  int to;
};
struct Receive {
  Buffer data;
  int from;
};

/// One rank's end of a group of ranks 0 .. size()-1: point-to-point messages and collective calls (page
/// collective.primitives). n = size(), r = rank(), x_r and y_r what rank r passes to read and to write.
///
/// A collective call is made by all ranks, in the same order, with the same format, count, root and reduction. It
/// begins by comparing these, so it returns on no rank before all have called it. Zero elements are legal and do the
/// same. Whatever goes wrong on one rank (a mismatch, wrong arguments, an exception in the body, the deadline) is an
/// Error on all of them, in this call or their next one; a group that has failed stays failed.
///
/// What is read and what is written may be the same memory only where it is said below. Used by one thread.
class Communicator {
 public:
  explicit Communicator(Transport& transport) : transport_(transport) {}
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }
  Transport& transport() { return transport_; }

  /// Returns when rank `to` has received it. Messages to one rank arrive in the order they were sent; there are no
  /// tags.
  void send(View data, int to);
  /// Receives from rank `from` a message of exactly this count and format.
  void recv(Buffer data, int from);
  /// Both at once: a step of a ring, where send and then recv would wait for ever. Either rank may be this one.
  void send_recv(View out, int to, Buffer in, int from);
  /// Any number of messages at once (NCCL's group); those of one pair of ranks in the order written.
  void exchange(const std::vector<Send>& sends, const std::vector<Receive>& receives);

  /// y_r = x_root.
  void broadcast(Buffer data, int root);
  /// y_r = block r of x_root; `all` has n blocks of the count of `mine`, and is looked at on the root alone, where
  /// `mine` may be block `root` of it.
  void scatter(View all, Buffer mine, int root);
  /// Block r of y_root = x_r. `all` is looked at on the root alone, where `mine` may be block `root` of it.
  void gather(View mine, Buffer all, int root);
  /// y_root = x_0 op x_1 op .., with the bits of all_reduce. `out` is looked at on the root alone, where it may be
  /// `in`.
  void reduce(View in, Buffer out, int root, Reduction how = {});
  /// y_r = x_0, x_1, .. one after another, each of the same count. `mine` may be block r of `all`.
  void all_gather(View mine, Buffer all);
  /// y_r = x_0 op x_1 op .., the same bits on all ranks. `out` may be `in`. CombineOrder::ring has chunks of ceil(count
  /// / n) elements, the last ones shorter or empty.
  void all_reduce(View in, Buffer out, Reduction how = {});
  /// y_r = block r of x_0 op x_1 op ..; `in` has n blocks of the count of `mine`, which may be block r of `in`.
  void reduce_scatter(View in, Buffer mine, Reduction how = {});
  /// Block s of y_r is block r of x_s; `in` and `out` have n blocks of equal count.
  void all_to_all(View in, Buffer out);
  /// The same with blocks of any size, one after another: send_counts[s] elements go to rank s, receive_counts[s] come
  /// from rank s. What r sends to s must be what s receives from r.
  void all_to_all(View in, std::span<const Index> send_counts, Buffer out, std::span<const Index> receive_counts);
  /// Returns on no rank before all have called it.
  void barrier();

 private:
  void agree(const Envelope& call);
  void require_rank(const char* what, int rank) const;
  void require_other(const char* what, int rank) const;
  void gather_chunks(Envelope call, Buffer all, Index chunk);
  void gather_to(Envelope call, View mine, Buffer all, Index chunk, int root);
  void reduce_chunks(Envelope call, View in, Buffer mine, Index chunk, const Reduction& how);
  void move_blocks(Envelope call, View in, std::span<const Index> send_counts, Buffer out,
                   std::span<const Index> receive_counts);

  Transport& transport_;
};

}  // namespace assay

#pragma once
#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "distributed/communicator/envelope.hpp"

namespace assay {

struct Outgoing {
  int to;
  Envelope envelope;
  std::span<const std::byte> bytes;
};

struct Incoming {
  int from;
  Envelope envelope;  ///< the one expected
  std::span<std::byte> bytes;
};

/// How one rank moves bytes to the others: the whole of what a back end provides. Communicator builds everything else
/// on it, so a result has the same bits on every back end.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends and receives all of these at once and returns when all are done; a send is done when its receiver has it, so
  /// nothing relies on buffering. Messages between two ranks arrive in the order they were sent.
  /// @throws Error if a message arrives whose envelope or size is not the one expected, if another rank has failed or
  /// has finished without its part, or if it is not done by the deadline.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;

  /// Makes whatever the other ranks wait for, now or later, an Error that names this rank and says why. The first
  /// failure is the one that is told; the transport stays failed.
  virtual void fail(const std::string& why) = 0;
};

/// A rank that failed, and why.
struct RankFailure {
  int rank;
  std::string why;
  std::string text() const { return "rank " + std::to_string(rank) + " failed: " + why; }
};

struct RanksOptions {
  /// How long one call waits for other ranks. Longer than the longest computation between two calls.
  std::chrono::milliseconds deadline{30'000};
};

// What ends a wait, in the same words on every back end.
/// "to receive message of 3 fp64 from rank 0 to rank 1"
std::string waiting_text(int peer, bool sending, const Envelope& e);
[[noreturn]] void throw_finished(int peer, bool sending, const Envelope& e);
[[noreturn]] void throw_late(std::chrono::milliseconds deadline, int peer, bool sending, const Envelope& e);

}  // namespace assay

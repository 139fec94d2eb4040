#include "distributed/communicator/transport.hpp"

#include "reference/core/error.hpp"

namespace assay {

std::string waiting_text(int peer, bool sending, const Envelope& e) {
  const std::string rank = "rank " + std::to_string(peer);
  return sending ? "for " + rank + " to receive " + describe(e) : "to receive " + describe(e) + " from " + rank;
}

void throw_finished(int peer, bool sending, const Envelope& e) {
  throw Error("waiting " + waiting_text(peer, sending, e),
              "rank " + std::to_string(peer) + " to " + (sending ? "receive" : "send") + " it",
              "that rank has finished");
}

void throw_late(std::chrono::milliseconds deadline, int peer, bool sending, const Envelope& e) {
  throw Error("waiting " + waiting_text(peer, sending, e),
              "it within the deadline of " + std::to_string(deadline.count()) + " ms", "nothing");
}

}  // namespace assay

#pragma once
#include <cstdint>
#include <thread>

#include "distributed/communicator/transport.hpp"

namespace assay {

/// A transport as it is, but what it sends is counted, and each exchange may begin late: by 0 to 255 microseconds that
/// depend on `delays`, the rank and the number of the exchange (0: never).
class WatchedTransport : public Transport {
 public:
  explicit WatchedTransport(Transport& of, std::uint32_t delays = 0) : of_(of), delays_(delays) {}
  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    if (delays_ != 0) std::this_thread::sleep_for(std::chrono::microseconds(next_delay()));
    of_.exchange(out, in);
    for (const Outgoing& message : out) sent_ += static_cast<std::int64_t>(message.bytes.size());
  }
  void fail(const std::string& why) override { of_.fail(why); }
  /// Bytes of all messages so far, to this rank itself too.
  std::int64_t sent() const { return sent_; }

 private:
  std::uint32_t next_delay() {
    std::uint32_t x = delays_ * 2654435761U ^ static_cast<std::uint32_t>(rank() + 1) * 40503U ^ ++exchanges_ * 69069U;
    x ^= x >> 15;
    x *= 2246822519U;
    return (x >> 13) & 255;
  }
  Transport& of_;
  std::uint32_t delays_, exchanges_ = 0;
  std::int64_t sent_ = 0;
};

}  // namespace assay

#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "reference/core/error.hpp"

// What parent and worker agree on. One shared memory object: a control block at its start, then the tensors. The
// request is written into the control block, a few bytes on a socket pair say that it is there; the answer comes the
// same way.
namespace assay {

inline constexpr std::uint32_t kProtocol = 1;
inline constexpr int kSocketFd = 3, kMemoryFd = 4;  ///< in the worker, when it starts
inline constexpr std::size_t kMaxTensors = 64;
inline constexpr std::size_t kTextBytes = 4096;        ///< of an error text
inline constexpr std::size_t kControlBytes = 1 << 18;  ///< all of the control block
inline constexpr std::size_t kGuardBytes = 1 << 20;    ///< inaccessible address space on each side of a tensor

enum class Command : std::uint32_t { run, offers, load };

/// How a command ended, if it ended.
enum class Outcome : std::uint32_t { returned, exception, not_loaded, no_memory, bad_request };

enum class Access : std::uint32_t { unknown, read, write };

/// Left behind by the signal handler of a dying worker.
struct CrashRecord {
  std::int32_t pid = 0;  ///< of the process that crashed: a child that the foreign code forked is not the worker
  std::int32_t signal = 0;
  std::int32_t code = 0;  ///< si_code
  Access access = Access::unknown;
  std::uint64_t address = 0;
  std::uint64_t stack_pointer = 0;
};

struct Control {
  // From the parent.
  std::uint32_t protocol;
  Command command;
  std::uint32_t request_bytes;
  std::uint32_t alarm_s;  ///< the worker ends itself after so many seconds should the parent be gone
  // From the worker.
  Outcome outcome;
  std::int32_t returned;
  std::uint32_t has_offers;
  double seconds;
  CrashRecord crash;
  std::uint64_t addresses[kMaxTensors];  ///< of each tensor's first byte, inputs first
  std::uint64_t error_address;           ///< of the error buffer
  char text[kTextBytes];
  // From the parent.
  std::byte request[kControlBytes - 8192];
};
static_assert(sizeof(Control) <= kControlBytes);

/// One message on the socket pair, either way.
struct Signal {
  std::uint32_t protocol, sequence;
};

/// Appends values to the request, reads them back in the same order. Both check the end.
class RequestWriter {
 public:
  explicit RequestWriter(Control& c) : to_(c.request), end_(c.request + sizeof(c.request)), first_(c.request) {}
  void number(std::uint64_t v) { raw(&v, sizeof(v)); }
  void real(double v) { raw(&v, sizeof(v)); }
  void text(const std::string& s) {
    number(s.size());
    raw(s.data(), s.size());
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(to_ - first_); }

 private:
  void raw(const void* from, std::size_t n) {
    if (n > static_cast<std::size_t>(end_ - to_))
      throw Error("request too long for a worker", "at most " + std::to_string(end_ - first_) + " bytes of names");
    if (n) std::memcpy(to_, from, n);
    to_ += n;
  }
  std::byte *to_, *end_, *first_;
};

class RequestReader {
 public:
  explicit RequestReader(const Control& c)
      : from_(c.request),
        end_(c.request + (c.request_bytes <= sizeof(c.request) ? c.request_bytes : sizeof(c.request))) {}
  std::uint64_t number() {
    std::uint64_t v = 0;
    raw(&v, sizeof(v));
    return v;
  }
  double real() {
    double v = 0;
    raw(&v, sizeof(v));
    return v;
  }
  std::string text() {
    const std::uint64_t n = number();
    if (n > static_cast<std::uint64_t>(end_ - from_)) throw Error("request ends early");
    std::string s(reinterpret_cast<const char*>(from_), n);
    from_ += n;
    return s;
  }

 private:
  void raw(void* to, std::size_t n) {
    if (n > static_cast<std::size_t>(end_ - from_)) throw Error("request ends early");
    std::memcpy(to, from_, n);
    from_ += n;
  }
  const std::byte *from_, *end_;
};

}  // namespace assay

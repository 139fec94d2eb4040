#pragma once
#include <cstdint>

// mbarrier (PTX ISA 9.0, section 9.7.13.15): an object of 8 bytes in shared memory that counts arrivals and bytes,
// phase by phase.
namespace assay::ptx {

/// What a program may not do with one, or should not (`unobserved`: legal by the text, but a phase went by that nobody
/// waited for, so that its parity says nothing).
enum class MbarrierFault : std::uint8_t {
  none,
  count_range,  ///< a count outside 1 .. 2^20 - 1
  too_many,     ///< more arrivals than are pending
  bytes_range,  ///< the byte count left -(2^20 - 1) .. 2^20 - 1
  completes,    ///< .noComplete, and it completed the phase
  stale_token,  ///< asked about a phase before the previous one, or one to come
  unobserved
};

struct Mbarrier {
  static constexpr std::int64_t limit = (1 << 20) - 1;

  std::uint64_t phase = 0;                    ///< n, phases completed
  std::int64_t pending = 0;                   ///< p, arrivals that this phase still waits for
  std::int64_t expected = 0;                  ///< x, arrivals of the next phase
  std::int64_t bytes = 0;                     ///< tx, bytes announced and not yet there
  bool observed = true;                       ///< somebody saw the end of the phase before this one
  MbarrierFault fault = MbarrierFault::none;  ///< of the last operation

  /// What arrive returns: the phase it counted for, and how many arrivals that still waited for before it.
  struct Token {
    std::uint64_t phase;
    std::int64_t pending;
  };

  /// n = 0, x = p = count, tx = 0.
  void init(std::int64_t count) {
    *this = {};
    if (count < 1 || count > limit) fault = MbarrierFault::count_range;
    pending = expected = count;
  }
  /// p -= count; `drop`: x -= count as well. `no_complete` promises that the phase goes on.
  Token arrive(std::int64_t count = 1, bool drop = false, bool no_complete = false) {
    const Token token{phase, pending};
    fault = count < 1 || count > limit ? MbarrierFault::count_range
            : count > pending          ? MbarrierFault::too_many
            : !observed                ? MbarrierFault::unobserved
                                       : MbarrierFault::none;
    if (fault == MbarrierFault::count_range || fault == MbarrierFault::too_many) return token;
    if (drop) expected -= count;
    pending -= count;
    if (settle() && no_complete) fault = MbarrierFault::completes;
    return token;
  }
  /// tx += n before the arrival, as one.
  Token arrive_expect(std::int64_t n, bool drop = false) {
    const Token token{phase, pending};
    expect(n);
    if (fault == MbarrierFault::none) arrive(1, drop);
    return token;
  }
  /// tx += n
  void expect(std::int64_t n) { move(n); }
  /// tx -= n
  void complete(std::int64_t n) { move(-n); }

  /// True if that phase is over. Only the current phase and the one before may be asked about.
  bool test(const Token& token) {
    fault = token.phase > phase || token.phase + 1 < phase ? MbarrierFault::stale_token : MbarrierFault::none;
    return saw(phase > token.phase);
  }
  /// True if the phase of that parity is over, taken for the current phase or the one before.
  bool test_parity(std::uint32_t parity) {
    fault = MbarrierFault::none;
    return saw((phase & 1) != (parity & 1));
  }

 private:
  void move(std::int64_t n) {
    bytes += n;
    fault = bytes > limit || bytes < -limit ? MbarrierFault::bytes_range : MbarrierFault::none;
    settle();
  }
  /// p == 0 and tx == 0: n += 1, p = x.
  bool settle() {
    if (pending != 0 || bytes != 0) return false;
    ++phase;
    pending = expected;
    observed = false;
    return true;
  }
  bool saw(bool over) {
    observed = observed || over;
    return over;
  }
};

}  // namespace assay::ptx

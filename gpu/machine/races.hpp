#pragma once
#include <cstdint>
#include <vector>

// Races on shared memory, by happens-before: whether two accesses are ordered does not depend on the schedule that was
// run. After FastTrack (Flanagan, Freund 2009): the last write of each granule of four bytes is an epoch, the reads
// since are a vector of them.
namespace assay::gpu {

using Time = std::uint32_t;
/// What a warp knows of each warp of its CTA: all it did before that time happened before.
using Clock = std::vector<Time>;

void join(Clock& to, const Clock& from);

class Races {
 public:
  Races(std::size_t warps, std::size_t bytes, bool on);

  /// In place of a lane: one that is not looked at (of strong accesses, of disjoint bytes); several of the same bytes.
  static constexpr std::int8_t unknown = -1, several = -2;
  struct Conflict {
    bool found = false;
    int warp = 0, lane = 0, line = 0;  // of the other access
    bool was_write = false;
  };
  /// An access of a lane of a warp to bytes [at, at + bytes) of shared memory, by the instruction at `line`. Strong
  /// ones (atomics, .volatile, .relaxed) do not race with each other.
  Conflict access(int warp, int lane, std::uint32_t at, int bytes, bool write, int line, bool strong = false);
  /// Lanes of one warp are ordered by its barriers alone, not by the order in which the machine runs them: a read of
  /// what another lane wrote, and a write to what another lane read, need one in between.
  void warp_barrier(int warp) { ++rounds_[static_cast<std::size_t>(warp)]; }

  const Clock& clock(int warp) const { return clocks_[static_cast<std::size_t>(warp)]; }
  /// The warp hands on what it did until now: later accesses are not part of it.
  Clock release(int warp);
  void acquire(int warp, const Clock& from) { join(clocks_[static_cast<std::size_t>(warp)], from); }
  bool on() const { return on_; }

 private:
  struct Access {
    Time time = 0;  // 0: never
    int line = 0;
    std::int8_t lane = unknown;
    std::uint8_t bytes = 0;  // of the granule, a bit each
    bool strong = false;
    Time round = 0;  // of the warp's barriers
  };
  struct Granule {
    int writer = -1;
    Access write;
    int reader = -1;  // the one warp that has read since the write; -2: several, see many_
    Access read;
    std::uint32_t many = 0;  // index + 1 into many_
  };
  /// Adds an access of the same warp to the one that is kept.
  static void note(Access& kept, const Access& now, bool write);
  bool on_;
  std::size_t warps_;
  std::vector<Clock> clocks_;
  std::vector<Time> rounds_;
  std::vector<Granule> granules_;
  std::vector<std::vector<Access>> many_;
};

}  // namespace assay::gpu

#include "gpu/machine/races.hpp"

#include <algorithm>

namespace assay::gpu {

void join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

Races::Races(std::size_t warps, std::size_t bytes, bool on)
    : on_(on), warps_(warps), clocks_(warps, Clock(warps, 0)), rounds_(warps, 1) {
  for (std::size_t w = 0; w < warps; ++w) clocks_[w][w] = 1;
  if (on) granules_.resize((bytes + 3) / 4);
}

Clock Races::release(int warp) {
  Clock& own = clocks_[static_cast<std::size_t>(warp)];
  Clock handed = own;
  ++own[static_cast<std::size_t>(warp)];
  warp_barrier(warp);
  return handed;
}

void Races::note(Access& kept, const Access& now, bool write) {
  if (kept.time != now.time || kept.round != now.round) {
    kept = now;
    return;
  }
  if (kept.lane != now.lane) kept.lane = !write && (kept.bytes & now.bytes) != 0 ? several : unknown;
  kept.line = now.line;
  kept.bytes |= now.bytes;
  kept.strong = kept.strong && now.strong;
}

Races::Conflict Races::access(int warp, int lane, std::uint32_t at, int bytes, bool write, int line, bool strong) {
  if (!on_) return {};
  Conflict conflict;
  const Clock& known = clocks_[static_cast<std::size_t>(warp)];
  Access own{known[static_cast<std::size_t>(warp)],  line, static_cast<std::int8_t>(lane), 0, strong,
             rounds_[static_cast<std::size_t>(warp)]};
  const auto check = [&](int other, const Access& access, bool was_write) {
    if (conflict.found || other < 0 || (access.bytes & own.bytes) == 0) return;
    // Of the lanes of a warp two writes are a store whose winner is any of them, and no race.
    const bool other_lane = lane != unknown && access.lane != unknown && access.lane != lane;
    const bool unordered = other == warp
                               ? other_lane && access.round == own.round && was_write != write
                               : access.time > known[static_cast<std::size_t>(other)] && !(strong && access.strong);
    if (unordered) conflict = {true, other, access.lane, access.line, was_write};
  };
  const std::uint32_t end = at + static_cast<std::uint32_t>(bytes);
  for (std::uint32_t g = at / 4; g <= (end - 1) / 4; ++g) {
    const std::uint32_t first = std::max(at, g * 4) - g * 4, last = std::min(end, g * 4 + 4) - g * 4;
    own.bytes = static_cast<std::uint8_t>((1U << last) - (1U << first));
    Granule& granule = granules_[g];
    check(granule.writer, granule.write, true);
    if (write) {
      if (granule.reader >= 0) check(granule.reader, granule.read, false);
      if (granule.reader == -2) {
        std::vector<Access>& readers = many_[granule.many - 1];
        for (std::size_t w = 0; w < warps_; ++w)
          if (readers[w].time != 0) check(static_cast<int>(w), readers[w], false);
        std::fill(readers.begin(), readers.end(), Access{});
      }
      if (granule.writer != warp) granule.write = Access{};
      granule.writer = warp;
      note(granule.write, own, true);
      granule.reader = -1;
    } else if (granule.reader == -1 || granule.reader == warp) {
      if (granule.reader == -1) granule.read = Access{};
      granule.reader = warp;
      note(granule.read, own, false);
    } else {
      if (granule.many == 0) {
        many_.emplace_back(warps_);
        granule.many = static_cast<std::uint32_t>(many_.size());
      }
      std::vector<Access>& readers = many_[granule.many - 1];
      if (granule.reader >= 0) readers[static_cast<std::size_t>(granule.reader)] = granule.read;
      note(readers[static_cast<std::size_t>(warp)], own, false);
      granule.reader = -2;
    }
  }
  return conflict;
}

}  // namespace assay::gpu

#include "gpu/machine/races.hpp"

#include <algorithm>

namespace assay::gpu {

void join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

Races::Races(std::size_t warps, std::size_t bytes, bool on) : on_(on), warps_(warps), clocks_(warps, Clock(warps, 0)) {
  for (std::size_t w = 0; w < warps; ++w) clocks_[w][w] = 1;
  if (on) granules_.resize((bytes + 3) / 4);
}

Clock Races::release(int warp) {
  Clock& own = clocks_[static_cast<std::size_t>(warp)];
  Clock handed = own;
  ++own[static_cast<std::size_t>(warp)];
  return handed;
}

Races::Conflict Races::access(int warp, std::uint32_t at, int bytes, bool write, int line) {
  if (!on_) return {};
  Conflict conflict;
  const Clock& known = clocks_[static_cast<std::size_t>(warp)];
  const Time now = known[static_cast<std::size_t>(warp)];
  const auto check = [&](int other, const Access& access, bool was_write) {
    if (!conflict.found && other >= 0 && other != warp && access.time > known[static_cast<std::size_t>(other)])
      conflict = {true, other, access.line, was_write};
  };
  for (std::uint32_t g = at / 4, last = (at + static_cast<std::uint32_t>(bytes) - 1) / 4; g <= last; ++g) {
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
      granule.writer = warp;
      granule.write = {now, line};
      granule.reader = -1;
    } else if (granule.reader == -1 || granule.reader == warp) {
      granule.reader = warp;
      granule.read = {now, line};
    } else {
      if (granule.many == 0) {
        many_.emplace_back(warps_);
        granule.many = static_cast<std::uint32_t>(many_.size());
      }
      std::vector<Access>& readers = many_[granule.many - 1];
      if (granule.reader >= 0) readers[static_cast<std::size_t>(granule.reader)] = granule.read;
      readers[static_cast<std::size_t>(warp)] = {now, line};
      granule.reader = -2;
    }
  }
  return conflict;
}

}  // namespace assay::gpu

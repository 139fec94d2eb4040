#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "gpu/tests/host/lanes.hpp"

// Copies happen as late as the ISA allows: when the thread that asked for them waits. Until then the bytes are
// poisoned.
namespace assay::ptx {

struct Copy {
  std::uint32_t to, bytes;
  const void* from;
};
struct Groups {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> closed;
};
inline Groups& groups() {
  static std::map<int, Groups> all;
  return all[threadIdx.x];
}

inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(p) - host::shared());
}
inline void cp_async_16(std::uint32_t to, const void* from, std::uint32_t bytes) {
  std::memset(host::shared() + to, 0xFF, 16);
  groups().open.push_back({to, bytes, from});
}
inline void cp_async_commit() {
  groups().closed.push_back(groups().open);
  groups().open.clear();
}
template <int N>
void cp_async_wait() {
  for (auto& closed = groups().closed; closed.size() > N; closed.pop_front())
    for (const Copy& c : closed.front()) {
      std::memset(host::shared() + c.to, 0, 16);
      std::memcpy(host::shared() + c.to, c.from, c.bytes);
    }
}

}  // namespace assay::ptx

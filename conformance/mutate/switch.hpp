#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

// The switch that the sites of a generated file ask. A site of m mutants with ids k .. k+m-1 asks `choice(k)`.
namespace assay::mutate {

struct State {
  int active = 0;
  std::uint64_t run = 0;
  std::int64_t passes = 0, limit = std::numeric_limits<std::int64_t>::max();
};
extern constinit thread_local State state;

inline int choice(int k) { return state.active - k; }  // 0, 1, ...: which of the site's mutants is on, if any
inline bool on(int k) { return state.active == k; }

template <class... T>
inline constexpr bool numbers = (std::is_arithmetic_v<T> && ...);

}  // namespace assay::mutate

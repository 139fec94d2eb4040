#pragma once
#include <cstdint>
#include <vector>

// Inputs of the tests of PTX definitions.
namespace assay::ptx::testing {

/// splitmix64: the same numbers on every machine.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// 0 .. n-1.
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
};

/// Values at the edges of an integer type, and some that are not.
template <class T>
std::vector<T> integers() {
  std::vector<T> all;
  for (int i = 0; i < static_cast<int>(8 * sizeof(T)); ++i)
    for (int d = -1; d <= 1; ++d) {
      const std::uint64_t x = (std::uint64_t{1} << i) + static_cast<std::uint64_t>(static_cast<std::int64_t>(d));
      all.push_back(static_cast<T>(x));
      all.push_back(static_cast<T>(~x));
    }
  Random random{1};
  for (int i = 0; i < 40; ++i) all.push_back(static_cast<T>(random()));
  return all;
}

}  // namespace assay::ptx::testing

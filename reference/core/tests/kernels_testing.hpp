#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reference/core/kernels/table.h"
#include "reference/core/tensor.hpp"

namespace assay::testing {

struct IsaTable {
  std::string name;
  const assay_kernels* kernels;
};

/// Every instruction set that this processor can run, base first.
inline std::vector<IsaTable> isas_here() {
  std::vector<IsaTable> isas = {{"base", &assay_kernels_base}};
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) isas.push_back({"avx2", &assay_kernels_avx2});
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    isas.push_back({"avx512", &assay_kernels_avx512});
  }
#endif
  return isas;
}

/// The bits of x, all NaNs as one.
inline std::uint64_t bits(double x) {
  if (x != x) return 0x7ff8000000000000u;
  std::uint64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

/// splitmix64
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  Index index(Index n) { return static_cast<Index>(next() % static_cast<std::uint64_t>(n)); }
  /// Any finite double: all exponents alike.
  double any() {
    for (;;) {
      const std::uint64_t b = next();
      double x;
      std::memcpy(&x, &b, sizeof x);
      if (x - x == 0.0) return x;
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace assay::testing

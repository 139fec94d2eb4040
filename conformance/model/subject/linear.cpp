#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// y = x w + b as a split-K GEMM would do it: K in tiles of 16, padded; two splits of the tiles, each with its own
// accumulator, added into the output's buffer one after the other.
namespace assay {
namespace {

constexpr std::int64_t tile = 16;

}  // namespace

SUBJECT(linear) {
  const In x = s.in("x"), w = s.in("w"), b = s.in("b");
  const Out y = s.out("y");
  const std::int64_t rows = x.size(0), n_in = x.size(1), n_out = w.size(1);
  if (w.size(0) != n_in) s.refuse("w must be [n_in, n_out], n_in the width of x");
  if (b.given() && b.size(0) != n_out) s.refuse("b must be [n_out]");
  const bool transposed = s.bug("weight_transposed") && n_in == n_out;
  const bool per_split = s.bug("bias_per_split"), half = s.bug("fp16_accumulate"), one_side = s.bug("pad_one_side");

  const std::int64_t tiles = (n_in + tile - 1) / tile, first_half = (tiles + 1) / 2;
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t j = 0; j < n_out; ++j) {
      float total = s.bug("splitk_not_zeroed") && tiles > 1 ? 1.0f : 0.0f;  // what another kernel left there
      for (int split = 0; split < 2; ++split) {
        const std::int64_t begin = split == 0 ? 0 : first_half, end = split == 0 ? first_half : tiles;
        if (split == 1 && begin == end) continue;
        float acc = 0;
        for (std::int64_t k = begin; k < end; ++k) {
          std::vector<float> a(tile, 0.0f);
          std::vector<float> c(tile, one_side ? NAN : 0.0f);  // NaN: what uninitialised shared memory holds, at worst
          for (std::int64_t i = 0; i < tile && k * tile + i < n_in; ++i) {
            const std::int64_t at = k * tile + i;
            a[static_cast<std::size_t>(i)] = x(t, at);
            c[static_cast<std::size_t>(i)] = transposed ? w(j, at) : w(at, j);
          }
          for (std::size_t i = 0; i < tile; ++i) {
            acc = std::fma(a[i], c[i], acc);
            if (half) acc = Subject::fp16(acc);
          }
        }
        if (per_split && b.given()) acc += b(j);
        total += acc;
      }
      y.set(t, j, b.given() && !per_split ? total + b(j) : total);
    }
  }
}

}  // namespace assay

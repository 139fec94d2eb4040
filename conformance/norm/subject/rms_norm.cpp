#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// RMSNorm as a GPU warp would do it: 32 lanes sum the squares of their strided slices, a butterfly joins them, a second
// pass writes. The order of summation is not that of the definition.
namespace assay {
namespace {

constexpr int lanes = 32;

}  // namespace

SUBJECT(rms_norm) {
  const In x = s.in("x"), w = s.in("w");
  const Out y = s.out("y");
  const std::int64_t rows = x.size(0), d = x.size(1);
  if (w.size(0) != d) s.refuse("w must be [d], d the width of x");
  float eps = s.number("eps");
  if (s.bug("eps_dtype_default")) eps = y.epsilon();
  const bool outside = s.option("eps_place", "outside") || s.bug("eps_outside");
  const bool one_plus = s.option("gain", "one_plus_w"), mid = s.option("cast", "cast_mid");

  std::vector<float> lane(lanes);
  for (std::int64_t t = 0; t < rows; ++t) {
    for (int k = 0; k < lanes; ++k) {
      float sum = 0;
      for (std::int64_t i = k; i < d; i += lanes) {
        const float square = x(t, i) * x(t, i);
        sum = s.bug("sum_squares_bf16") ? Subject::bf16(sum + square) : sum + square;
      }
      lane[static_cast<std::size_t>(k)] = sum;
    }
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int k = 0; k < width; ++k) lane[static_cast<std::size_t>(k)] += lane[static_cast<std::size_t>(k + width)];
    }
    const float mean = lane[0] / static_cast<float>(d);
    float r = outside ? 1.0f / (std::sqrt(mean) + eps) : 1.0f / std::sqrt(mean + eps);
    if (s.bug("inv_rms_bf16")) r = Subject::bf16(r);
    for (std::int64_t i = 0; i < d; ++i) {
      float gain = one_plus ? 1.0f + w(i) : w(i);
      if (s.bug("gain_in_bf16") && one_plus) gain = Subject::bf16(gain);
      float v = x(t, i) * r;
      if (mid) v = y.rounded(v);
      v *= gain;
      if (s.bug("truncate_to_bf16")) {
        y.set_truncated(t, i, v);
      } else {
        y.set(t, i, v);
      }
      if (s.bug("input_overwritten")) x.overwrite(t, i, v);
    }
  }
}

}  // namespace assay

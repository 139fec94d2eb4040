#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Layer normalization as a GPU warp would do it in one pass: 32 lanes run Welford's recurrence over their strided
// slices, a butterfly joins their moments by Chan's formula, a second pass writes.
namespace assay {
namespace {

constexpr int lanes = 32;

/// How many values, their mean, the sum of squared deviations from it.
struct Moments {
  float n = 0, mean = 0, m2 = 0;
  void add(float x) {
    n += 1;
    const float d = x - mean;
    mean += d / n;
    m2 += d * (x - mean);
  }
  void join(const Moments& o) {
    if (o.n == 0) return;
    if (n == 0) {
      *this = o;
      return;
    }
    const float all = n + o.n, d = o.mean - mean;
    mean += d * (o.n / all);
    m2 += o.m2 + d * d * (n * o.n / all);
    n = all;
  }
};

}  // namespace

SUBJECT(layer_norm) {
  const In x = s.in("x"), w = s.in("w"), b = s.in("b");
  const Out y = s.out("y");
  const std::int64_t rows = x.size(0), d = x.size(1);
  if (w.size(0) != d) s.refuse("w must be [d], d the width of x");
  if (b.given() && b.size(0) != d) s.refuse("b must be [d], d the width of x");
  const float eps = s.number("eps");
  const bool outside = s.option("eps_place", "outside") || s.bug("eps_outside");
  const bool one_plus = s.option("gain", "one_plus_w");

  std::vector<Moments> lane(lanes);
  for (std::int64_t t = 0; t < rows; ++t) {
    float sum = 0, squares = 0;  // only for the bugs that take running sums
    for (Moments& m : lane) m = {};
    for (std::int64_t i = 0; i < d; ++i) {
      lane[static_cast<std::size_t>(i % lanes)].add(x(t, i));
      sum += x(t, i);
      squares += x(t, i) * x(t, i);
    }
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int k = 0; k < width; ++k) lane[static_cast<std::size_t>(k)].join(lane[static_cast<std::size_t>(k + width)]);
    }
    const auto n = static_cast<float>(d);
    float mean = lane[0].mean, variance = lane[0].m2 / n;
    if (s.bug("one_pass_variance")) {
      mean = sum / n;
      variance = squares / n - mean * mean;
    }
    if (s.bug("unbiased_variance")) variance = lane[0].m2 / (n - 1);
    if (s.bug("padded_width")) {
      const auto padded = static_cast<float>((d + lanes - 1) / lanes * lanes);
      mean = sum / padded;
      variance = lane[0].m2 / padded;
    }
    const float r = outside ? 1.0f / (std::sqrt(variance) + eps) : 1.0f / std::sqrt(variance + eps);
    for (std::int64_t i = 0; i < d; ++i) {
      const float gain = one_plus ? 1.0f + w(i) : w(i);
      const float v = (x(t, i) - mean) * r * gain;
      y.set(t, i, b.given() ? v + b(i) : v);
    }
  }
}

}  // namespace assay

#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Softmax as a GPU block would do it: 32 lanes, each over its own strided slice with a running maximum and sum, joined
// in a tree; then one pass that writes. The order of summation is not that of the definition.
namespace assay {
namespace {

constexpr int lanes = 32;
constexpr float none = -INFINITY;

/// What a lane knows of its slice: maximum, and the sum of exp(x - max).
struct Partial {
  float max = none, sum = 0;
};

/// exp(x - max) where an entry of -inf adds nothing, whatever the maximum.
float weight(float x, float max, bool guard) { return guard && x == none ? 0.0f : std::exp(x - max); }

Partial join(const Partial& a, const Partial& b, bool guard) {
  Partial r;
  r.max = a.max > b.max || std::isnan(a.max) ? a.max : b.max;
  r.sum = a.sum * weight(a.max, r.max, guard) + b.sum * weight(b.max, r.max, guard);
  return r;
}

}  // namespace

SUBJECT(softmax) {
  const In x = s.in("x"), mask = s.in("mask"), sink = s.in("sink");
  const Out p = s.out("p"), log_p = s.out("log_p"), lse = s.out("lse");
  const std::int64_t rows = x.size(0), n = x.size(1);
  if (mask.given() && (mask.size(0) != rows || mask.size(1) != n)) s.refuse("mask must be [T, n] like x");
  if (sink.given() && sink.size(0) != rows) s.refuse("sink must be [T]");
  const bool bug_bf16 = s.bug("bf16_reduction"), bug_nan = s.bug("nan_dropped_by_max");
  const bool row_guard = !s.bug("neg_inf_guard_missing"), slice_guard = !s.bug("thread_slice_neg_inf");
  const float removed = s.bug("finite_mask") ? -1e4f : s.bug("flt_max_mask") ? -3.402823466e38f : none;

  for (std::int64_t t = 0; t < rows; ++t) {
    std::vector<float> row(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
      row[static_cast<std::size_t>(i)] = mask.given() && mask(t, i) == 0 ? removed : x(t, i);
    const float g = sink.given() ? sink(t) : none;

    std::vector<Partial> lane(lanes);
    for (int k = 0; k < lanes; ++k) {
      Partial& a = lane[static_cast<std::size_t>(k)];
      for (std::int64_t i = k; i < n; i += lanes) {
        const float v = row[static_cast<std::size_t>(i)];
        if (v > a.max || (std::isnan(v) && !bug_nan)) a.max = v;
      }
      for (std::int64_t i = k; i < n; i += lanes) {
        const float e = weight(row[static_cast<std::size_t>(i)], a.max, slice_guard);
        a.sum = bug_bf16 ? Subject::bf16(a.sum + e) : a.sum + e;
      }
    }
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int k = 0; k < width; ++k) {
        lane[static_cast<std::size_t>(k)] =
            join(lane[static_cast<std::size_t>(k)], lane[static_cast<std::size_t>(k + width)], slice_guard);
      }
    }
    const Partial keys = lane[0];
    const Partial all = join(keys, {g, g == none ? 0.0f : 1.0f}, true);
    const bool empty = all.max == none && row_guard;
    const bool dropped = bug_nan && std::isnan(all.sum);
    const float log_sum = std::log(all.sum);
    if (lse.wanted()) lse.set(t, keys.max == none ? none : keys.max + std::log(keys.sum));
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = row[static_cast<std::size_t>(i)];
      float probability = weight(v, all.max, row_guard) / all.sum;
      float logarithm = v - all.max - log_sum;
      if (empty) {
        probability = s.option("empty_row", "nan")       ? NAN
                      : s.option("empty_row", "uniform") ? 1.0f / static_cast<float>(n)
                                                         : 0.0f;
        logarithm = std::log(probability);
      }
      if (dropped) probability = logarithm = 0.0f;
      if (p.wanted()) p.set(t, i, probability);
      if (log_p.wanted()) log_p.set(t, i, logarithm);
    }
  }
}

}  // namespace assay

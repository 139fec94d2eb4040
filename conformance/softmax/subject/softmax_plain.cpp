#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Plain softmax as a vectorised loop would do it: four running sums over interleaved entries, then one pass that
// writes. The order of summation is not that of the definition.
namespace assay {

SUBJECT(softmax_plain) {
  const In x = s.in("x"), mask = s.in("mask"), sink = s.in("sink");
  const Out p = s.out("p"), lse = s.out("lse");
  const std::int64_t rows = x.size(0), n = x.size(1);
  if (mask.given() && (mask.size(0) != rows || mask.size(1) != n)) s.refuse("mask must be [T, n] like x");
  if (sink.given() && sink.size(0) != rows) s.refuse("sink must be [T]");
  const bool bug_bf16 = s.bug("bf16_reduction");
  const float none = -INFINITY, removed = s.bug("finite_mask") ? -1e4f : none;

  for (std::int64_t t = 0; t < rows; ++t) {
    std::vector<float> weight(static_cast<std::size_t>(n));
    float part[4] = {0, 0, 0, 0};
    bool empty = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = mask.given() && mask(t, i) == 0 ? removed : x(t, i);
      empty = empty && v == none;
      const float e = weight[static_cast<std::size_t>(i)] = std::exp(v);
      const std::int64_t k = i % 4;
      part[k] = bug_bf16 ? Subject::bf16(part[k] + e) : part[k] + e;
    }
    const float sum = (part[0] + part[2]) + (part[1] + part[3]);
    float all = sum;
    if (sink.given() && sink(t) != none) {
      empty = false;
      all += std::exp(sink(t));
    }
    if (lse.wanted()) lse.set(t, std::log(sum));
    for (std::int64_t i = 0; i < n && p.wanted(); ++i)
      p.set(t, i, empty ? 0.0f : weight[static_cast<std::size_t>(i)] / all);
  }
}

}  // namespace assay

#include <algorithm>
#include <cmath>

#include "conformance/engine/subject.hpp"

// The merge as the second kernel of a split attention does it. In form lse each part's weight is its share of the sum
// against the larger LSE; LSE itself is not used for o.
namespace assay {
namespace {

/// exp(x - top), and 0 of an empty part even where top is -inf.
float weight(float x, float top, bool guard) { return guard && x == -INFINITY ? 0.0f : std::exp(x - top); }

}  // namespace

SUBJECT(merge_states) {
  const bool state = s.option("form", "mlo");
  const In p1 = s.in(state ? "m1" : "lse1"), p2 = s.in(state ? "m2" : "lse2");
  const In l1 = s.in("l1"), l2 = s.in("l2"), o1 = s.in("o1"), o2 = s.in("o2");
  const Out o = s.out("o"), l = s.out("l"), m = s.out("m"), lse = s.out("lse");
  const std::int64_t rows = o1.size(0), d = o1.size(1);
  if (o2.size(0) != rows || o2.size(1) != d) s.refuse("o2 must be [T, d] like o1");
  for (const In& in : {p1, p2, l1, l2}) {
    if (in.given() && in.size(0) != rows) s.refuse("m, l and lse must be [T] with the T of o1");
  }
  const float base = s.bug("lse_base_mixed") ? 0.693147181f : 1.0f;
  const bool guard = !s.bug("neg_inf_guard_missing");

  for (std::int64_t t = 0; t < rows; ++t) {
    const float x1 = p1(t), x2 = p2(t) * base, top = x1 > x2 || std::isnan(x1) ? x1 : x2;
    const float w1 = weight(x1, top, guard), w2 = weight(x2, top, guard);
    const float sum = state ? w1 * l1(t) + w2 * l2(t) : w1 + w2;
    if (m.wanted()) m.set(t, top);
    if (l.wanted()) l.set(t, sum);
    if (lse.wanted()) lse.set(t, top + std::log(sum));
    for (std::int64_t c = 0; c < d && o.wanted(); ++c) {
      const float joined = w1 * o1(t, c) + w2 * o2(t, c);
      o.set(t, c, state || sum == 0 ? joined : joined / sum);
    }
  }
}

}  // namespace assay

#include <algorithm>
#include <cmath>

#include "conformance/engine/subject.hpp"

// The merge as the second kernel of a split attention does it. In form lse each part's weight is its share of the sum
// against the larger LSE; LSE itself is not used for o.
namespace assay {
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
  // A finite floor under the maximum would make the guard superfluous; what half precision makes of it is -inf.
  const bool half = s.bug("half_sentinel"), guard = !half && !s.bug("neg_inf_guard_missing");
  const float floor = half ? Subject::fp16(-1e30f) : -INFINITY;
  const bool narrow = s.bug("bf16_accumulated");

  for (std::int64_t t = 0; t < rows; ++t) {
    const float x1 = p1(t), x2 = p2(t) * base, larger = x1 > x2 || std::isnan(x1) ? x1 : x2;
    const float top = larger < floor ? floor : larger;
    const bool none1 = guard && x1 == -INFINITY, none2 = guard && x2 == -INFINITY;
    float w1 = none1 ? 0.0f : std::exp(x1 - top), w2 = none2 ? 0.0f : std::exp(x2 - top);
    if (s.bug("base_mixed")) w1 = std::exp2(x1 - top), w2 = std::exp2(x2 - top);
    const float sum = state ? w1 * l1(t) + w2 * l2(t) : w1 + w2;
    if (m.wanted()) m.set(t, top);
    if (l.wanted()) l.set(t, sum);
    float L = top + std::log(sum);
    if (s.bug("log_overflow") && !none1) L = x1 + std::log(1.0f + std::exp(x2 - x1));
    if (none1 && none2 && s.bug("empty_plus_inf")) L = INFINITY;
    if (none1 && none2 && s.bug("finite_lse_empty")) L = std::log(1e-30f);
    if (lse.wanted()) lse.set(t, L);
    for (std::int64_t c = 0; c < d && o.wanted(); ++c) {
      // selected, not multiplied: what a part without a key holds is not looked at
      const float a = none1 ? 0.0f : w1 * o1(t, c), b = none2 ? 0.0f : w2 * o2(t, c);
      float joined = none1 ? b : none2 ? a : a + b;
      if (narrow) joined = Subject::bf16(Subject::bf16(a) + Subject::bf16(b));
      const bool nothing = sum == 0 && !s.bug("two_empty_nan");
      o.set(t, c, state || nothing ? joined : joined / sum);
    }
  }
}

}  // namespace assay

#include "conformance/engine/claim.hpp"

// Form lse by the logistic function of the gap g = LSE_2 - LSE_1: o = o_1 / (1 + e^g) + o_2 / (1 + e^-g). Form mlo by
// dividing by e^(m - m_i) instead of multiplying by e^(m_i - m).
namespace assay {
namespace {

Wide larger(const Wide& a, const Wide& b) {
  return a < b || value(a) != value(a) ? (value(a) != value(a) ? a : b) : (value(b) != value(b) ? b : a);
}

}  // namespace

SECOND_OPINION(merge_states) {
  const Matrix<Wide> o1 = e.matrix("o1"), o2 = e.matrix("o2");
  const Index rows = o1.rows(), d = o1.cols();
  Matrix<Wide> o(rows, d, Wide(0));
  Vector<Wide> top(rows, Wide(0)), sum(rows, Wide(0));
  const bool state = e.call.option("form") == 1;
  const Vector<Wide> a = e.vector(state ? "m1" : "lse1"), b = e.vector(state ? "m2" : "lse2");
  for (Index t = 0; t < rows; ++t) {
    const bool no_a = value(a[t]) == -infinity, no_b = value(b[t]) == -infinity;
    top[t] = larger(a[t], b[t]);
    if (state) {
      const Wide l1 = e.vector("l1")[t], l2 = e.vector("l2")[t];
      const Wide down_a = no_a ? Wide(infinity) : exp(top[t] - a[t]),
                 down_b = no_b ? Wide(infinity) : exp(top[t] - b[t]);
      sum[t] = l1 / down_a + l2 / down_b;
      for (Index c = 0; c < d; ++c) o(t, c) = o1(t, c) / down_a + o2(t, c) / down_b;
      continue;
    }
    if (no_a || no_b) {
      top[t] = no_a ? b[t] : a[t];
      for (Index c = 0; c < d; ++c) o(t, c) = no_a && no_b ? Wide(0) : no_a ? o2(t, c) : o1(t, c);
      continue;
    }
    const Wide gap = b[t] - a[t];
    const Wide share1 = Wide(1) / (Wide(1) + exp(gap)), share2 = Wide(1) / (Wide(1) + exp(-gap));
    top[t] = top[t] + log(Wide(1) + exp(value(gap) > 0 ? -gap : gap));
    for (Index c = 0; c < d; ++c) o(t, c) = o1(t, c) * share1 + o2(t, c) * share2;
  }
  e.out("o", o);
  if (!state) return e.out("lse", top);
  e.out("m", top);
  e.out("l", sum);
}

}  // namespace assay

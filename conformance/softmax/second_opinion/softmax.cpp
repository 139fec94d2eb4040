#include "conformance/engine/claim.hpp"

// No maximum: LSE by adding one entry after the other, ln(e^a + e^b) from the larger; then log p = x - LSE and
// p = e^(x - LSE), the sink counted as one more entry.
namespace assay {
namespace {

/// ln(e^a + e^b).
Wide log_add(const Wide& a, const Wide& b) {
  if (value(a) == -infinity) return b;
  if (value(b) == -infinity) return a;
  return a < b ? b + log(Wide(1) + exp(a - b)) : a + log(Wide(1) + exp(b - a));
}

}  // namespace

SECOND_OPINION(softmax) {
  const Matrix<Wide> x = e.matrix("x");
  const Index rows = x.rows(), n = x.cols();
  const Mask keep = e.mask("mask");
  const Vector<Wide> sink = e.vector_or("sink", rows, -infinity);
  const double choice = e.call.option("empty_row");
  const Wide none = choice == 0 ? Wide(0) : choice == 1 ? Wide(not_a_number) : Wide(1) / Wide(static_cast<double>(n));
  Matrix<Wide> p(rows, n, Wide(0)), log_p(rows, n, Wide(-infinity));
  Vector<Wide> lse(rows, Wide(-infinity));
  for (Index t = 0; t < rows; ++t) {
    const auto taken = [&](Index i) { return keep.rows() == 0 || keep(t, i); };
    for (Index i = 0; i < n; ++i) {
      if (taken(i)) lse[t] = log_add(lse[t], x(t, i));
    }
    const Wide all = log_add(lse[t], sink[t]);
    const bool empty = value(all) == -infinity, poisoned = !(value(all) < infinity);
    for (Index i = 0; i < n; ++i) {
      if (!empty && !poisoned && (!taken(i) || value(x(t, i)) == -infinity)) continue;
      p(t, i) = poisoned ? Wide(not_a_number) : empty ? none : exp(x(t, i) - all);
      log_p(t, i) = poisoned ? Wide(not_a_number) : empty ? log(none) : x(t, i) - all;
    }
  }
  e.out("p", p);
  e.out("log_p", log_p);
  e.out("lse", lse);
}

}  // namespace assay

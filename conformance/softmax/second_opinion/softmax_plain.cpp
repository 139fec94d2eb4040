#include "conformance/engine/claim.hpp"

// p_i = 1 / sum_j exp(x_j - x_i): the differences of every pair, so no sum is shared by a row. LSE by adding one entry
// after the other: a + ln(1 + exp(b - a)).
namespace assay {

SECOND_OPINION(softmax_plain) {
  const Matrix<Wide> x = e.matrix("x");
  const Mask keep = e.mask("mask");
  const Vector<Wide> sink = e.vector_or("sink", x.rows(), -infinity);
  Matrix<Wide> p(x.rows(), x.cols(), Wide(0));
  Vector<Wide> lse(x.rows(), Wide(-infinity));
  const auto taken = [&](Index t, Index i) { return (keep.rows() == 0 || keep(t, i)) && value(x(t, i)) != -infinity; };
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index i = 0; i < x.cols(); ++i) {
      if (!taken(t, i)) continue;
      Wide others = exp(sink[t] - x(t, i));
      for (Index j = 0; j < x.cols(); ++j) {
        if (taken(t, j)) others = others + exp(x(t, j) - x(t, i));
      }
      p(t, i) = Wide(1) / others;
      lse[t] = value(lse[t]) == -infinity ? x(t, i) : lse[t] + log(Wide(1) + exp(x(t, i) - lse[t]));
    }
  }
  e.out("p", p);
  e.out("lse", lse);
}

}  // namespace assay

#include "conformance/engine/claim.hpp"

// o = sum_j v_j / sum_k exp(x_k - x_j): the differences of every pair, no chunks, no maximum. LSE by adding one entry
// after the other.
namespace assay {

SECOND_OPINION(online_softmax) {
  const Matrix<Wide> x = e.matrix("x"), v = e.matrix("v");
  Matrix<Wide> o(x.rows(), v.cols(), Wide(0));
  Vector<Wide> lse(x.rows(), Wide(-infinity));
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index j = 0; j < x.cols(); ++j) {
      if (value(x(t, j)) == -infinity) continue;
      Wide others(0);
      for (Index k = 0; k < x.cols(); ++k) others = others + exp(x(t, k) - x(t, j));
      for (Index c = 0; c < v.cols(); ++c) o(t, c) = o(t, c) + v(j, c) / others;
      const Wide gap = x(t, j) - lse[t];  // ln(e^a + e^b) from the larger one
      if (value(lse[t]) == -infinity)
        lse[t] = x(t, j);
      else if (value(gap) > 0)
        lse[t] = x(t, j) + log(Wide(1) + exp(-gap));
      else
        lse[t] = lse[t] + log(Wide(1) + exp(gap));
    }
  }
  e.out("o", o);
  e.out("lse", lse);
}

}  // namespace assay

#include "conformance/engine/claim.hpp"

// Scalar loops with k outermost and descending: rank-one updates from the last column of x to the first, the bias
// first.
namespace assay {

SECOND_OPINION(linear) {
  const Matrix<Wide> x = e.matrix("x"), w = e.matrix("w");
  const Vector<Wide> b = e.vector_or("b", w.cols(), 0);
  Matrix<Wide> y(x.rows(), w.cols());
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index j = 0; j < w.cols(); ++j) y(t, j) = b[j];
  }
  for (Index k = x.cols(); k-- > 0;) {
    for (Index t = 0; t < x.rows(); ++t) {
      for (Index j = 0; j < w.cols(); ++j) y(t, j) = y(t, j) + x(t, k) * w(k, j);
    }
  }
  e.out("y", y);
}

}  // namespace assay

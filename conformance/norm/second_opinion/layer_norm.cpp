#include "conformance/engine/claim.hpp"

// No mean is taken: x_i - mean = (1/d) sum_j (x_i - x_j), and var = (1/d^2) sum_(i<j) (x_i - x_j)^2.
namespace assay {

SECOND_OPINION(layer_norm) {
  const Matrix<Wide> x = e.matrix("x");
  const Vector<Wide> w = e.vector("w"), b = e.vector_or("b", x.cols(), 0);
  const Wide eps(e.call.option("eps")), d(static_cast<double>(x.cols()));
  const bool outside = e.call.option("eps_place") == 1, one_plus = e.call.option("gain") == 1;
  Matrix<Wide> y(x.rows(), x.cols());
  for (Index t = 0; t < x.rows(); ++t) {
    Vector<Wide> away(x.cols(), Wide(0));
    Wide squares(0);
    for (Index i = 0; i < x.cols(); ++i) {
      for (Index j = 0; j < i; ++j) {
        const Wide gap = x(t, i) - x(t, j);
        away[i] = away[i] + gap;
        away[j] = away[j] - gap;
        squares = squares + gap * gap;
      }
    }
    const Wide variance = squares / (d * d), below = outside ? sqrt(variance) + eps : sqrt(variance + eps);
    for (Index i = 0; i < x.cols(); ++i) {
      const Wide gain = one_plus ? w[i] + Wide(1) : w[i];
      y(t, i) = away[i] * gain / (d * below) + b[i];
    }
  }
  e.out("y", y);
}

}  // namespace assay

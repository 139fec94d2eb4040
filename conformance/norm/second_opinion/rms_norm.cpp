#include "conformance/engine/claim.hpp"

// y_i = x_i g_i sqrt(d) / sqrt(sum x^2 + d eps): one root of a quotient, no mean and no inverse; squares are added from
// the last to the first. eps outside: y_i = x_i g_i / (sqrt(sum x^2) / sqrt(d) + eps).
namespace assay {

SECOND_OPINION(rms_norm) {
  const Matrix<Wide> x = e.matrix("x");
  const Vector<Wide> w = e.vector("w");
  const double eps = e.call.option("eps");
  const bool outside = e.call.option("eps_place") == 1, one_plus = e.call.option("gain") == 1;
  const Wide d(static_cast<double>(x.cols()));
  Matrix<Wide> y(x.rows(), x.cols());
  for (Index t = 0; t < x.rows(); ++t) {
    Wide squares(0);
    for (Index i = x.cols(); i-- > 0;) squares = squares + x(t, i) * x(t, i);
    const Wide below = outside ? sqrt(squares) / sqrt(d) + Wide(eps) : sqrt((squares + d * Wide(eps)) / d);
    for (Index i = 0; i < x.cols(); ++i) {
      const Wide gain = one_plus ? w[i] + Wide(1) : w[i];
      y(t, i) = x(t, i) * gain / below;
    }
  }
  e.out("y", y);
}

}  // namespace assay

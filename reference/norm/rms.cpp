#include "reference/norm/rms.hpp"

namespace assay {
namespace {

/// w, or 1 + w.
template <class T>
Vector<T> gain_of(const Vector<T>& w, const RmsNormOptions& opt) {
  return opt.gain == RmsNormOptions::Gain::w ? w : 1.0 + w;  // [d]
}

}  // namespace

template <class T>
Matrix<T> rms_norm(const Matrix<T>& x, const Vector<T>& w, const RmsNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  //  r_t = 1 / sqrt( mean_i x_ti² + ε )
  const bool inside = opt.eps_place == RmsNormOptions::EpsPlace::inside;
  const Vector<T> r = inside ? inv_rms(x, opt.eps) : inv_rms_eps_outside(x, opt.eps);  // [T]
  //  y_ti = x_ti · r_t · g_i, where cast_mid rounds x_ti · r_t
  const Vector<T> g = gain_of(w, opt);  // [d]
  const bool cast = opt.cast == RmsNormOptions::Cast::cast_mid;
  return at(Site::output, cast ? scale_cols(at(Site::cast, scale_rows(x, r)), g) : affine(x, r, g));  // [T, d]
}

template <class T>
RmsNormVjp<T> rms_norm_vjp(const Matrix<T>& x, const Vector<T>& w, const Matrix<T>& dy, const RmsNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  require_shape("dy", shape(dy), shape(x));
  const Vector<T> r = inv_rms(x, opt.eps);              // [T]
  const Matrix<T> xh = scale_rows(x, r);                // [T, d]
  const Matrix<T> g = scale_cols(dy, gain_of(w, opt));  // [T, d]
  //  dx = r (g - xh mean(g xh))
  const Matrix<T> dx = scale_rows(g - scale_rows(xh, mean_rows(g * xh)), r);  // [T, d]
  //  dw = Σ_t dy_t xh_t
  return {dx, sum_cols(dy * xh)};
}

#define ASSAY_INSTANTIATE(T)                                                              \
  template Matrix<T> rms_norm(const Matrix<T>&, const Vector<T>&, const RmsNormOptions&); \
  template RmsNormVjp<T> rms_norm_vjp(const Matrix<T>&, const Vector<T>&, const Matrix<T>&, const RmsNormOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

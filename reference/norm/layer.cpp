#include "reference/norm/layer.hpp"

namespace assay {
namespace {

/// w, or 1 + w.
template <class T>
Vector<T> gain_of(const Vector<T>& w, const LayerNormOptions& opt) {
  return opt.gain == LayerNormOptions::Gain::w ? w : 1.0 + w;  // [d]
}

/// What every row is made of: c, and the inverse of its standard deviation.
template <class T>
struct Centred {
  Matrix<T> c;  // [T, d]
  Vector<T> r;  // [T]
};
template <class T>
Centred<T> centred(const Matrix<T>& x, const LayerNormOptions& opt) {
  //  c_ti = x_ti - μ_t
  const Vector<T> mean = mean_rows(x);    // [T]
  const Matrix<T> c = sub_rows(x, mean);  // [T, d]
  //  r_t = 1 / sqrt( mean_i c_ti² + ε )
  const bool inside = opt.eps_place == LayerNormOptions::EpsPlace::inside;
  return {c, inside ? inv_std(c, mean, opt.eps) : inv_std_eps_outside(c, mean, opt.eps)};
}

}  // namespace

template <class T>
Matrix<T> layer_norm(const Matrix<T>& x, const Vector<T>& w, const Vector<T>& b, const LayerNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  require_shape("b", shape(b), {x.cols()});
  const auto [c, r] = centred(x, opt);
  //  y_ti = c_ti · r_t · g_i + b_i
  return at(Site::output, affine(c, r, gain_of(w, opt), b));  // [T, d]
}

template <class T>
Matrix<T> layer_norm(const Matrix<T>& x, const Vector<T>& w, const LayerNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  const auto [c, r] = centred(x, opt);
  //  y_ti = c_ti · r_t · g_i
  return at(Site::output, affine(c, r, gain_of(w, opt)));  // [T, d]
}

template <class T>
LayerNormVjp<T> layer_norm_vjp(const Matrix<T>& x, const Vector<T>& w, const Matrix<T>& dy,
                               const LayerNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  require_shape("dy", shape(dy), shape(x));
  const Vector<T> mean = mean_rows(x);                  // [T]
  const Matrix<T> c = sub_rows(x, mean);                // [T, d]
  const Vector<T> r = inv_std(c, mean, opt.eps);        // [T]
  const Matrix<T> xh = scale_rows(c, r);                // [T, d]
  const Matrix<T> g = scale_cols(dy, gain_of(w, opt));  // [T, d]
  //  dx = r (g - mean(g) - xh mean(g xh))
  const Matrix<T> dx = scale_rows(sub_rows(g, mean_rows(g)) - scale_rows(xh, mean_rows(g * xh)), r);  // [T, d]
  //  dw = Σ_t dy_t xh_t, db = Σ_t dy_t
  return {dx, sum_cols(dy * xh), sum_cols(dy)};
}

#define ASSAY_INSTANTIATE(T)                                                                                    \
  template Matrix<T> layer_norm(const Matrix<T>&, const Vector<T>&, const Vector<T>&, const LayerNormOptions&); \
  template Matrix<T> layer_norm(const Matrix<T>&, const Vector<T>&, const LayerNormOptions&);                   \
  template LayerNormVjp<T> layer_norm_vjp(const Matrix<T>&, const Vector<T>&, const Matrix<T>&,                 \
                                          const LayerNormOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

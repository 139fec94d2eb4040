#include "reference/norm/layer.hpp"

#include <utility>

namespace assay {
namespace {

/// w, or 1 + w.
template <class T>
Vector<T> gain_of(const Vector<T>& w, const LayerNormOptions& opt) {
  return opt.gain == LayerNormOptions::Gain::w ? w : 1.0 + w;  // [d]
}

/// r_t = 1 / sqrt( mean_i c_ti² + ε ), or with ε outside the root.
template <class T>
Vector<T> inverse_deviation(const Centred<T>& x, const LayerNormOptions& opt) {
  const bool inside = opt.eps_place == LayerNormOptions::EpsPlace::inside;
  return inside ? inv_std(x.c, x.mean, opt.eps) : inv_std_eps_outside(x.c, x.mean, opt.eps);  // [T]
}

}  // namespace

template <class T>
Matrix<T> layer_norm(const Matrix<T>& x, const Vector<T>& w, const Vector<T>& b, const LayerNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  require_shape("b", shape(b), {x.cols()});
  //  c_ti = x_ti - μ_t      r_t = 1 / sqrt( mean_i c_ti² + ε )
  Centred<T> z = center_rows(x);                  // [T], [T, d]
  const Vector<T> r = inverse_deviation(z, opt);  // [T]
  //  y_ti = c_ti · r_t · g_i + b_i
  return at(Site::output, affine(std::move(z.c), r, gain_of(w, opt), b));  // [T, d]
}

template <class T>
Matrix<T> layer_norm(const Matrix<T>& x, const Vector<T>& w, const LayerNormOptions& opt) {
  require_shape("w", shape(w), {x.cols()});
  Centred<T> z = center_rows(x);                  // [T], [T, d]
  const Vector<T> r = inverse_deviation(z, opt);  // [T]
  //  y_ti = c_ti · r_t · g_i
  return at(Site::output, affine(std::move(z.c), r, gain_of(w, opt)));  // [T, d]
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

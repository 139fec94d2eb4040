#include "reference/model/linear.hpp"

namespace assay {

template <class T>
Matrix<T> linear(const Matrix<T>& x, const Matrix<T>& w, const Vector<T>& b) {
  require_shape("w", shape(w), {x.cols(), w.cols()});
  require_shape("b", shape(b), {w.cols()});
  //  y_tj = Σ_i x_ti w_ij + b_j
  return at(Site::output, add_cols(matmul(x, w), b));  // [T, n_out]
}

template <class T>
Matrix<T> linear(const Matrix<T>& x, const Matrix<T>& w) {
  require_shape("w", shape(w), {x.cols(), w.cols()});
  //  y_tj = Σ_i x_ti w_ij
  return at(Site::output, matmul(x, w));  // [T, n_out]
}

template <class T>
LinearVjp<T> linear_vjp(const Matrix<T>& x, const Matrix<T>& w, const Matrix<T>& dy) {
  require_shape("dy", shape(dy), {x.rows(), w.cols()});
  //  dx = dy wᵀ      dw = xᵀ dy      db = Σ_t dy_t
  return {matmul(dy, transpose(w)), matmul(transpose(x), dy), sum_cols(dy)};
}

#define ASSAY_INSTANTIATE(T)                                                       \
  template Matrix<T> linear(const Matrix<T>&, const Matrix<T>&, const Vector<T>&); \
  template Matrix<T> linear(const Matrix<T>&, const Matrix<T>&);                   \
  template LinearVjp<T> linear_vjp(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

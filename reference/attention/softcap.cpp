#include "reference/attention/softcap.hpp"

namespace assay {

template <class T>
Matrix<T> softcap(const Matrix<T>& x, double C) {
  if (!(C >= 0)) throw Error("softcap: no such cap", "0 (off) or a positive number", std::to_string(C));
  if (C == 0) return x;
  //  x' = C tanh(x / C)
  const Vector<T> c = full<T>(x.rows(), C);    // [n]
  return scale_rows(tanh(div_rows(x, c)), c);  // [n, Sk]
}

template <class T>
Matrix<T> softcap_vjp(const Matrix<T>& d, const Matrix<T>& x, double C) {
  if (C == 0) return d;
  //  d (1 - (x' / C)^2)      x' / C = tanh(x / C)
  const Matrix<T> t = tanh(div_rows(x, full<T>(x.rows(), C)));  // [n, Sk]
  return d * (full<T>(t.rows(), t.cols(), 1) - t * t);          // [n, Sk]
}

#define ASSAY_INSTANTIATE(T)                            \
  template Matrix<T> softcap(const Matrix<T>&, double); \
  template Matrix<T> softcap_vjp(const Matrix<T>&, const Matrix<T>&, double);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

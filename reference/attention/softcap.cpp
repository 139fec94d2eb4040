#include "reference/attention/softcap.hpp"

namespace assay {

template <class T>
Matrix<T> softcap(const Matrix<T>& x, double C) {
  if (!(C >= 0)) throw Error("softcap: no such cap", "0 (off) or a positive number", std::to_string(C));
  if (C == 0) return x;
  //  x' = C tanh(x / C)
  const Vector<T> c = full<T>(x.rows(), C);
  return scale_rows(tanh(div_rows(x, c)), c);
}

template <class T>
Matrix<T> softcap_vjp(const Matrix<T>& d, const Matrix<T>& capped, double C) {
  if (C == 0) return d;
  //  d (1 - (x' / C)^2)
  const Matrix<T> t = div_rows(capped, full<T>(capped.rows(), C));
  return d * (1.0 + -1.0 * (t * t));
}

#define ASSAY_INSTANTIATE(T)                            \
  template Matrix<T> softcap(const Matrix<T>&, double); \
  template Matrix<T> softcap_vjp(const Matrix<T>&, const Matrix<T>&, double);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

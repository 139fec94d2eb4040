#include "reference/softmax/online.hpp"

#include <algorithm>
#include <cmath>

namespace assay {

template <class T>
SoftmaxState<T> softmax_nothing(Index rows, Index d) {
  return {full<T>(rows, -infinity), full<T>(rows, 0), full<T>(rows, d, 0)};
}

template <class T>
SoftmaxState<T> softmax_step(const SoftmaxState<T>& s, const Matrix<T>& x, const Matrix<T>& v, double slack) {
  //  m' = max(m, max_j x_j)   stale_max: m while max_j x_j - m <= tau
  const Vector<T> m = stale(s.m, max(s.m, max_rows(x)), slack);  // [T]
  //  a = exp(m - m')   0 where m = -inf      e_j = exp(x_j - m')
  const Vector<T> a = exp(s.m - anchor(m));         // [T]
  const Matrix<T> e = exp(sub_rows(x, anchor(m)));  // [T, c]
  //  l' = a l + sum_j e_j      o' = a o + sum_j e_j v_j
  return {m, a * s.l + sum_rows(e), scale_rows(s.o, a) + matmul(at(Site::probabilities, e), v)};
}

template <class T>
SoftmaxMean<T> online_softmax(const Matrix<T>& x, const Matrix<T>& v, const OnlineSoftmaxOptions& opt) {
  require_shape("v", shape(v), {x.cols(), v.cols()});
  if (!(opt.chunk >= 1) || opt.chunk != std::floor(opt.chunk))
    throw Error("online_softmax, option chunk", "a whole number from 1", std::to_string(opt.chunk));
  const double slack = opt.reference == OnlineSoftmaxOptions::Reference::stale_max ? stale_threshold : 0;
  const Index n = x.cols(), chunk = static_cast<Index>(std::min(opt.chunk, 0x1p40));
  SoftmaxState<T> s = softmax_nothing<T>(x.rows(), v.cols());
  for (Index c = 0; c < n; c += chunk) {
    const Index end = std::min(n, c + chunk);
    s = softmax_step(s, x.col_range(c, end), v.row_range(c, end), slack);
  }
  //  o / l      LSE = m + ln l
  const SoftmaxMean<T> y = mean_in_chunks(softmax_finish(s), x, v, chunk, slack);
  return {at(Site::statistic, y.lse), at(Site::output, y.o)};
}

template <class T>
Matrix<T> online_softmax_vjp_x(const Matrix<T>& x, const Matrix<T>& v, const SoftmaxMean<T>& y, const Matrix<T>& dout,
                               const Vector<T>& dlse) {
  //  p_i = exp(x_i - LSE)      dx_i = p_i (<do, v_i> - <do, o> + dLSE)
  const Matrix<T> p = select_rows(!is_neg_inf(y.lse), exp(sub_rows(x, y.lse)), 0);       // [T, n]
  return p * add_rows(sub_rows(matmul(dout, transpose(v)), dot_rows(dout, y.o)), dlse);  // [T, n]
}

template <class T>
Matrix<T> online_softmax_vjp_v(const Matrix<T>& x, const SoftmaxMean<T>& y, const Matrix<T>& dout) {
  //  dv_i = sum_t p_ti do_t
  const Matrix<T> p = select_rows(!is_neg_inf(y.lse), exp(sub_rows(x, y.lse)), 0);  // [T, n]
  return matmul(transpose(p), dout);                                                // [n, d]
}

#define ASSAY_INSTANTIATE(T)                                                                                           \
  template SoftmaxState<T> softmax_nothing(Index, Index);                                                              \
  template SoftmaxState<T> softmax_step(const SoftmaxState<T>&, const Matrix<T>&, const Matrix<T>&, double);           \
  template SoftmaxMean<T> online_softmax(const Matrix<T>&, const Matrix<T>&, const OnlineSoftmaxOptions&);             \
  template Matrix<T> online_softmax_vjp_x(const Matrix<T>&, const Matrix<T>&, const SoftmaxMean<T>&, const Matrix<T>&, \
                                          const Vector<T>&);                                                           \
  template Matrix<T> online_softmax_vjp_v(const Matrix<T>&, const SoftmaxMean<T>&, const Matrix<T>&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

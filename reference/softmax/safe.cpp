#include "reference/softmax/safe.hpp"

#include <utility>

namespace assay {
namespace {

/// p in a row of n that has no entry, by option empty_row.
template <class T>
Vector<T> empty_p(SoftmaxOptions::EmptyRow choice, Index rows, Index n) {
  if (choice == SoftmaxOptions::EmptyRow::zero) return full<T>(rows, 0);
  if (choice == SoftmaxOptions::EmptyRow::nan) return full<T>(rows, not_a_number);
  return full<T>(rows, 1) / full<T>(rows, static_cast<double>(n));
}

}  // namespace

template <class T>
Softmax<T> softmax_safe(const Matrix<T>& x, const Mask& keep, const Vector<T>& sink, const SoftmaxOptions& opt) {
  require_shape("sink", shape(sink), {x.rows()});
  //  m = max_j x_j   over kept entries, and the sink
  const Matrix<T> kept = select(keep, x, -infinity);  // [T, n]
  const Vector<T> top = max(max_rows(kept), sink);    // [T]
  const Vector<T> m = anchor(top);                    // [T]
  //  e_i = exp(x_i - m)   0 where masked
  Matrix<T> centred = sub_rows(kept, m);  // [T, n]
  Matrix<T> e = exp(centred);             // [T, n]
  //  l = sum_j e_j + exp(g - m)
  const Vector<T> s = sum_rows(e);        // [T]
  const Vector<T> l = s + exp(sink - m);  // [T]
  //  p_i = e_i / l      log_p_i = (x_i - m) - ln l      LSE = m + ln sum_j e_j
  const Matrix<T> p = div_rows(at(Site::probabilities, std::move(e)), l);                         // [T, n]
  const Matrix<T> log_p = sub_rows(at(Site::probabilities, std::move(centred)), log(l));          // [T, n]
  const Vector<T> lse = opt.sink == SoftmaxOptions::Sink::none ? m + log(s) : log_sum_exp(kept);  // [T]
  //  rows without an entry, by convention
  const RowMask some = !is_neg_inf(top);                                 // [T]
  const Vector<T> none = empty_p<T>(opt.empty_row, x.rows(), x.cols());  // [T]
  return {at(Site::output, select_rows(some, p, none)), at(Site::output, select_rows(some, log_p, log(none))),
          at(Site::statistic, lse)};
}

template <class T>
Vector<T> log_sum_exp(const Matrix<T>& x) {
  //  LSE = m + ln sum_j exp(x_j - m)
  const Vector<T> m = anchor(max_rows(x));        // [T]
  return m + log(sum_rows(exp(sub_rows(x, m))));  // [T]
}

template <class T>
Matrix<T> softmax_vjp(const Matrix<T>& p, const Matrix<T>& dp) {
  //  dx = p (dp - <p, dp>)
  return p * sub_rows(dp, dot_rows(p, dp));  // [T, n]
}

template <class T>
Vector<T> softmax_sink_vjp(const Matrix<T>& p, const Vector<T>& p_sink, const Matrix<T>& dp) {
  //  dg = -p_g <p, dp>
  return -1.0 * (p_sink * dot_rows(p, dp));  // [T]
}

template <class T>
Matrix<T> log_softmax_vjp(const Matrix<T>& p, const Matrix<T>& dlog_p) {
  //  dx = dy - p sum(dy)
  return dlog_p - scale_rows(p, sum_rows(dlog_p));  // [T, n]
}

template <class T>
Matrix<T> lse_vjp(const Matrix<T>& p, const Vector<T>& dlse) {
  //  dx = p dLSE
  return scale_rows(p, dlse);  // [T, n]
}

#define ASSAY_INSTANTIATE(T)                                                                                \
  template Softmax<T> softmax_safe(const Matrix<T>&, const Mask&, const Vector<T>&, const SoftmaxOptions&); \
  template Vector<T> log_sum_exp(const Matrix<T>&);                                                         \
  template Matrix<T> softmax_vjp(const Matrix<T>&, const Matrix<T>&);                                       \
  template Vector<T> softmax_sink_vjp(const Matrix<T>&, const Vector<T>&, const Matrix<T>&);                \
  template Matrix<T> log_softmax_vjp(const Matrix<T>&, const Matrix<T>&);                                   \
  template Matrix<T> lse_vjp(const Matrix<T>&, const Vector<T>&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/softmax/merge.hpp"

namespace assay {

template <class T>
SoftmaxState<T> softmax_merge(const SoftmaxState<T>& a, const SoftmaxState<T>& b) {
  //  m = max(m_1, m_2)      a_i = exp(m_i - m)   0 where m_i = -inf
  const Vector<T> m = stale(a.m, max(a.m, b.m), 0);                      // [T]
  const Vector<T> a1 = exp(a.m - anchor(m)), a2 = exp(b.m - anchor(m));  // [T]
  //  l = a_1 l_1 + a_2 l_2      o = a_1 o_1 + a_2 o_2
  return {m, a1 * a.l + a2 * b.l, scale_rows(a.o, a1) + scale_rows(b.o, a2)};
}

template <class T>
SoftmaxMean<T> softmax_merge(const SoftmaxMean<T>& a, const SoftmaxMean<T>& b) {
  //  LSE = m + ln(exp(LSE_1 - m) + exp(LSE_2 - m))      m = max(LSE_1, LSE_2)
  const Vector<T> m = anchor(max(a.lse, b.lse));                   // [T]
  const Vector<T> lse = m + log(exp(a.lse - m) + exp(b.lse - m));  // [T]
  //  o = exp(LSE_1 - LSE) o_1 + exp(LSE_2 - LSE) o_2   an empty part has no share, whatever its o holds
  const Matrix<T> share1 = select_rows(!is_neg_inf(a.lse), scale_rows(a.o, exp(a.lse - lse)), 0);  // [T, d]
  const Matrix<T> share2 = select_rows(!is_neg_inf(b.lse), scale_rows(b.o, exp(b.lse - lse)), 0);  // [T, d]
  return {lse, share1 + share2};
}

template <class T>
SoftmaxMean<T> softmax_finish(const SoftmaxState<T>& s) {
  //  LSE = m + ln l      o / l   0 where m = -inf
  return {anchor(s.m) + log(s.l), select_rows(!is_neg_inf(s.m), div_rows(s.o, s.l), 0)};
}

#define ASSAY_INSTANTIATE(T)                                                              \
  template SoftmaxState<T> softmax_merge(const SoftmaxState<T>&, const SoftmaxState<T>&); \
  template SoftmaxMean<T> softmax_merge(const SoftmaxMean<T>&, const SoftmaxMean<T>&);    \
  template SoftmaxMean<T> softmax_finish(const SoftmaxState<T>&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

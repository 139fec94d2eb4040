#include "reference/attention/lse_merge.hpp"

namespace assay {
namespace {

/// exp of a row's part against the shift, and 0 where the part has no key: selected, as its o may hold anything.
template <class T>
Matrix<T> share(const SoftmaxMean<T>& part, const Vector<T>& weight) {
  return select_rows(!is_neg_inf(part.lse), scale_rows(part.o, weight), 0);
}

template <class T>
Vector<T> exp2_of(const Vector<T>& x) {
  return exp2(as_col(x)).col(0);
}

}  // namespace

template <class T>
SoftmaxMean<T> merge_parts(const std::vector<SoftmaxMean<T>>& parts, Index rows, Index d) {
  //  M = max_k L_k
  Vector<T> top = full<T>(rows, -infinity);  // [T]
  for (const SoftmaxMean<T>& part : parts) top = max(top, part.lse);
  const Vector<T> M = anchor(top);  // [T]
  //  w = sum_k exp(L_k - M)      sum_k exp(L_k - M) O_k
  Vector<T> w = full<T>(rows, 0);       // [T]
  Matrix<T> sum = full<T>(rows, d, 0);  // [T, d]
  for (const SoftmaxMean<T>& part : parts) {
    const Vector<T> weight = exp(part.lse - M);  // [T]
    w = w + weight;
    sum = sum + share(part, weight);
  }
  //  L = M + ln w      O = sum / w   -inf and 0 where no part has a key
  return {M + log(w), select_rows(!is_neg_inf(top), div_rows(sum, w), 0)};
}

template <class T>
SoftmaxMean<T> merge_by_sigmoid(const SoftmaxMean<T>& a, const SoftmaxMean<T>& b) {
  //  x = L_2 - L_1      ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), which does not overflow
  const Vector<T> x = b.lse - a.lse, size = max(x, -1.0 * x);                         // [T]
  const Vector<T> soft = max(x, full<T>(x.size(), 0)) + log(1.0 + exp(-1.0 * size));  // [T]
  //  sigma(x) = e^(x - ln(1 + e^x))      L = L_1 + ln(1 + e^x)      O = O_1 - sigma(x) (O_1 - O_2)
  const Vector<T> sigma = exp(x - soft);  // [T]
  return {a.lse + soft, a.o - scale_rows(a.o - b.o, sigma)};
}

template <class T>
Vector<T> log2_e(Index n) {
  return full<T>(n, 1) / log(full<T>(n, 2));
}

template <class T>
SoftmaxMean<T> merge_base2(const SoftmaxMean<T>& a, const SoftmaxMean<T>& b) {
  //  M = max(L_1, L_2)      w_k = 2^(L_k - M)      w = w_1 + w_2
  const Vector<T> top = max(a.lse, b.lse), M = anchor(top);                       // [T]
  const Vector<T> w1 = exp2_of(a.lse - M), w2 = exp2_of(b.lse - M), w = w1 + w2;  // [T]
  //  L = M + log2 w      O = (w_1 O_1 + w_2 O_2) / w
  const Matrix<T> sum = share(a, w1) + share(b, w2);  // [T, d]
  return {M + log(w) * log2_e<T>(w.size()), select_rows(!is_neg_inf(top), div_rows(sum, w), 0)};
}

#define ASSAY_INSTANTIATE(T)                                                              \
  template SoftmaxMean<T> merge_parts(const std::vector<SoftmaxMean<T>>&, Index, Index);  \
  template SoftmaxMean<T> merge_by_sigmoid(const SoftmaxMean<T>&, const SoftmaxMean<T>&); \
  template SoftmaxMean<T> merge_base2(const SoftmaxMean<T>&, const SoftmaxMean<T>&);      \
  template Vector<T> log2_e(Index);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/attention/online.hpp"

#include "reference/softmax/online.hpp"

namespace assay {

template <class T>
Vector<T> next_shift(const Vector<T>& used, const Matrix<T>& x, const ShiftRule& rule) {
  const Vector<T> top = max_rows(x);  // [Sq]
  switch (rule.kind) {
    case ShiftRule::Kind::running_max:
      //  m' = max(m, max_j s_j)
      return stale(used, max(used, top), 0);
    case ShiftRule::Kind::stale_max:
      //  m' = m while max_j s_j <= m + by, else max_j s_j
      return stale(used, max(used, top), rule.by);
    case ShiftRule::Kind::max_plus:
      //  m' = max(m, max_j s_j + by)
      return stale(used, max(used, rule.by + top), 0);
    case ShiftRule::Kind::fixed:
      break;
  }
  //  m' = by   -inf while nothing has been seen
  return select(!is_neg_inf(max(used, top)), full<T>(top.size(), rule.by), -infinity);
}

template <class T>
AttentionState<T> attention_step(const AttentionState<T>& s, const Matrix<T>& x, const Matrix<T>& v,
                                 const Vector<T>& shift) {
  //  alpha = exp(m - m')   0 where m = -inf      p_j = exp(s_j - m')
  const Vector<T> alpha = exp(s.m - anchor(shift));     // [Sq]
  const Matrix<T> p = exp(sub_rows(x, anchor(shift)));  // [Sq, c]
  //  l' = alpha l + sum_j p_j      a' = alpha a + sum_j p_j v_j
  return {shift, alpha * s.l + sum_rows(p), scale_rows(s.o, alpha) + matmul(p, v)};
}

template <class T>
std::vector<AttentionState<T>> attention_states(const SeenLogits<T>& in, const Chunks& chunks, const ShiftRule& rule) {
  require_shape("v", shape(in.v), {in.x.cols(), in.v.cols()});
  //  m, l, a = -inf, 0, 0
  std::vector<AttentionState<T>> states{softmax_nothing<T>(in.x.rows(), in.v.cols())};
  for (const std::vector<Index>& keys : chunks) {
    const AttentionState<T>& before = states.back();
    const Matrix<T> x = take_cols(in.x, keys);  // [Sq, c]
    states.push_back(attention_step(before, x, take_rows(in.v, keys), next_shift(before.m, x, rule)));
  }
  return states;
}

template <class T>
Attention<T> attention_online(const SeenLogits<T>& in, const Chunks& chunks, const ShiftRule& rule) {
  //  O = a / l      L = m + ln l      0 and -inf where nothing was seen
  const SoftmaxMean<T> y = softmax_finish(attention_states(in, chunks, rule).back());
  return {at(Site::output, y.o), at(Site::statistic, y.lse)};
}

#define ASSAY_INSTANTIATE(T)                                                                                       \
  template Vector<T> next_shift(const Vector<T>&, const Matrix<T>&, const ShiftRule&);                             \
  template AttentionState<T> attention_step(const AttentionState<T>&, const Matrix<T>&, const Matrix<T>&,          \
                                            const Vector<T>&);                                                     \
  template std::vector<AttentionState<T>> attention_states(const SeenLogits<T>&, const Chunks&, const ShiftRule&); \
  template Attention<T> attention_online(const SeenLogits<T>&, const Chunks&, const ShiftRule&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

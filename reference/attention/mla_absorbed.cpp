#include "reference/attention/mla_absorbed.hpp"

namespace assay {

template <class T>
Matrix<T> mla_absorb(const Matrix<T>& q_nope, const Matrix<T>& w_uk, const MlaDecodeOptions& opt) {
  //  q~_i = q_nope_i W_UKᵀ
  return held(matmul(q_nope, transpose(w_uk)), opt);  // [Sq, dc]
}

template <class T>
Attention<T> mla_absorbed(const MlaHead<T>& head, const MlaDecodeOptions& opt) {
  const Matrix<T> q = concat_cols(mla_absorb(head.q_nope, head.w_uk, opt), head.q_rope);  // [Sq, dc + dr]
  const Matrix<T> k = concat_cols(head.c, head.k_rope);                                   // [Sk, dc + dr]
  //  s_ij = scale ( q~_i c_j + q_rope_i k_rope_j )   the scale is that of the expanded width dn + dr
  const T scale = mla_scale<T>(head.q_nope.cols(), head.q_rope.cols(), opt);
  const Matrix<T> s = scale_rows(matmul(q, transpose(k)), Vector<T>(q.rows(), scale));  // [Sq, Sk]
  //  o~_i = sum_j p_ij c_j      L_i = ln sum_j exp(s_ij)      j in V(i)
  const SoftmaxMean<T> y = softmax_mean(s, head.c, head.keep, Vector<T>());  // [Sq, dc]
  //  o_i = o~_i W_UV
  return {at(Site::output, matmul(held(y.o, opt), head.w_uv)), at(Site::statistic, y.lse)};  // [Sq, dvh]
}

#define ASSAY_INSTANTIATE(T)                                                                  \
  template Matrix<T> mla_absorb(const Matrix<T>&, const Matrix<T>&, const MlaDecodeOptions&); \
  template Attention<T> mla_absorbed(const MlaHead<T>&, const MlaDecodeOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

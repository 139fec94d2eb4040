#include "reference/attention/sink_logit.hpp"

namespace assay {

template <class T>
Attention<T> with_sink(const Attention<T>& plain, const Vector<T>& sink) {
  //  O_i / (1 + exp(sigma_i - L_i))     where nothing is seen, L_i = -inf and O_i = 0
  const Vector<T> L = select(!is_neg_inf(plain.lse), plain.lse, 0);  // [Sq]
  return {div_rows(plain.o, 1.0 + exp(sink - L)), plain.lse};        // [Sq, dv]
}

template <class T>
Vector<T> mass_of_keys(const Vector<T>& lse_incl, const Vector<T>& sink) {
  //  sum_j p_ij = 1 - exp(sigma_i - L_incl,i)
  return 1.0 + -1.0 * exp(sink - lse_incl);
}

template <class T>
Attention<T> sink_state(const Vector<T>& sink, Index dv) {
  return {full<T>(sink.size(), dv, 0), sink};
}

template <class T>
SinkVjp<T> sink_vjp(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Mask& keep, const Matrix<T>& bias,
                    const Vector<T>& sink, const Matrix<T>& d_o, const Vector<T>& d_lse, const AttentionOptions& opt) {
  const bool included = opt.lse_of_sink == AttentionOptions::LseOfSink::included;
  AttentionOptions with = opt, without = opt;
  with.lse_of_sink = AttentionOptions::LseOfSink::included;
  without.lse_of_sink = AttentionOptions::LseOfSink::excluded;
  const Attention<T> y = attention(q, k, v, keep, bias, sink, with);
  const Matrix<T> s = attention_logits(q, k, bias, opt);  // [Sq, Sk]
  //  P_ij = exp(s_ij - L_incl,i)      p_sink,i = exp(sigma_i - L_incl,i)
  const Matrix<T> p = attention_weights(s, keep, y.lse);  // [Sq, Sk]
  const Vector<T> p_sink = exp(sink - y.lse);             // [Sq]
  //  D_i = sum_c dO_ic O_ic      less dL_i where L is L_incl
  const Vector<T> D = included ? dot_rows(d_o, y.o) - d_lse : dot_rows(d_o, y.o);  // [Sq]
  //  dS_ij = P_ij (dO_i v_j - D_i)   0 where masked      and exp(s_ij - L_excl,i) dL_i where L is L_excl
  Matrix<T> ds = p * select(keep, sub_rows(matmul(d_o, transpose(v)), D), 0);  // [Sq, Sk]
  if (!included) {
    const Vector<T> lse = attention(q, k, v, keep, bias, sink, without).lse;  // [Sq]
    ds = ds + scale_rows(attention_weights(s, keep, lse), d_lse);
  }
  //  dsigma_i = -p_sink,i D_i
  return {attention_vjp_of_logits(q, k, keep, p, ds, d_o, opt), -1.0 * (p_sink * D)};
}

#define ASSAY_INSTANTIATE(T)                                                                                        \
  template Attention<T> with_sink(const Attention<T>&, const Vector<T>&);                                           \
  template Vector<T> mass_of_keys(const Vector<T>&, const Vector<T>&);                                              \
  template Attention<T> sink_state(const Vector<T>&, Index);                                                        \
  template SinkVjp<T> sink_vjp(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Mask&, const Matrix<T>&, \
                               const Vector<T>&, const Matrix<T>&, const Vector<T>&, const AttentionOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

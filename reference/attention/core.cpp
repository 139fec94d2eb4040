#include "reference/attention/core.hpp"

#include "reference/attention/softcap.hpp"
#include "reference/core/lift.hpp"

namespace assay {

Mask visible(Index first, Index rows, Index Sq, Index Sk, const AttentionOptions& opt) {
  const auto window = static_cast<Index>(opt.window);
  if (window == 0 || window < -1 || static_cast<double>(window) != opt.window)
    throw Error("attention: no such window", "a number of keys from 1, or -1 for all", std::to_string(opt.window));
  if (opt.causal == AttentionOptions::Causal::none && window < 0) return {};
  const Index off = opt.causal == AttentionOptions::Causal::top_left ? 0 : Sk - Sq;
  Mask keep(rows, Sk);
  for (Index i = 0; i < rows; ++i) {
    const Index t = first + i + off;
    //  V(i) = { j : t - W < j <= t }
    for (Index j = 0; j < Sk; ++j)
      keep(i, j) = (opt.causal == AttentionOptions::Causal::none || j <= t) && (window < 0 || j > t - window);
  }
  return keep;
}

Mask both(const Mask& x, const Mask& y) {
  if (x.data() == nullptr) return y;
  if (y.data() == nullptr) return x;
  require_shape("mask", {y.rows(), y.cols()}, {x.rows(), x.cols()});
  Mask z(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) && y(i, j);
  return z;
}

template <class T>
Vector<T> attention_scale(Index n, Index d, double given) {
  //  scale = 1 / sqrt(d)
  return given == 0 ? full<T>(n, 1) / sqrt(full<T>(n, static_cast<double>(d))) : full<T>(n, given);  // [n]
}

template <class T>
Matrix<T> attention_logits(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& bias, const AttentionOptions& opt) {
  //  s_ij = cap(scale q_i k_j) + bias_ij      cap(x) = C tanh(x / C)
  const Vector<T> scale = attention_scale<T>(q.rows(), q.cols(), opt.scale);             // [Sq]
  const Matrix<T> s = softcap(scale_rows(matmul(q, transpose(k)), scale), opt.softcap);  // [Sq, Sk]
  return bias.data() == nullptr ? s : s + bias;
}

template <class T>
Matrix<T> attention_weights(const Matrix<T>& s, const Mask& keep, const Vector<T>& lse) {
  //  P_ij = exp(s_ij - L_i)   0 where masked, and in rows that see nothing
  const Vector<T> L = select(!is_neg_inf(lse), lse, 0);  // [Sq]
  return exp(sub_rows(select(keep, s, -infinity), L));   // [Sq, Sk]
}

template <class T>
Vector<T> lse_with_sink(const Vector<T>& lse, const Vector<T>& sink) {
  //  L_incl = ln ( exp(L_excl) + exp(sink) )
  const Vector<T> m = anchor(max(lse, sink));    // [n]
  return m + log(exp(lse - m) + exp(sink - m));  // [n]
}

template <class T>
Attention<T> attention(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Mask& keep,
                       const Matrix<T>& bias, const Vector<T>& sink, const AttentionOptions& opt) {
  const Matrix<T> s = attention_logits(q, k, bias, opt);  // [Sq, Sk]
  //  p_ij = exp(s_ij) / sum_j exp(s_ij)   j in V(i)      O_i = sum_j p_ij v_j      L_i = ln sum_j exp(s_ij)
  const SoftmaxMean<T> y = softmax_mean(at(Site::scores, s), v, keep, sink);
  if (sink.data() == nullptr || opt.lse_of_sink == AttentionOptions::LseOfSink::excluded)
    return {at(Site::output, y.o), at(Site::statistic, y.lse)};
  return {at(Site::output, y.o), at(Site::statistic, lse_with_sink(y.lse, sink))};
}

template <class T>
AttentionVjp<T> attention_vjp_of_logits(const Matrix<T>& q, const Matrix<T>& k, const Mask& keep, const Matrix<T>& p,
                                        const Matrix<T>& ds, const Matrix<T>& d_o, const AttentionOptions& opt) {
  //  dQ_i = scale sum_j dS_ij k_j      dK_j = scale sum_i dS_ij q_i      dV_j = sum_i P_ij dO_i      j in V(i)
  const auto scaled = [&](const Matrix<T>& x) {
    return scale_rows(x, attention_scale<T>(x.rows(), q.cols(), opt.scale));
  };
  //  dx_ij = dS_ij (1 - (s'_ij / C)^2)      in place of dS_ij where there is a cap
  AttentionOptions uncapped = opt;
  uncapped.softcap = 0;
  const Matrix<T> dx =
      opt.softcap == 0 ? ds : softcap_vjp(ds, attention_logits(q, k, Matrix<T>(), uncapped), opt.softcap);  // [Sq, Sk]
  const Mask seen_by = transpose(keep);                                                                     // [Sk, Sq]
  return {scaled(matmul(keep, dx, k)), scaled(matmul(seen_by, transpose(dx), q)), matmul(seen_by, transpose(p), d_o),
          ds};
}

template <class T>
AttentionVjp<T> attention_vjp(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Mask& keep,
                              const Matrix<T>& bias, const Matrix<T>& d_o, const Vector<T>& d_lse,
                              const AttentionOptions& opt) {
  const Matrix<T> s = attention_logits(q, k, bias, opt);  // [Sq, Sk]
  const SoftmaxMean<T> y = softmax_mean(s, v, keep, Vector<T>());
  //  P_ij = exp(s_ij - L_i)   0 where masked
  const Matrix<T> p = attention_weights(s, keep, y.lse);  // [Sq, Sk]
  //  D_i = sum_c dO_ic O_ic - dL_i      dP_ij = dO_i v_j      dS_ij = P_ij (dP_ij - D_i)   0 where masked
  const Vector<T> D = dot_rows(d_o, y.o) - d_lse;                                    // [Sq]
  const Matrix<T> ds = p * select(keep, sub_rows(matmul(d_o, transpose(v)), D), 0);  // [Sq, Sk]
  return attention_vjp_of_logits(q, k, keep, p, ds, d_o, opt);
}

template <class T>
AttentionOutputs<T> attention(const AttentionInputs<T>& in, const AttentionOptions& opt) {
  const Shape &q = in.q.shape(), &k = in.k.shape(), &v = in.v.shape();
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    throw Error("attention: tensors of the wrong rank", "q, k, v [B, S, heads, width]",
                to_string(q) + ", " + to_string(k) + ", " + to_string(v));
  const Index B = q[0], Sq = q[1], H = q[2], d = q[3], Sk = k[1], Hkv = k[2], dv = v[3];
  require_shape("k", k, {B, Sk, Hkv, d});
  require_shape("v", v, {B, Sk, Hkv, dv});
  if (in.mask.data() != nullptr) require_shape("mask", in.mask.shape(), {B, Sq, Sk});
  if (in.bias.data() != nullptr) require_shape("bias", in.bias.shape(), {H, Sq, Sk});
  if (in.sink.data() != nullptr) require_shape("sink", shape(in.sink), {H});
  kv_head(0, H, Hkv);  // refuses heads that cannot be grouped, also where there is nothing to do
  const AttentionOutputs<T> out{Tensor<T>::uninitialised({B, Sq, H, dv}), Tensor<T>::uninitialised({B, H, Sq})};
  visible(0, 0, Sq, Sk, opt);
  if (!(opt.softcap >= 0))
    throw Error("attention: no such softcap", "0 (off) or positive", std::to_string(opt.softcap));
  const Tensor<T> qh = swap_dims(in.q, 1, 2), kh = swap_dims(in.k, 1, 2), vh = swap_dims(in.v, 1, 2);
  const Tensor<T> oh = swap_dims(out.o, 1, 2);
  lift({B, H}, Sq, 64, [&](const Shape& at, Index first, Index last) {
    const Index b = at[0], h = at[1], rows = last - first;
    const Shape kv{b, kv_head(h, H, Hkv)};
    Mask keep = visible(first, rows, Sq, Sk, opt);
    if (in.mask.data() != nullptr) keep = both(at_lead(in.mask, {b}).row_range(first, last), keep);
    const Matrix<T> bias = in.bias.data() == nullptr ? Matrix<T>() : at_lead(in.bias, {h}).row_range(first, last);
    const Vector<T> sink = in.sink.data() == nullptr ? Vector<T>() : Vector<T>(rows, in.sink[h]);
    const Attention<T> y =
        attention(at_lead(qh, at).row_range(first, last), at_lead(kh, kv), at_lead(vh, kv), keep, bias, sink, opt);
    Matrix<T> o = at_lead(oh, at);
    T* const lse = out.lse.data() + (b * H + h) * Sq;
    for (Index i = 0; i < rows; ++i) {
      for (Index c = 0; c < dv; ++c) o(first + i, c) = y.o(i, c);
      lse[first + i] = y.lse[i];
    }
  });
  return out;
}

#define ASSAY_INSTANTIATE(T)                                                                                           \
  template Vector<T> attention_scale(Index, Index, double);                                                            \
  template Matrix<T> attention_logits(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const AttentionOptions&);  \
  template Vector<T> lse_with_sink(const Vector<T>&, const Vector<T>&);                                                \
  template Matrix<T> attention_weights(const Matrix<T>&, const Mask&, const Vector<T>&);                               \
  template Attention<T> attention(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Mask&, const Matrix<T>&, \
                                  const Vector<T>&, const AttentionOptions&);                                          \
  template AttentionVjp<T> attention_vjp(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Mask&,            \
                                         const Matrix<T>&, const Matrix<T>&, const Vector<T>&,                         \
                                         const AttentionOptions&);                                                     \
  template AttentionVjp<T> attention_vjp_of_logits(const Matrix<T>&, const Matrix<T>&, const Mask&, const Matrix<T>&,  \
                                                   const Matrix<T>&, const Matrix<T>&, const AttentionOptions&);       \
  template AttentionOutputs<T> attention(const AttentionInputs<T>&, const AttentionOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/attention/flash_bwd.hpp"

namespace assay {
namespace {

using Options = AttentionBackwardOptions;

/// Scale and cap, as the forward pass has them.
AttentionOptions of_logits(const Options& opt) {
  AttentionOptions logits;
  logits.scale = opt.scale;
  logits.softcap = opt.softcap;
  return logits;
}

bool lse_has_sink(const Options& opt) { return opt.lse_of_sink == Options::LseOfSink::included; }

/// P_ij = 2^(log2e s_ij - log2e L_i), 0 where not kept and in rows that are empty
template <class T>
Matrix<T> weights(const Matrix<T>& s, const AttentionStack<T>& x, const Vector<T>& L) {
  const Index n = s.rows();
  const RowMask some = !is_neg_inf(x.lse);
  const Vector<T> log2e = full<T>(n, 1) / log(full<T>(n, 2));
  const Vector<T> shift = log2e * select(!is_neg_inf(L), L, 0);                                // [n]
  const Matrix<T> p = exp2(select(x.keep, sub_rows(scale_rows(s, log2e), shift), -infinity));  // [n, Sk]
  return select_rows(some, p, 0);
}

/// x_ij z_ij / (1 - p)
template <class T>
Matrix<T> dropped(const Matrix<T>& x, const Mask& z, const Options& opt) {
  if (opt.dropout == Options::Dropout::none) return x;
  const Vector<T> one = full<T>(x.rows(), 1);
  return scale_rows(select(z, x, 0), one / (one - full<T>(x.rows(), opt.p_drop)));
}

}  // namespace

template <class T>
Attention<T> attention_stacked(const AttentionStack<T>& x, const Options& opt) {
  const Matrix<T> s = attention_logits(x.q, x.k, x.bias, of_logits(opt));  // [n, Sk]
  SoftmaxMean<T> y = softmax_mean(s, x.v, x.keep, x.sink);
  const bool sink = x.sink.data() != nullptr;
  const Vector<T> L = sink ? lse_with_sink(y.lse, x.sink) : y.lse;
  if (opt.dropout == Options::Dropout::given) {
    AttentionStack<T> given = x;
    given.lse = y.lse;
    //  O_i = sum_j P_ij z_ij / (1 - p) v_j
    y.o = matmul(dropped(weights(s, given, L), x.z, opt), x.v);
  }
  return {y.o, sink && lse_has_sink(opt) ? L : y.lse};
}

template <class T>
AttentionGradients<T> attention_backward(const AttentionStack<T>& x, const Options& opt) {
  const Matrix<T> s = attention_logits(x.q, x.k, x.bias, of_logits(opt));  // [n, Sk]
  const bool sink = x.sink.data() != nullptr, gradient_of_lse = x.d_lse.data() != nullptr;
  const bool excluded = sink && !lse_has_sink(opt);
  const RowMask some = !is_neg_inf(x.lse);
  const Index n = x.q.rows();
  const Vector<T> L = excluded ? lse_with_sink(x.lse, x.sink) : x.lse;  // [n]
  const Matrix<T> p = weights(s, x, L);                                 // [n, Sk]
  //  dP_ij = dO_i v_j z_ij / (1 - p)      D_i = sum_c dO_ic O_ic, less dL_i
  const Matrix<T> dp = dropped(matmul(x.d_o, transpose(x.v)), x.z, opt);  // [n, Sk]
  Vector<T> D = dot_rows(x.d_o, x.o);                                     // [n]
  if (gradient_of_lse && !excluded) D = D - x.d_lse;
  //  less dL_i e^(L_incl - L_excl) where L leaves the sink out
  const Vector<T> share = gradient_of_lse && excluded ? x.d_lse * exp(L - select(some, x.lse, 0)) : full<T>(n, 0);
  //  G_ij = P_ij (dP_ij - D_i)
  Matrix<T> g = p * sub_rows(dp, gradient_of_lse && excluded ? D - share : D);  // [n, Sk]
  g = select_rows(some, select(x.keep, g, 0), 0);
  //  dS_ij = G_ij mod_ij
  //  dQ_i = scale sum_j dS_ij k_j      dK_j = scale sum_i dS_ij q_i      dV_j = sum_i P_ij z_ij / (1 - p) dO_i
  const AttentionVjp<T> d = attention_vjp_of_logits(x.q, x.k, x.keep, dropped(p, x.z, opt), g, x.d_o, of_logits(opt));
  //  dsink = - sum_i exp(sink - L_i) D_i
  const Vector<T> d_sink = sink ? -1.0 * (exp(x.sink - L) * D) : Vector<T>();  // [n]
  return {at(Site::output, d.dq), at(Site::output, d.dk), at(Site::output, d.dv), at(Site::output, g), d_sink};
}

#define ASSAY_INSTANTIATE(T)                                                         \
  template Attention<T> attention_stacked(const AttentionStack<T>&, const Options&); \
  template AttentionGradients<T> attention_backward(const AttentionStack<T>&, const Options&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

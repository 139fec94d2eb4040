#include "reference/attention/varlen.hpp"

#include "reference/core/lift.hpp"

namespace assay {
namespace {

/// Rows r of a packed tensor [total, heads, width] as a batch of one.
template <class T>
Tensor<T> of(const Tensor<T>& x, Rows r) {  // [1, rows, heads, width]
  const Shape &n = x.shape(), &at = x.strides();
  return {x.storage(), x.data() + r.first * at[0], {1, r.last - r.first, n[1], n[2]}, {0, at[0], at[1], at[2]}};
}

void require_max(const char* name, double most, Rows r) {
  if (most != 0 && static_cast<double>(r.last - r.first) > most)
    throw Error(std::string(name) + " is below the length of a sequence",
                "at least " + std::to_string(r.last - r.first), std::to_string(most));
}

}  // namespace

template <class T>
AttentionOutputs<T> attention_varlen(const VarlenInputs<T>& in, const AttentionVarlenOptions& opt) {
  const Shape &qs = in.q.shape(), &ks = in.k.shape(), &vs = in.v.shape();
  if (qs.size() != 3 || ks.size() != 3 || vs.size() != 3)
    throw Error("attention_varlen: tensors of the wrong rank", "q, k, v [T, heads, width]",
                to_string(qs) + ", " + to_string(ks) + ", " + to_string(vs));
  const Index Tq = qs[0], H = qs[1], d = qs[2], Tk = ks[0], Hkv = ks[1], dv = vs[2], n = in.cu_q.size() - 1;
  require_shape("k", ks, {Tk, Hkv, d});
  require_shape("v", vs, {Tk, Hkv, dv});
  require_shape("cu_k", shape(in.cu_k), {n + 1});
  if (n < 1) throw Error("attention_varlen: no sequence", "cu_q [n + 1], n >= 1", std::to_string(in.cu_q.size()));
  kv_head(0, H, Hkv);

  AttentionOptions one;
  one.causal = opt.causal == AttentionVarlenOptions::Causal::none ? AttentionOptions::Causal::none
                                                                  : AttentionOptions::Causal::bottom_right;
  one.scale = opt.scale;
  const AttentionOutputs<T> out{Tensor<T>::uninitialised({Tq, H, dv}), Tensor<T>::uninitialised({H, Tq})};
  for (Index r = 0; r < n; ++r) {  // all of them before any is used
    require_max("max_q", opt.max_q, packed_rows(in.cu_q, r, Tq));
    require_max("max_k", opt.max_k, packed_rows(in.cu_k, r, Tk));
  }
  for (Index r = 0; r < n; ++r) {
    const Rows rq = packed_rows(in.cu_q, r, Tq), rk = packed_rows(in.cu_k, r, Tk);
    //  O_r, L_r = attention(q_r, k_r, v_r)
    const AttentionOutputs<T> y =
        attention(AttentionInputs<T>{of(in.q, rq), of(in.k, rk), of(in.v, rk), {}, {}, {}}, one);
    y.o.copy_to(out.o.data() + rq.first * H * dv);
    const Index rows = rq.last - rq.first;
    for (Index h = 0; h < H; ++h)
      for (Index i = 0; i < rows; ++i) out.lse.data()[h * Tq + rq.first + i] = y.lse.at_flat(h * rows + i);
  }
  return out;
}

#define ASSAY_INSTANTIATE(T) \
  template AttentionOutputs<T> attention_varlen(const VarlenInputs<T>&, const AttentionVarlenOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

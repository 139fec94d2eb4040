// The backward pass over batch and heads: stacks of the query heads that share a key-value head.
#include "reference/attention/flash_bwd.hpp"
#include "reference/core/lift.hpp"

namespace assay {
namespace {

using Options = AttentionBackwardOptions;

template <class T>
void check_shapes(const AttentionBackwardInputs<T>& in, const Options& opt) {
  const Shape &q = in.q.shape(), &k = in.k.shape(), &v = in.v.shape();
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    throw Error("attention_backward: tensors of the wrong rank", "q, k, v [B, S, heads, width]",
                to_string(q) + ", " + to_string(k) + ", " + to_string(v));
  const Index B = q[0], Sq = q[1], H = q[2], Sk = k[1], Hkv = k[2], dv = v[3];
  require_shape("k", k, {B, Sk, Hkv, q[3]});
  require_shape("v", v, {B, Sk, Hkv, dv});
  require_shape("o", in.o.shape(), {B, Sq, H, dv});
  require_shape("d_o", in.d_o.shape(), {B, Sq, H, dv});
  require_shape("lse", in.lse.shape(), {B, H, Sq});
  if (in.d_lse.data() != nullptr) require_shape("d_lse", in.d_lse.shape(), {B, H, Sq});
  if (in.mask.data() != nullptr) require_shape("mask", in.mask.shape(), {B, Sq, Sk});
  if (in.bias.data() != nullptr) require_shape("bias", in.bias.shape(), {H, Sq, Sk});
  if (in.sink.data() != nullptr) require_shape("sink", shape(in.sink), {H});
  if (in.z.data() != nullptr) require_shape("z", in.z.shape(), {B, H, Sq, Sk});
  kv_head(0, H, Hkv);  // refuses heads that cannot be grouped
  if (!(opt.softcap >= 0))
    throw Error("attention_backward: no such softcap", "0 or above", std::to_string(opt.softcap));
  if (!(opt.p_drop >= 0 && opt.p_drop < 1))
    throw Error("attention_backward: no such p_drop", "0 <= p_drop < 1", std::to_string(opt.p_drop));
}

AttentionOptions positions(const Options& opt) {
  AttentionOptions a;
  a.causal = static_cast<AttentionOptions::Causal>(opt.causal);
  a.window = opt.window;
  return a;
}

}  // namespace

template <class T>
AttentionStack<T> attention_stack(const AttentionBackwardInputs<T>& in, Index b, Index kv, const Options& opt) {
  const Index Sq = in.q.shape()[1], H = in.q.shape()[2], Sk = in.k.shape()[1], Hkv = in.k.shape()[2];
  const Index group = H / Hkv, n = group * Sq, d = in.q.shape()[3], dv = in.v.shape()[3];
  const auto heads = [](const Tensor<T>& x) { return swap_dims(x, 1, 2); };
  AttentionStack<T> x;
  x.q = Matrix<T>(n, d), x.o = Matrix<T>(n, dv), x.d_o = Matrix<T>(n, dv), x.lse = Vector<T>(n),
  x.keep = Mask(n, Sk, 1);
  x.k = at_lead(heads(in.k), {b, kv}), x.v = at_lead(heads(in.v), {b, kv});
  if (in.bias.data() != nullptr) x.bias = Matrix<T>(n, Sk);
  if (in.sink.data() != nullptr) x.sink = Vector<T>(n);
  if (in.d_lse.data() != nullptr) x.d_lse = Vector<T>(n);
  if (in.z.data() != nullptr) x.z = Mask(n, Sk);
  Mask seen = visible(0, Sq, Sq, Sk, positions(opt));
  if (in.mask.data() != nullptr) seen = both(at_lead(in.mask, {b}), seen);
  for (Index r = 0; r < group; ++r) {
    const Index h = kv * group + r, first = r * Sq;
    copy_rows(at_lead(heads(in.q), {b, h}), x.q.row_range(first, first + Sq));
    copy_rows(at_lead(heads(in.o), {b, h}), x.o.row_range(first, first + Sq));
    copy_rows(at_lead(heads(in.d_o), {b, h}), x.d_o.row_range(first, first + Sq));
    if (seen.data() != nullptr) copy_rows(seen, x.keep.row_range(first, first + Sq));
    if (in.bias.data() != nullptr) copy_rows(at_lead(in.bias, {h}), x.bias.row_range(first, first + Sq));
    if (in.z.data() != nullptr) copy_rows(at_lead(in.z, {b, h}), x.z.row_range(first, first + Sq));
    for (Index i = 0; i < Sq; ++i) {
      x.lse[first + i] = in.lse.at_flat((b * H + h) * Sq + i);
      if (in.d_lse.data() != nullptr) x.d_lse[first + i] = in.d_lse.at_flat((b * H + h) * Sq + i);
      if (in.sink.data() != nullptr) x.sink[first + i] = in.sink[h];
    }
  }
  return x;
}

template <class T>
AttentionBackwardOutputs<T> attention_backward(const AttentionBackwardInputs<T>& in, const Options& opt) {
  check_shapes(in, opt);
  const Index B = in.q.shape()[0], Sq = in.q.shape()[1], H = in.q.shape()[2];
  const Index Sk = in.k.shape()[1], Hkv = in.k.shape()[2], group = H / Hkv;
  visible(0, 0, Sq, Sk, positions(opt));
  AttentionBackwardOutputs<T> out;
  out.d_q = Tensor<T>(in.q.shape()), out.d_k = Tensor<T>(in.k.shape()), out.d_v = Tensor<T>(in.v.shape());
  out.d_bias = Tensor<T>(Shape{B, H, Sq, in.bias.data() == nullptr ? 0 : Sk});
  out.d_sink = Tensor<T>(Shape{B, H});
  const Tensor<T> qh = swap_dims(out.d_q, 1, 2), kh = swap_dims(out.d_k, 1, 2), vh = swap_dims(out.d_v, 1, 2);
  lift({B, Hkv}, 1, 1, [&](const Shape& lead, Index, Index) {
    const AttentionGradients<T> y = attention_backward(attention_stack(in, lead[0], lead[1], opt), opt);
    copy_rows(y.dk, at_lead(kh, lead));
    copy_rows(y.dv, at_lead(vh, lead));
    for (Index r = 0; r < group; ++r) {
      const Index h = lead[1] * group + r;
      copy_rows(y.dq.row_range(r * Sq, (r + 1) * Sq), at_lead(qh, {lead[0], h}));
      if (in.bias.data() != nullptr) copy_rows(y.g.row_range(r * Sq, (r + 1) * Sq), at_lead(out.d_bias, {lead[0], h}));
      if (in.sink.data() == nullptr) continue;
      Matrix<T> rows(1, Sq);
      for (Index i = 0; i < Sq; ++i) rows(0, i) = y.d_sink[r * Sq + i];
      out.d_sink.data()[lead[0] * H + h] = at(Site::output, sum_rows(rows))[0];
    }
  });
  return out;
}

#define ASSAY_INSTANTIATE(T)                                                                                   \
  template AttentionStack<T> attention_stack(const AttentionBackwardInputs<T>&, Index, Index, const Options&); \
  template AttentionBackwardOutputs<T> attention_backward(const AttentionBackwardInputs<T>&, const Options&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/attention/mla_storage.hpp"

#include "reference/attention/mla_absorbed.hpp"
#include "reference/attention/mla_cache.hpp"
#include "reference/core/lift.hpp"
#include "reference/norm/rms.hpp"

namespace assay {
namespace {

/// The same elements in row-major order, with other dimensions.
template <class T>
Tensor<T> reshape(const Tensor<T>& x, const Shape& to) {
  const Tensor<T> y = x.clone();
  return {y.storage(), y.data(), to, dense_strides(to)};
}

template <class T>
void check_shapes(const MlaInputs<T>& in, bool raw) {
  const Shape &c = in.c.shape(), &q = in.q_nope.shape(), &k = in.k_rope.shape(), &w = in.w_uv.shape();
  if (c.size() != 4 || q.size() != 4 || k.size() != 3 || w.size() != 3)
    throw Error("mla_decode: tensors of the wrong rank", "c [B, Sk, ng, gw], q_nope [B, Sq, H, dn], w_uv [dc, H, dvh]",
                to_string(c) + ", " + to_string(q) + ", " + to_string(w));
  const Index dc = c[2] * c[3];
  require_shape("k_rope", k, {c[0], c[1], k[2]});
  require_shape("q_nope", q, {c[0], q[1], q[2], q[3]});
  require_shape("q_rope", in.q_rope.shape(), {c[0], q[1], q[2], k[2]});
  require_shape("w_uk", in.w_uk.shape(), {dc, q[2], q[3]});
  require_shape("w_uv", w, {dc, q[2], w[2]});
  if (in.mask.data() != nullptr) require_shape("mask", in.mask.shape(), {c[0], q[1], c[1]});
  if (!raw) return;
  require_shape("gain", shape(in.gain), {dc});
  for (const Matrix<T>* table : {&in.cos, &in.sin}) require_shape("cos, sin", shape(*table), {c[1], k[2] / 2});
  for (const Matrix<T>* table : {&in.cos_q, &in.sin_q}) require_shape("cos_q, sin_q", shape(*table), {q[1], k[2] / 2});
}

}  // namespace

template <class T>
T mla_scale(Index dn, Index dr, const MlaDecodeOptions& opt) {
  if (!(opt.factor >= 1)) throw Error("mla_decode: no such factor", "at least 1", std::to_string(opt.factor));
  const auto one = [](double x) { return full<T>(1, x); };
  //  mscale = 0.1 mscale_all_dim ln(factor) + 1
  const Vector<T> mscale = 1.0 + (one(opt.mscale_all_dim) * log(one(opt.factor))) / one(10);
  //  scale = mscale² (dn + dr)^-1/2
  return ((mscale * mscale) / sqrt(one(static_cast<double>(dn + dr))))[0];
}

template <class T>
Matrix<T> held(const Matrix<T>& x, const MlaDecodeOptions& opt) {
  return opt.hold == MlaDecodeOptions::Hold::out ? at(Site::cast, x) : x;
}

template <class T>
Matrix<T> mla_expand(const Matrix<T>& c, const Matrix<T>& w, const MlaDecodeOptions& opt) {
  return held(matmul(c, w), opt);
}

template <class T>
Attention<T> mla_expanded(const MlaHead<T>& head, const MlaDecodeOptions& opt) {
  //  k_j = [ c_j W_UK | k_rope_j ]      v_j = c_j W_UV
  const Matrix<T> k = concat_cols(mla_expand(head.c, head.w_uk, opt), head.k_rope);  // [Sk, dn + dr]
  const Matrix<T> v = mla_expand(head.c, head.w_uv, opt);                            // [Sk, dvh]
  //  s_ij = scale ( q_nope_i k_nope_j + q_rope_i k_rope_j )
  const Matrix<T> q = concat_cols(head.q_nope, head.q_rope);  // [Sq, dn + dr]
  const T scale = mla_scale<T>(head.q_nope.cols(), head.q_rope.cols(), opt);
  const Matrix<T> s = scale_rows(matmul(q, transpose(k)), Vector<T>(q.rows(), scale));  // [Sq, Sk]
  //  o_i = sum_j p_ij v_j      L_i = ln sum_j exp(s_ij)      j in V(i)
  const SoftmaxMean<T> y = softmax_mean(s, v, head.keep, Vector<T>());
  return {at(Site::output, y.o), at(Site::statistic, y.lse)};
}

template <class T>
MlaOutputs<T> mla_decode(const MlaInputs<T>& in, const MlaDecodeOptions& opt) {
  using Latent = MlaDecodeOptions::Latent;
  const bool raw = opt.latent == Latent::raw, fp8 = opt.latent == Latent::fp8;
  check_shapes(in, raw);
  const Shape &cs = in.c.shape(), &qs = in.q_nope.shape();
  const Index B = cs[0], Sk = cs[1], ng = cs[2], gw = cs[3], dc = ng * gw, dr = in.k_rope.shape()[2], Sq = qs[1],
              H = qs[2], dvh = in.w_uv.shape()[2];
  mla_scale<T>(qs[3], dr, opt);  // refuses bad options, also where there is nothing to do
  Tensor<T> c = reshape(in.c, {B, Sk, dc}), k_rope = in.k_rope.clone();
  const Tensor<T> q_rope = swap_dims(in.q_rope, 1, 2).clone();  // [B, H, Sq, dr]
  const Tensor<T> codes(fp8 ? Shape{B, Sk, dc} : Shape{0}), scales(fp8 ? Shape{B, Sk, ng} : Shape{0});
  for (Index b = 0; b < B; ++b) {
    const Matrix<T> cb = at_lead(c, {b}), kb = at_lead(k_rope, {b});
    if (raw) {
      //  c <- RMSNorm(c) gain      k_rope <- RoPE(k_rope)      rounded as they are written; q_rope <- RoPE(q_rope)
      RmsNormOptions norm;
      norm.eps = opt.eps;
      copy_rows(at(Site::cast, rms_norm(cb, in.gain, norm)), cb);
      copy_rows(at(Site::cast, rope_pairs(kb, in.cos, in.sin)), kb);
      for (Index h = 0; h < H; ++h) {
        const Matrix<T> q = at_lead(q_rope, {b, h});
        copy_rows(held(rope_pairs(q, in.cos_q, in.sin_q), opt), q);
      }
    }
    if (!fp8) continue;
    const PackedLatent<T> packed = pack_latent(cb, gw);
    copy_rows(packed.c, cb);
    copy_rows(packed.codes, at_lead(codes, {b}));
    copy_rows(packed.scales, at_lead(scales, {b}));
  }
  MlaOutputs<T> out;
  out.o = Tensor<T>::uninitialised({B, Sq, H, dvh});
  out.lse = Tensor<T>::uninitialised({B, H, Sq});
  const Tensor<T> oh = swap_dims(out.o, 1, 2), qh = swap_dims(in.q_nope, 1, 2);
  const Tensor<T> uk = swap_dims(in.w_uk, 0, 1), uv = swap_dims(in.w_uv, 0, 1);  // [H, dc, dn], [H, dc, dvh]
  AttentionOptions position;
  position.causal = opt.causal == MlaDecodeOptions::Causal::none ? AttentionOptions::Causal::none
                                                                 : AttentionOptions::Causal::bottom_right;
  const Mask seen = visible(0, Sq, Sq, Sk, position);
  lift({B, H}, 1, 1, [&](const Shape& at, Index, Index) {
    const Index b = at[0], h = at[1];
    const Mask keep = in.mask.data() == nullptr ? seen : both(at_lead(in.mask, {b}), seen);
    const MlaHead<T> head{at_lead(c, {b}),
                          at_lead(k_rope, {b}),
                          at_lead(qh, at),
                          at_lead(q_rope, at),
                          at_lead(uk, {h}),
                          at_lead(uv, {h}),
                          keep};
    const Attention<T> y =
        opt.form == MlaDecodeOptions::Form::absorbed ? mla_absorbed(head, opt) : mla_expanded(head, opt);
    copy_rows(y.o, at_lead(oh, at));
    for (Index i = 0; i < Sq; ++i) out.lse.data()[(b * H + h) * Sq + i] = y.lse[i];
  });
  if (raw) out.c_cache = reshape(c, cs), out.k_cache = k_rope;
  if (fp8) out.codes = reshape(codes, cs), out.scales = scales;
  return out;
}

#define ASSAY_INSTANTIATE(T)                                                                  \
  template T mla_scale(Index, Index, const MlaDecodeOptions&);                                \
  template Matrix<T> held(const Matrix<T>&, const MlaDecodeOptions&);                         \
  template Matrix<T> mla_expand(const Matrix<T>&, const Matrix<T>&, const MlaDecodeOptions&); \
  template Attention<T> mla_expanded(const MlaHead<T>&, const MlaDecodeOptions&);             \
  template MlaOutputs<T> mla_decode(const MlaInputs<T>&, const MlaDecodeOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/cache/kv_cache.hpp"

#include <numeric>

#include "reference/attention/core.hpp"
#include "reference/core/lift.hpp"

namespace assay {
namespace {

std::vector<Index> from(Index first, Index count) {
  std::vector<Index> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Head h of row b of x [B, tokens, heads, width]: [tokens, width].
template <class T>
Matrix<T> head(const Tensor<T>& x, Index b, Index h) {
  return at_lead(swap_dims(x, 1, 2), {b, h});
}

template <class T>
void require_shapes(const KvCacheInputs<T>& in) {
  for (const Tensor<T>* x : {&in.q, &in.k, &in.v, &in.k_cache, &in.v_cache})
    if (x->rank() != 4) throw Error("kv_cache: a tensor of the wrong rank", "rank 4", to_string(x->shape()));
  const Shape &q = in.q.shape(), &kc = in.k_cache.shape(), &vc = in.v_cache.shape();
  const Index B = q[0], n = q[1], d = q[3], S = kc[1], Hkv = kc[2], dv = vc[3];
  require_shape("k", in.k.shape(), {B, n, Hkv, d});
  require_shape("v", in.v.shape(), {B, n, Hkv, dv});
  require_shape("k_cache", kc, {B, S, Hkv, d});
  require_shape("v_cache", vc, {B, S, Hkv, dv});
  require_shape("past", in.past.shape(), {B});
  require_shape("shift", in.shift.shape(), {B});
  if (in.cos.cols() * 2 != d)
    throw Error("kv_cache: tables of another width", std::to_string(d) + " / 2", std::to_string(in.cos.cols()));
  require_shape("sin", shape(in.sin), {in.cos.rows(), in.cos.cols()});
  kv_head(0, q[2], Hkv);
  for (Index b = 0; b < B; ++b) {
    const Index past = in.past.data()[b], shift = in.shift.data()[b];
    if (past < 0 || past + n > S)
      throw Error("past: no room for the new tokens", "0.." + std::to_string(S - n), std::to_string(past));
    if (shift < 0 || past + n + shift > in.cos.rows())
      throw Error("shift: the tables have no such position", "0.." + std::to_string(in.cos.rows() - past - n),
                  std::to_string(shift));
  }
}

}  // namespace

template <class T>
Matrix<T> rotated(const Matrix<T>& x, Index first, const Matrix<T>& cos, const Matrix<T>& sin) {
  const Index half = cos.cols();
  const Matrix<T> c = take_rows(cos, from(first, x.rows())), s = take_rows(sin, from(first, x.rows()));
  const Matrix<T> left = take_cols(x, from(0, half)), right = take_cols(x, from(half, half));  // [rows, d/2]
  //  x_c cos_pc - x_(c + d/2) sin_pc      x_(c + d/2) cos_pc + x_c sin_pc
  return concat_cols(left * c - right * s, right * c + left * s);  // [rows, d]
}

template <class T>
KvCacheOutputs<T> kv_cache(const KvCacheInputs<T>& in, const KvCacheOptions& opt) {
  require_shapes(in);
  const Index B = in.q.shape()[0], n = in.q.shape()[1], H = in.q.shape()[2], Hkv = in.k.shape()[2];
  const bool at_write = opt.rope == KvCacheOptions::Rope::at_write;
  const auto held = [&](const Matrix<T>& x) { return opt.hold == KvCacheOptions::Hold::in ? at(Site::stored, x) : x; };
  AttentionOptions one;
  one.scale = opt.scale;
  const KvCacheOutputs<T> out{Tensor<T>::uninitialised({B, n, H, in.v.shape()[3]}), in.k_cache.clone(),
                              in.v_cache.clone()};
  for (Index b = 0; b < B; ++b) {
    const Index past = in.past.data()[b], shift = in.shift.data()[b];
    for (Index g = 0; g < Hkv; ++g) {
      //  k_new[b][t] = rot(k_i, t + shift_b)   v_new[b][t] = v_i   t = past_b + i
      const Matrix<T> k = head(in.k, b, g);                                               // [n, d]
      const Matrix<T> written = at_write ? rotated(k, past + shift, in.cos, in.sin) : k;  // [n, d]
      copy_rows(written, head(out.k_new, b, g).row_range(past, past + n));
      copy_rows(head(in.v, b, g), head(out.v_new, b, g).row_range(past, past + n));
      //  the keys as they are read, rotated once in either way
      const Matrix<T> old = head(in.k_cache, b, g).row_range(0, past);               // [past, d]
      const Matrix<T> keys = at_write ? concat_rows(old, at(Site::stored, written))  // [past + n, d]
                                      : held(rotated(concat_rows(old, k), shift, in.cos, in.sin));
      const Matrix<T> values = head(out.v_new, b, g).row_range(0, past + n);  // [past + n, dv]
      for (Index h = g * (H / Hkv); h < (g + 1) * (H / Hkv); ++h) {
        //  O_i = attention of rot(q_i, t + shift_b) over slots 0..t
        const Matrix<T> q = held(rotated(head(in.q, b, h), past + shift, in.cos, in.sin));  // [n, d]
        const Mask keep = visible(0, n, n, past + n, one);                                  // [n, past + n]
        copy_rows(attention(q, keys, values, keep, Matrix<T>(), Vector<T>(), one).o, head(out.o, b, h));
      }
    }
  }
  return out;
}

#define ASSAY_INSTANTIATE(T)                                                               \
  template Matrix<T> rotated(const Matrix<T>&, Index, const Matrix<T>&, const Matrix<T>&); \
  template KvCacheOutputs<T> kv_cache(const KvCacheInputs<T>&, const KvCacheOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/attention/paged.hpp"

#include "reference/core/lift.hpp"

namespace assay {

Index pages_of(Index tokens, Index P) { return (tokens + P - 1) / P; }

namespace {

/// x_t = pages[table[t div P]][t mod P], t < length
template <class T>
Tensor<T> gathered(const Tensor<T>& pages, const Index* table, Index length) {  // [1, length, Hkv, d]
  const Shape &n = pages.shape(), &at = pages.strides();                        // [Npages, P, Hkv, d]
  const Index P = n[1];
  const Tensor<T> x = Tensor<T>::uninitialised({1, length, n[2], n[3]});
  T* to = x.data();
  for (Index t = 0; t < length; ++t)
    for (Index h = 0; h < n[2]; ++h)
      for (Index c = 0; c < n[3]; ++c)
        *to++ = pages.data()[table[t / P] * at[0] + t % P * at[1] + h * at[2] + c * at[3]];
  return x;
}

void require_tokens(const Index* table, Index length, Index P, Index maxblk, Index Npages) {
  if (length < 0 || pages_of(length, P) > maxblk)
    throw Error("lens: a length does not fit the table", "0.." + std::to_string(maxblk * P), std::to_string(length));
  for (Index b = 0; b < pages_of(length, P); ++b)
    if (table[b] < 0 || table[b] >= Npages)
      throw Error("block_table: no such page", "0.." + std::to_string(Npages - 1), std::to_string(table[b]));
}

}  // namespace

template <class T>
AttentionOutputs<T> attention_paged(const PagedInputs<T>& in, const AttentionPagedOptions& opt) {
  if (in.q.rank() != 4 || in.k_pages.rank() != 4 || in.v_pages.rank() != 4 || in.block_table.rank() != 2)
    throw Error("attention_paged: tensors of the wrong rank", "q, k_pages, v_pages of rank 4, block_table [B, maxblk]",
                to_string(in.q.shape()) + ", " + to_string(in.k_pages.shape()) + ", " + to_string(in.v_pages.shape()) +
                    ", " + to_string(in.block_table.shape()));
  const bool heads_first = opt.layout == AttentionPagedOptions::Layout::hnd;
  const Tensor<T> k = heads_first ? swap_dims(in.k_pages, 1, 2) : in.k_pages;  // [Npages, P, Hkv, d]
  const Tensor<T> v = heads_first ? swap_dims(in.v_pages, 1, 2) : in.v_pages;  // [Npages, P, Hkv, dv]
  const Index B = in.q.shape()[0], Sq = in.q.shape()[1], H = in.q.shape()[2], d = in.q.shape()[3];
  const Index Npages = k.shape()[0], P = k.shape()[1], Hkv = k.shape()[2], dv = v.shape()[3];
  const Index maxblk = in.block_table.shape()[1];
  require_shape("k_pages", k.shape(), {Npages, P, Hkv, d});
  require_shape("v_pages", v.shape(), {Npages, P, Hkv, dv});
  require_shape("block_table", in.block_table.shape(), {B, maxblk});
  require_shape("lens", in.lens.shape(), {B});
  if (P < 1) throw Error("attention_paged: pages without slots", "P >= 1", std::to_string(P));
  kv_head(0, H, Hkv);

  AttentionOptions one;
  one.causal = opt.causal == AttentionPagedOptions::Causal::none ? AttentionOptions::Causal::none
                                                                 : AttentionOptions::Causal::bottom_right;
  one.scale = opt.scale;
  const AttentionOutputs<T> out{Tensor<T>::uninitialised({B, Sq, H, dv}), Tensor<T>::uninitialised({B, H, Sq})};
  for (Index r = 0; r < B; ++r) {
    const Index* const table = in.block_table.data() + r * maxblk;
    const Index length = in.lens.data()[r];
    require_tokens(table, length, P, maxblk, Npages);
    const Tensor<T> q(in.q.storage(), in.q.data() + r * in.q.strides()[0], {1, Sq, H, d}, in.q.strides());
    //  O_r, L_r = attention(q_r, k_t, v_t)   t < lens_r
    const AttentionOutputs<T> y =
        attention(AttentionInputs<T>{q, gathered(k, table, length), gathered(v, table, length), {}, {}, {}}, one);
    y.o.copy_to(out.o.data() + r * Sq * H * dv);
    y.lse.copy_to(out.lse.data() + r * H * Sq);
  }
  return out;
}

#define ASSAY_INSTANTIATE(T) \
  template AttentionOutputs<T> attention_paged(const PagedInputs<T>&, const AttentionPagedOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

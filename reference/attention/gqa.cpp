#include "reference/attention/gqa.hpp"

namespace assay {

template <class T>
Matrix<T> pack_rows(const std::vector<Matrix<T>>& heads) {
  if (heads.empty()) return {};
  const Index g = static_cast<Index>(heads.size()), rows = heads[0].rows();
  Matrix<T> packed(rows * g, heads[0].cols());
  for (Index r = 0; r < g; ++r) {
    const Matrix<T>& x = heads[static_cast<std::size_t>(r)];
    require_shape("head of a group", shape(x), {rows, packed.cols()});
    for (Index i = 0; i < rows; ++i)
      for (Index c = 0; c < x.cols(); ++c) packed(i * g + r, c) = x(i, c);
  }
  return packed;
}

Mask pack_mask(const Mask& keep, Index g) {
  if (keep.data() == nullptr) return {};
  Mask packed(keep.rows() * g, keep.cols());
  //  packed row n is query n div g
  for (Index n = 0; n < packed.rows(); ++n)
    for (Index j = 0; j < keep.cols(); ++j) packed(n, j) = keep(n / g, j);
  return packed;
}

template <class T>
std::vector<Attention<T>> group_attention(const HeadGroup<T>& group, const AttentionOptions& opt) {
  std::vector<Attention<T>> heads;
  //  O_h = attention(q_h, k_kappa(h), v_kappa(h))
  for (std::size_t r = 0; r < group.q.size(); ++r)
    heads.push_back(attention(group.q[r], group.k, group.v, group.keep,
                              group.bias.empty() ? Matrix<T>() : group.bias[r], Vector<T>(), opt));
  return heads;
}

template <class T>
Attention<T> packed_attention(const HeadGroup<T>& group, const AttentionOptions& opt) {
  const Mask keep = pack_mask(group.keep, static_cast<Index>(group.q.size()));
  return attention(pack_rows(group.q), group.k, group.v, keep, pack_rows(group.bias), Vector<T>(), opt);
}

template <class T>
GroupVjp<T> group_vjp(const HeadGroup<T>& group, const std::vector<Matrix<T>>& d_o, const std::vector<Vector<T>>& d_lse,
                      const AttentionOptions& opt) {
  GroupVjp<T> sum;
  //  dK = sum_h dK_h      dV = sum_h dV_h
  for (std::size_t r = 0; r < group.q.size(); ++r) {
    const AttentionVjp<T> one = attention_vjp(group.q[r], group.k, group.v, group.keep,
                                              group.bias.empty() ? Matrix<T>() : group.bias[r], d_o[r], d_lse[r], opt);
    sum.dq.push_back(one.dq);
    sum.dk = r == 0 ? one.dk : sum.dk + one.dk;
    sum.dv = r == 0 ? one.dv : sum.dv + one.dv;
  }
  return sum;
}

#define ASSAY_INSTANTIATE(T)                                                                                        \
  template Matrix<T> pack_rows(const std::vector<Matrix<T>>&);                                                      \
  template std::vector<Attention<T>> group_attention(const HeadGroup<T>&, const AttentionOptions&);                 \
  template Attention<T> packed_attention(const HeadGroup<T>&, const AttentionOptions&);                             \
  template GroupVjp<T> group_vjp(const HeadGroup<T>&, const std::vector<Matrix<T>>&, const std::vector<Vector<T>>&, \
                                 const AttentionOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

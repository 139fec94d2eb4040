#include "distributed/attention/block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

template <class F>
constexpr F none = -std::numeric_limits<F>::infinity();

/// The sizes of a block, and where its rows are.
template <class F>
struct Block {
  Block(const Tensor<F>& q, const Tensor<F>& k, const Tensor<F>& v)
      : B(q.shape()[0]),
        n(q.shape()[1]),
        H(q.shape()[2]),
        d(q.shape()[3]),
        m(k.shape()[1]),
        Hkv(k.shape()[2]),
        dv(v.shape()[3]),
        scale(F(1) / std::sqrt(static_cast<F>(d))) {}
  Index B, n, H, d, m, Hkv, dv;
  F scale;

  Index of_q(Index b, Index i, Index h) const { return ((b * n + i) * H + h) * d; }
  Index of_o(Index b, Index i, Index h) const { return ((b * n + i) * H + h) * dv; }
  Index of_k(Index b, Index j, Index h) const { return ((b * m + j) * Hkv + h / (H / Hkv)) * d; }
  Index of_v(Index b, Index j, Index h) const { return ((b * m + j) * Hkv + h / (H / Hkv)) * dv; }
  Index of_row(Index b, Index i, Index h) const { return (b * H + h) * n + i; }

  static F dot(const F* x, const F* y, Index size) {
    F sum = 0;
    for (Index c = 0; c < size; ++c) sum += x[c] * y[c];
    return sum;
  }
  template <class Body>
  void rows(Body body) const {
    for (Index b = 0; b < B; ++b)
      for (Index h = 0; h < H; ++h)
        for (Index i = 0; i < n; ++i) body(b, h, i);
  }
};

}  // namespace

template <class F>
RingPart<F> attend_block(const Tensor<F>& q, const Tensor<F>& k, const Tensor<F>& v, const RingSight& sight) {
  const Block<F> x(q, k, v);
  RingPart<F> part{Tensor<F>({x.B, x.n, x.H, x.dv}, F(0)), Tensor<F>({x.B, x.H, x.n}, none<F>)};
  std::vector<F> s(static_cast<std::size_t>(x.m));
  x.rows([&](Index b, Index h, Index i) {
    F top = none<F>;
    for (Index j = 0; j < x.m; ++j) {
      if (!sight.sees(b, i, j)) continue;
      const F logit = x.scale * x.dot(q.data() + x.of_q(b, i, h), k.data() + x.of_k(b, j, h), x.d);
      s[static_cast<std::size_t>(j)] = logit;
      if (logit > top || std::isnan(logit)) top = logit;
    }
    if (top == none<F>) return;
    F sum = 0;
    F* const o = part.o.data() + x.of_o(b, i, h);
    for (Index j = 0; j < x.m; ++j) {
      if (!sight.sees(b, i, j)) continue;
      const F e = std::exp(s[static_cast<std::size_t>(j)] - top);
      sum += e;
      const F* const value = v.data() + x.of_v(b, j, h);
      for (Index c = 0; c < x.dv; ++c) o[c] += e * value[c];
    }
    for (Index c = 0; c < x.dv; ++c) o[c] /= sum;
    part.lse.data()[x.of_row(b, i, h)] = top + std::log(sum);
  });
  return part;
}

template <class F>
void merge_part(RingPart<F>& state, const RingPart<F>& part) {
  const Index H = state.o.shape()[2], n = state.o.shape()[1], dv = state.o.shape()[3];
  for (Index row = 0; row < state.lse.size(); ++row) {
    const F theirs = part.lse.data()[row], mine = state.lse.data()[row];
    if (theirs == none<F>) continue;  // the empty state, whatever its O
    const Index i = row % n, h = row / n % H, b = row / n / H, at = ((b * n + i) * H + h) * dv;
    const F top = std::max(theirs, mine);
    // Shares of their own sum add up to 1; of e^L they would be off by the rounding of L, at every merge.
    const F e_mine = std::exp(mine - top), e_theirs = std::exp(theirs - top), sum = e_mine + e_theirs;
    const F a = e_mine / sum, c = e_theirs / sum;
    for (Index e = 0; e < dv; ++e)
      state.o.data()[at + e] =
          mine == none<F> ? part.o.data()[at + e] : a * state.o.data()[at + e] + c * part.o.data()[at + e];
    state.lse.data()[row] = top + std::log(sum);
  }
}

template <class F>
void add_block_gradients(const RingOwner<F>& own, const Tensor<F>& k, const Tensor<F>& v, const RingSight& sight,
                         Tensor<F>& dq, Tensor<F>& dk, Tensor<F>& dv) {
  const Block<F> x(own.q, k, v);
  x.rows([&](Index b, Index h, Index i) {
    const F lse = own.lse.data()[x.of_row(b, i, h)], D = own.D.data()[x.of_row(b, i, h)];
    if (lse == none<F>) return;
    const F *const q = own.q.data() + x.of_q(b, i, h), *const g = own.d_o.data() + x.of_o(b, i, h);
    F* const to_q = dq.data() + x.of_q(b, i, h);
    for (Index j = 0; j < x.m; ++j) {
      if (!sight.sees(b, i, j)) continue;
      const F *const key = k.data() + x.of_k(b, j, h), *const val = v.data() + x.of_v(b, j, h);
      //  P_ij = exp(s_ij - L_i)      dS_ij = P_ij (dO_i v_j - D_i)
      const F p = std::exp(x.scale * x.dot(q, key, x.d) - lse);
      const F ds = x.scale * (p * (x.dot(g, val, x.dv) - D));
      F *const to_k = dk.data() + x.of_k(b, j, h), *const to_v = dv.data() + x.of_v(b, j, h);
      for (Index c = 0; c < x.d; ++c) to_q[c] += ds * key[c];
      for (Index c = 0; c < x.d; ++c) to_k[c] += ds * q[c];
      for (Index c = 0; c < x.dv; ++c) to_v[c] += p * g[c];
    }
  });
}

#define ASSAY_INSTANTIATE(F)                                                                                   \
  template RingPart<F> attend_block(const Tensor<F>&, const Tensor<F>&, const Tensor<F>&, const RingSight&);   \
  template void merge_part(RingPart<F>&, const RingPart<F>&);                                                  \
  template void add_block_gradients(const RingOwner<F>&, const Tensor<F>&, const Tensor<F>&, const RingSight&, \
                                    Tensor<F>&, Tensor<F>&, Tensor<F>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)

}  // namespace assay

#include "conformance/attention/walk_forms.hpp"

#include <algorithm>

#include "reference/attention/mla_absorbed.hpp"
#include "reference/attention/paged.hpp"
#include "reference/attention/varlen.hpp"

namespace assay {
namespace {

std::vector<Index> keys_of(const Head& h, Index i) {
  std::vector<Index> keys;
  for (Index j = 0; j < h.k.rows(); ++j)
    if (h.keep.data() == nullptr || h.keep(i, j)) keys.push_back(j);
  return keys;
}

bool begins(const std::vector<Index>& shorter, const std::vector<Index>& longer) {
  return shorter.size() <= longer.size() && std::equal(shorter.begin(), shorter.end(), longer.begin());
}

/// Rows as a tensor of one head: [n, 1, cols].
Tensor<Bound> one_head(const Matrix<Bound>& x) {
  const Tensor<Bound> y(Shape{x.rows(), 1, x.cols()}, Bound(0));
  for (Index i = 0; i < x.rows(); ++i)
    for (Index c = 0; c < x.cols(); ++c) y.data()[i * x.cols() + c] = x(i, c);
  return y;
}

Attention<Bound> of_rows(const AttentionOutputs<Bound>& out, Index Sq, Index dv) {
  Attention<Bound> y{Matrix<Bound>(Sq, dv), Vector<Bound>(Sq)};
  for (Index i = 0; i < Sq; ++i) {
    for (Index c = 0; c < dv; ++c) y.o(i, c) = out.o.at_flat(i * dv + c);
    y.lse[i] = out.lse.at_flat(i);
  }
  return y;
}

/// The first `rows` and `cols` of x, 0 beyond it.
Matrix<Bound> resized(const Matrix<Bound>& x, Index rows, Index cols) {
  Matrix<Bound> y = full<Bound>(rows, cols, 0);
  for (Index i = 0; i < std::min(rows, x.rows()); ++i)
    for (Index c = 0; c < std::min(cols, x.cols()); ++c) y(i, c) = x(i, c);
  return y;
}

/// What q is multiplied by so that one over the root of d is its scale.
Bound factor_of(const Head& h) {
  if (h.opt.scale == 0) return 1;
  return (full<Bound>(1, h.opt.scale) * sqrt(full<Bound>(1, static_cast<double>(h.q.cols()))))[0];
}

Matrix<Bound> times(const Matrix<Bound>& x, const Bound& factor) {
  return scale_rows(x, Vector<Bound>(x.rows(), factor));
}

/// Columns [first, first + n) of the identity of `size`.
Matrix<Bound> columns_of_one(Index size, Index first, Index n) {
  Matrix<Bound> y = full<Bound>(size, n, 0);
  for (Index c = 0; c < n; ++c) y(first + c, c) = 1;
  return y;
}

}  // namespace

bool is_plain(const Head& h) { return h.bias.data() == nullptr && h.opt.softcap == 0; }

Attention<Bound> by_pages(const Head& h, Index P, const Pick& pick) {
  const Index Sq = h.q.rows(), Sk = h.k.rows(), d = h.q.cols(), dv = h.v.cols();
  const Index maxblk = std::max<Index>(1, pages_of(Sk, P)), Npages = (Sq + 1) * maxblk;
  // Page n of those taken lies at a place of its own: the steps are coprime to the number of pages.
  const Index step = pick(0, 1) == 0 ? 1 : Npages - 1, from = pick(0, Npages - 1);
  Index taken = 0;
  PagedInputs<Bound> in{Tensor<Bound>(Shape{Sq, 1, 1, d}, Bound(0)), Tensor<Bound>(Shape{Npages, P, 1, d}, Bound(7)),
                        Tensor<Bound>(Shape{Npages, P, 1, dv}, Bound(7)), Tensor<Index>(Shape{Sq, maxblk}, Index{-1}),
                        Tensor<Index>(Shape{Sq}, Index{0})};
  one_head(h.q).copy_to(in.q.data());
  std::vector<std::vector<Index>> keys(static_cast<std::size_t>(Sq));
  for (Index b = Sq; b-- > 0;) {  // the last query first: under a causal mask the others begin its keys
    auto& mine = keys[static_cast<std::size_t>(b)];
    mine = keys_of(h, b);
    Index* const table = in.block_table.data() + b * maxblk;
    in.lens.data()[b] = static_cast<Index>(mine.size());
    Index owner = b + 1;
    while (owner < Sq && !begins(mine, keys[static_cast<std::size_t>(owner)])) ++owner;
    if (owner < Sq) {
      std::copy_n(in.block_table.data() + owner * maxblk, maxblk, table);
      continue;
    }
    for (Index t = 0; t < in.lens.data()[b]; ++t) {
      if (t % P == 0) table[t / P] = (from + step * taken++) % Npages;
      const Index slot = table[t / P] * P + t % P, key = mine[static_cast<std::size_t>(t)];
      for (Index c = 0; c < d; ++c) in.k_pages.data()[slot * d + c] = h.k(key, c);
      for (Index c = 0; c < dv; ++c) in.v_pages.data()[slot * dv + c] = h.v(key, c);
    }
  }
  AttentionPagedOptions opt;
  opt.causal = AttentionPagedOptions::Causal::none;
  opt.scale = h.opt.scale;
  return of_rows(attention_paged(in, opt), Sq, dv);
}

Attention<Bound> by_varlen(const Head& h) {
  const Index Sq = h.q.rows();
  std::vector<Index> ends_q{0}, ends_k{0}, rows;
  for (Index i = 0; i < Sq; ++i) {
    const std::vector<Index> keys = keys_of(h, i);
    if (i > 0 && keys == keys_of(h, i - 1)) {
      ends_q.back() = i + 1;
      continue;
    }
    rows.insert(rows.end(), keys.begin(), keys.end());
    ends_q.push_back(i + 1);
    ends_k.push_back(static_cast<Index>(rows.size()));
  }
  const auto vector = [](const std::vector<Index>& x) {
    Vector<Index> y(static_cast<Index>(x.size()));
    for (Index i = 0; i < y.size(); ++i) y[i] = x[static_cast<std::size_t>(i)];
    return y;
  };
  AttentionVarlenOptions opt;
  opt.causal = AttentionVarlenOptions::Causal::none;
  opt.scale = h.opt.scale;
  const VarlenInputs<Bound> in{one_head(h.q), one_head(take_rows(h.k, rows)), one_head(take_rows(h.v, rows)),
                               vector(ends_q), vector(ends_k)};
  return of_rows(attention_varlen(in, opt), Sq, h.v.cols());
}

Attention<Bound> by_mla(const Head& h, bool absorbed, Index rotary) {
  const Index d = h.q.cols(), dv = h.v.cols(), dn = d - rotary;
  const Matrix<Bound> q = times(h.q, factor_of(h));
  const MlaHead<Bound> head{concat_cols(h.k.col_range(0, dn), h.v),
                            h.k.col_range(dn, d),
                            q.col_range(0, dn),
                            q.col_range(dn, d),
                            columns_of_one(dn + dv, 0, dn),
                            columns_of_one(dn + dv, dn, dv),
                            h.keep};
  return absorbed ? mla_absorbed(head, {}) : mla_expanded(head, {});
}

RingForm ring_form(const Head& h, const Pick& pick) {
  using Schedule = AttentionRingOptions::Schedule;
  const Index R = pick(1, 8), Sq = h.q.rows(), Sk = h.k.rows();
  const Index S = (std::max(Sq, Sk) + 2 * R - 1) / (2 * R) * (2 * R);
  const Bound factor = factor_of(h);
  Mask keep(S, S);
  for (Index i = 0; i < S; ++i)
    for (Index j = 0; j < S; ++j) keep(i, j) = i < Sq && j < Sk && (h.keep.data() == nullptr || h.keep(i, j));
  const Index schedule = pick(0, 2);
  return {{resized(times(h.q, factor), S, h.q.cols()), resized(h.k, S, h.k.cols()), resized(h.v, S, h.v.cols()), keep},
          shards(schedule == 0   ? Schedule::contiguous
                 : schedule == 1 ? Schedule::zigzag
                                 : Schedule::striped,
                 S, R),
          pick(0, R - 1),
          factor};
}

Attention<Bound> by_ring(const Head& h, const RingForm& ring) {
  const Attention<Bound> y = ring_forward(ring.head, ring.tokens, ring.start);
  Vector<Bound> lse(h.q.rows());
  for (Index i = 0; i < lse.size(); ++i) lse[i] = y.lse[i];
  return {resized(y.o, h.q.rows(), h.v.cols()), lse};
}

RingGradient<Bound> by_ring_backward(const Head& h, const RingForm& ring, const Attention<Bound>& y,
                                     const Matrix<Bound>& d_o) {
  const Index S = ring.head.q.rows(), Sq = h.q.rows();
  Vector<Bound> lse = full<Bound>(S, -infinity), D = full<Bound>(S, 0);
  const Vector<Bound> own = dot_rows(d_o, y.o);
  for (Index i = 0; i < Sq; ++i) lse[i] = y.lse[i], D[i] = own[i];
  const RingGradient<Bound> g = ring_backward(ring.head, resized(d_o, S, d_o.cols()), lse, D, ring.tokens, ring.start);
  return {times(resized(g.dq, Sq, h.q.cols()), ring.factor), resized(g.dk, h.k.rows(), h.k.cols()),
          resized(g.dv, h.k.rows(), h.v.cols())};
}

}  // namespace assay

#include "reference/attention/ring.hpp"

#include "reference/attention/flash_bwd.hpp"
#include "reference/softmax/merge.hpp"

namespace assay {
namespace {

/// What the queries of one shard see of the keys of another.
Mask part(const Mask& keep, const std::vector<Index>& queries, const std::vector<Index>& keys) {
  if (keep.data() == nullptr) return {};
  Mask block(static_cast<Index>(queries.size()), static_cast<Index>(keys.size()));
  for (Index i = 0; i < block.rows(); ++i)
    for (Index j = 0; j < block.cols(); ++j)
      block(i, j) = keep(queries[static_cast<std::size_t>(i)], keys[static_cast<std::size_t>(j)]);
  return block;
}

template <class T>
Vector<T> take(const Vector<T>& x, const std::vector<Index>& which) {
  Vector<T> y(static_cast<Index>(which.size()));
  for (Index i = 0; i < y.size(); ++i) y[i] = x[which[static_cast<std::size_t>(i)]];
  return y;
}

template <class T>
void put_rows(Matrix<T>& to, const std::vector<Index>& which, const Matrix<T>& rows) {
  for (Index i = 0; i < rows.rows(); ++i)
    for (Index c = 0; c < rows.cols(); ++c) to(which[static_cast<std::size_t>(i)], c) = rows(i, c);
}

const AttentionOptions& plain() {
  static const AttentionOptions opt;
  return opt;
}

template <class T>
Matrix<T> scaled(const Matrix<T>& x, Index d) {
  return scale_rows(x, attention_scale<T>(x.rows(), d, plain().scale));
}

}  // namespace

Index ring_source(Index r, Index n, Index R, Index start) { return ((r - start - n) % R + R) % R; }

AttentionOptions unsharded(const AttentionRingOptions& opt) {
  AttentionOptions full;
  full.causal = opt.causal == AttentionRingOptions::Causal::causal ? AttentionOptions::Causal::bottom_right
                                                                   : AttentionOptions::Causal::none;
  full.window = opt.window;
  full.mask =
      opt.mask == AttentionRingOptions::Mask::given ? AttentionOptions::Mask::given : AttentionOptions::Mask::none;
  full.sink =
      opt.sink == AttentionRingOptions::Sink::given ? AttentionOptions::Sink::given : AttentionOptions::Sink::none;
  return full;
}

namespace {

AttentionBackwardOptions backward(const AttentionRingOptions& opt) {
  using Options = AttentionBackwardOptions;
  Options full;
  full.causal =
      opt.causal == AttentionRingOptions::Causal::causal ? Options::Causal::bottom_right : Options::Causal::none;
  full.window = opt.window;
  full.mask = opt.mask == AttentionRingOptions::Mask::given ? Options::Mask::given : Options::Mask::none;
  full.sink = opt.sink == AttentionRingOptions::Sink::given ? Options::Sink::given : Options::Sink::none;
  return full;
}

}  // namespace

Mask ring_visible(Index S, const AttentionRingOptions& opt) { return visible(0, S, S, S, unsharded(opt)); }

template <class T>
Attention<T> ring_forward(const RingHead<T>& head, const Tokens& tokens, Index start) {
  const auto R = static_cast<Index>(tokens.size());
  Attention<T> y{Matrix<T>(head.q.rows(), head.v.cols()), Vector<T>(head.q.rows())};
  for (Index r = 0; r < R; ++r) {
    const auto& own = tokens[static_cast<std::size_t>(r)];
    const Matrix<T> q = take_rows(head.q, own);  // [S/R, d]
    SoftmaxMean<T> state{full<T>(q.rows(), -infinity), full<T>(q.rows(), head.v.cols(), 0)};
    for (Index n = 0; n < R; ++n) {
      //  s_ij = scale q_i k_j      (L, O) of the block of rank src      state + block
      const auto& theirs = tokens[static_cast<std::size_t>(ring_source(r, n, R, start))];
      const Matrix<T> s = attention_logits(q, take_rows(head.k, theirs), Matrix<T>(), plain());  // [S/R, S/R]
      state =
          softmax_merge(state, softmax_mean(s, take_rows(head.v, theirs), part(head.keep, own, theirs), Vector<T>()));
    }
    put_rows(y.o, own, state.o);
    for (Index i = 0; i < q.rows(); ++i) y.lse[own[static_cast<std::size_t>(i)]] = state.lse[i];
  }
  return y;
}

template <class T>
RingGradient<T> ring_backward(const RingHead<T>& head, const Matrix<T>& d_o, const Vector<T>& lse, const Vector<T>& D,
                              const Tokens& tokens, Index start) {
  const auto R = static_cast<Index>(tokens.size());
  const Index d = head.q.cols(), S = head.k.rows();
  RingGradient<T> y{full<T>(head.q.rows(), d, 0), full<T>(S, d, 0), full<T>(S, head.v.cols(), 0)};
  // At every step all ranks; what travels with block src meets rank src + start first, then that one's right.
  for (Index n = 0; n < R; ++n)
    for (Index r = 0; r < R; ++r) {
      const auto &own = tokens[static_cast<std::size_t>(r)],
                 &theirs = tokens[static_cast<std::size_t>(ring_source(r, n, R, start))];
      const Matrix<T> q = take_rows(head.q, own), k = take_rows(head.k, theirs), v = take_rows(head.v, theirs);
      const Matrix<T> g = take_rows(d_o, own);
      const Mask keep = part(head.keep, own, theirs);
      //  P_ij = exp(s_ij - L_i)      dS_ij = P_ij (dO_i v_j - D_i)
      const Matrix<T> p = attention_weights(attention_logits(q, k, Matrix<T>(), plain()), keep, take(lse, own));
      const Matrix<T> ds = p * select(keep, sub_rows(matmul(g, transpose(v)), take(D, own)), 0);  // [S/R, S/R]
      //  dQ_i += scale sum_j dS_ij k_j      dK_j += scale sum_i dS_ij q_i      dV_j += sum_i P_ij dO_i
      put_rows(y.dq, own, take_rows(y.dq, own) + scaled(matmul(keep, ds, k), d));
      put_rows(y.dk, theirs, take_rows(y.dk, theirs) + scaled(matmul(transpose(keep), transpose(ds), q), d));
      put_rows(y.dv, theirs, take_rows(y.dv, theirs) + matmul(transpose(keep), transpose(p), g));
    }
  return y;
}

template <class T>
AttentionRingOutputs<T> attention_ring(const AttentionRingInputs<T>& in, const AttentionRingOptions& opt) {
  const Index ranks = require_whole("attention_ring: option ranks", opt.ranks, 1);
  require_whole("attention_ring: option start", opt.start, 0);
  if (in.q.rank() != 4) throw Error("attention_ring: q of the wrong rank", "[B, S, H, d]", to_string(in.q.shape()));
  const Index S = in.q.shape()[1];
  shards(opt.schedule, S, ranks);
  require_shape("k", {in.k.rank() == 4 ? in.k.shape()[1] : -1}, {S});
  // A row's parts are merged: as many as there are ranks, of any length, and a sink.
  Contract contract;
  Reading parts = reading();
  const int merged = static_cast<int>(ranks) + (in.sink.data() == nullptr ? 0 : 1);
  if (parts.contract != nullptr && merged > 1) {
    contract = *parts.contract;
    contract.splits = std::max(contract.splits, merged);
    contract.split_min = 1;
    parts.contract = &contract;
  }
  const ReadingScope scope(parts);
  const AttentionOutputs<T> y = attention<T>({in.q, in.k, in.v, in.mask, {}, in.sink}, unsharded(opt));
  if (in.grad_o.data() == nullptr) return {y.o, y.lse, {}, {}, {}};
  require_shape("grad_o", in.grad_o.shape(), y.o.shape());
  const AttentionBackwardOutputs<T> g =
      attention_backward<T>({in.q, in.k, in.v, y.o, y.lse, in.grad_o, {}, in.mask, {}, in.sink, {}}, backward(opt));
  return {y.o, y.lse, g.d_q, g.d_k, g.d_v};
}

#define ASSAY_INSTANTIATE(T)                                                                                       \
  template Attention<T> ring_forward(const RingHead<T>&, const Tokens&, Index);                                    \
  template RingGradient<T> ring_backward(const RingHead<T>&, const Matrix<T>&, const Vector<T>&, const Vector<T>&, \
                                         const Tokens&, Index);                                                    \
  template AttentionRingOutputs<T> attention_ring(const AttentionRingInputs<T>&, const AttentionRingOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

#include "reference/attention/ring.hpp"

#include "reference/core/lift.hpp"
#include "reference/softmax/merge.hpp"

namespace assay {
namespace {

Index whole(const char* name, double number, Index least) {
  const auto n = static_cast<Index>(number);
  if (static_cast<double>(n) != number || n < least)
    throw Error(std::string("attention_ring: option ") + name, "a whole number from " + std::to_string(least),
                std::to_string(number));
  return n;
}

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
      put_rows(y.dq, own, take_rows(y.dq, own) + scaled(matmul(ds, k), d));
      put_rows(y.dk, theirs, take_rows(y.dk, theirs) + scaled(matmul(transpose(ds), q), d));
      put_rows(y.dv, theirs, take_rows(y.dv, theirs) + matmul(transpose(p), g));
    }
  return y;
}

namespace {

template <class T>
void gradients(const AttentionRingInputs<T>& in, const AttentionRingOptions& opt, const AttentionOutputs<T>& y,
               AttentionRingOutputs<T>& out) {
  const Index B = in.q.shape()[0], S = in.q.shape()[1], H = in.q.shape()[2], d = in.q.shape()[3];
  const Index Hkv = in.k.shape()[2], dv = in.v.shape()[3], group = H / Hkv;
  out.grad_q = Tensor<T>::uninitialised({B, S, H, d});
  out.grad_k = Tensor<T>::uninitialised({B, S, Hkv, d});
  out.grad_v = Tensor<T>::uninitialised({B, S, Hkv, dv});
  const auto heads = [](const Tensor<T>& x) { return swap_dims(x, 1, 2); };
  // The query heads of a group are rows of one problem: their gradients add up in k and v.
  lift({B, Hkv}, 1, 1, [&](const Shape& entry, Index, Index) {
    RingHead<T> all{{}, at_lead(heads(in.k), entry), at_lead(heads(in.v), entry), {}};
    Mask keep = ring_visible(S, opt);
    if (in.mask.data() != nullptr) keep = both(at_lead(in.mask, {entry[0]}), keep);
    Matrix<T> q(group * S, d), g(group * S, dv), o(group * S, dv);
    Vector<T> lse(group * S);
    if (keep.data() != nullptr) all.keep = Mask(group * S, S);
    for (Index m = 0; m < group; ++m) {
      const Shape one{entry[0], entry[1] * group + m};
      const Matrix<T> qh = at_lead(heads(in.q), one), gh = at_lead(heads(in.grad_o), one),
                      oh = at_lead(heads(y.o), one);
      for (Index i = 0; i < S; ++i) {
        for (Index c = 0; c < d; ++c) q(m * S + i, c) = qh(i, c);
        for (Index c = 0; c < dv; ++c) g(m * S + i, c) = gh(i, c);
        for (Index c = 0; c < dv; ++c) o(m * S + i, c) = oh(i, c);
        lse[m * S + i] = y.lse.at_flat((one[0] * H + one[1]) * S + i);
        for (Index j = 0; j < S && keep.data() != nullptr; ++j) all.keep(m * S + i, j) = keep(i, j);
      }
    }
    all.q = q;
    if (in.sink.data() != nullptr) {
      //  L^s_i = ln(e^(L_i) + e^sink)
      Vector<T> sink(group * S);
      for (Index i = 0; i < group * S; ++i) sink[i] = in.sink[entry[1] * group + i / S];
      lse = lse_with_sink(lse, sink);
    }
    //  D_i = sum_c dO_ic O_ic
    const Vector<T> D = dot_rows(g, o);  // [group S]
    const Matrix<T> p = attention_weights(attention_logits(q, all.k, Matrix<T>(), plain()), all.keep, lse);
    const Matrix<T> ds = p * select(all.keep, sub_rows(matmul(g, transpose(all.v)), D), 0);  // [group S, S]
    const Matrix<T> dq = at(Site::output, scaled(matmul(ds, all.k), d)),
                    dk = at(Site::output, scaled(matmul(transpose(ds), q), d)),
                    d_v = at(Site::output, matmul(transpose(p), g));
    Matrix<T> to_k = at_lead(heads(out.grad_k), entry), to_v = at_lead(heads(out.grad_v), entry);
    for (Index i = 0; i < S; ++i) {
      for (Index c = 0; c < d; ++c) to_k(i, c) = dk(i, c);
      for (Index c = 0; c < dv; ++c) to_v(i, c) = d_v(i, c);
      for (Index m = 0; m < group; ++m)
        for (Index c = 0; c < d; ++c)
          out.grad_q.data()[((entry[0] * S + i) * H + entry[1] * group + m) * d + c] = dq(m * S + i, c);
    }
  });
}

}  // namespace

template <class T>
AttentionRingOutputs<T> attention_ring(const AttentionRingInputs<T>& in, const AttentionRingOptions& opt) {
  const Index ranks = whole("ranks", opt.ranks, 1), start = whole("start", opt.start, 0);
  static_cast<void>(start);
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
  AttentionRingOutputs<T> out{y.o, y.lse, {}, {}, {}};
  if (in.grad_o.data() == nullptr) return out;
  require_shape("grad_o", in.grad_o.shape(), y.o.shape());
  gradients(in, opt, y, out);
  return out;
}

#define ASSAY_INSTANTIATE(T)                                                                                       \
  template Attention<T> ring_forward(const RingHead<T>&, const Tokens&, Index);                                    \
  template RingGradient<T> ring_backward(const RingHead<T>&, const Matrix<T>&, const Vector<T>&, const Vector<T>&, \
                                         const Tokens&, Index);                                                    \
  template AttentionRingOutputs<T> attention_ring(const AttentionRingInputs<T>&, const AttentionRingOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay

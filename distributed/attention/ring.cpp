#include "distributed/attention/ring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

int modulo(int x, int n) { return (x % n + n) % n; }

void require(const char* tensor, const Shape& found, const Shape& expected) {
  if (found != expected)
    throw Error(std::string("ring attention: shape of ") + tensor, to_string(expected), to_string(found));
}

/// One rank of the ring, and the block that it holds at the moment.
template <class F>
class Ring {
 public:
  Ring(Communicator& ranks, const RingPlan& plan, const RingShard<F>& shard)
      : ranks_(ranks), plan_(plan), shard_(shard), k_(shard.k), v_(shard.v) {
    check();
    source_ = ranks.rank();
    // The blocks are moved on at once: to rank r + start, from rank r - start.
    if (const int far = modulo(plan.start, ranks.size()); far != 0) move(far);
  }

  const Tensor<F>& k() const { return k_; }
  const Tensor<F>& v() const { return v_; }
  int source() const { return source_; }
  RingSight sight() const {
    return {plan_.rule, tokens(ranks_.rank()), tokens(source_), shard_.mask.data() == nullptr ? nullptr : &shard_.mask};
  }
  bool left_out(const RingSight& sight) const { return !plan_.merge_hidden && sight.hidden(); }

  /// Sends the block `by` places on and receives another.
  void move(int by) {
    const int from = modulo(ranks_.rank() - by, ranks_.size()), to = modulo(ranks_.rank() + by, ranks_.size());
    source_ = modulo(source_ - by, ranks_.size());
    const Tensor<F> k(of_block(k_)), v(of_block(v_));
    ranks_.exchange({{k_, to}, {v_, to}}, {{k, from}, {v, from}});
    k_ = k;
    v_ = v;
  }
  /// The gradients of the block go on; those of the block that comes arrive.
  void pass(Tensor<F>& dk, Tensor<F>& dv, int coming) {
    const int n = ranks_.size(), from = modulo(ranks_.rank() - 1, n), to = modulo(ranks_.rank() + 1, n);
    const int held = source_;
    source_ = coming;
    const Tensor<F> k(of_block(dk)), v(of_block(dv));
    source_ = held;
    ranks_.exchange({{dk, to}, {dv, to}}, {{k, from}, {v, from}});
    dk = k;
    dv = v;
  }

 private:
  const std::vector<Index>& tokens(int rank) const { return plan_.tokens[static_cast<std::size_t>(rank)]; }
  /// The shape of a tensor for the tokens of the block that is held.
  Shape of_block(const Tensor<F>& x) const {
    Shape shape = x.shape();
    shape[1] = static_cast<Index>(tokens(source_).size());
    return shape;
  }
  void check() const {
    if (static_cast<int>(plan_.tokens.size()) != ranks_.size())
      throw Error("ring attention: shards", std::to_string(ranks_.size()) + ", one for each rank",
                  std::to_string(plan_.tokens.size()));
    const Shape &q = shard_.q.shape(), &k = shard_.k.shape(), &v = shard_.v.shape();
    if (q.size() != 4 || k.size() != 4 || v.size() != 4)
      throw Error("ring attention: q, k, v", "[B, tokens, heads, width]",
                  to_string(q) + ", " + to_string(k) + ", " + to_string(v));
    const auto n = static_cast<Index>(tokens(ranks_.rank()).size());
    Index S = 0;
    for (const auto& of_rank : plan_.tokens) S += static_cast<Index>(of_rank.size());
    require("q", q, {q[0], n, q[2], q[3]});
    require("k", k, {q[0], n, k[2], q[3]});
    require("v", v, {q[0], n, k[2], v[3]});
    if (k[2] < 1 || q[2] % k[2] != 0)
      throw Error("ring attention: key-value heads", "a divisor of H = " + std::to_string(q[2]), std::to_string(k[2]));
    if (shard_.mask.data() != nullptr) require("mask", shard_.mask.shape(), {q[0], n, S});
    if (shard_.sink.data() != nullptr) require("sink", {shard_.sink.size()}, {q[2]});
  }

  Communicator& ranks_;
  const RingPlan& plan_;
  const RingShard<F>& shard_;
  Tensor<F> k_, v_;
  int source_ = 0;
};

/// The sink joins once: O shrinks by its share, L with it is kept apart.
template <class F>
RingResult<F> with_sink(const RingPart<F>& state, const Vector<F>& sink) {
  RingResult<F> y{state.o, state.lse, state.lse.clone()};
  if (sink.data() == nullptr) return y;
  const Index n = state.o.shape()[1], H = state.o.shape()[2], dv = state.o.shape()[3];
  for (Index row = 0; row < state.lse.size(); ++row) {
    const Index i = row % n, h = row / n % H, b = row / n / H;
    const F mine = state.lse.data()[row], g = sink[h];
    const F top = std::max(mine, g);
    if (top == -std::numeric_limits<F>::infinity()) continue;
    const F sum = std::exp(mine - top) + std::exp(g - top), share = std::exp(mine - top) / sum;
    y.lse_sink.data()[row] = top + std::log(sum);
    for (Index c = 0; c < dv; ++c) y.o.data()[((b * n + i) * H + h) * dv + c] *= share;
  }
  return y;
}

}  // namespace

template <class F>
RingResult<F> ring_forward(Communicator& ranks, const RingPlan& plan, const RingShard<F>& shard) {
  Ring<F> ring(ranks, plan, shard);
  const Index B = shard.q.shape()[0], n = shard.q.shape()[1], H = shard.q.shape()[2], dv = shard.v.shape()[3];
  RingPart<F> state{Tensor<F>({B, n, H, dv}, F(0)), Tensor<F>({B, H, n}, -std::numeric_limits<F>::infinity())};
  for (int step = 0; step < ranks.size(); ++step) {
    const RingSight sight = ring.sight();
    if (!ring.left_out(sight)) merge_part(state, attend_block(shard.q, ring.k(), ring.v(), sight));
    if (step + 1 < ranks.size()) ring.move(1);
  }
  return with_sink(state, shard.sink);
}

template <class F>
RingGradients<F> ring_backward(Communicator& ranks, const RingPlan& plan, const RingShard<F>& shard,
                               const RingResult<F>& result, const Tensor<F>& d_o) {
  require("d_o", d_o.shape(), result.o.shape());
  const int R = ranks.size();
  RingPlan home = plan;
  home.start = 0;  // the gradients travel R hops, and end at home where they begin there
  Ring<F> ring(ranks, home, shard);
  const Index n = d_o.shape()[1], H = d_o.shape()[2], width = d_o.shape()[3];
  //  D_i = sum_c dO_ic O_ic
  Tensor<F> D(result.lse.shape(), F(0));
  for (Index row = 0; row < D.size(); ++row) {
    const Index i = row % n, h = row / n % H, b = row / n / H, at = ((b * n + i) * H + h) * width;
    for (Index c = 0; c < width; ++c) D.data()[row] += d_o.data()[at + c] * result.o.data()[at + c];
  }
  const RingOwner<F> own{shard.q, d_o, result.lse_sink, D};
  RingGradients<F> y{Tensor<F>(shard.q.shape(), F(0)), Tensor<F>(shard.k.shape(), F(0)),
                     Tensor<F>(shard.v.shape(), F(0))};
  for (int step = 0; step < R; ++step) {
    const RingSight sight = ring.sight();
    if (!ring.left_out(sight)) add_block_gradients(own, ring.k(), ring.v(), sight, y.dq, y.dk, y.dv);
    if (R > 1) ring.pass(y.dk, y.dv, modulo(ring.source() - 1, R));
    if (step + 1 < R) ring.move(1);
  }
  return y;
}

#define ASSAY_INSTANTIATE(F)                                                                                         \
  template RingResult<F> ring_forward(Communicator&, const RingPlan&, const RingShard<F>&);                          \
  template RingGradients<F> ring_backward(Communicator&, const RingPlan&, const RingShard<F>&, const RingResult<F>&, \
                                          const Tensor<F>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)

}  // namespace assay

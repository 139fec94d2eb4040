// Ops attention (the local kernel alone, on one rank) and attention_ring, as groups of ranks run them.
#include "distributed/attention/ring.hpp"
#include "distributed/target/ranks.hpp"
#include "reference/attention/ring.hpp"
#include "reference/core/lift.hpp"

namespace assay {
namespace {

using List = std::vector<Index>;

/// The tokens `own` of x [B, S, ..], in F.
template <class F>
Tensor<F> scatter(const Tensor<double>& x, const List& own) {
  Shape shape = x.shape();
  const Index S = shape[1], n = static_cast<Index>(own.size());
  Index inner = 1;
  for (std::size_t dim = 2; dim < shape.size(); ++dim) inner *= shape[dim];
  shape[1] = n;
  const Tensor<F> y = Tensor<F>::uninitialised(shape);
  for (Index b = 0; b < shape[0]; ++b)
    for (Index i = 0; i < n; ++i)
      for (Index c = 0; c < inner; ++c)
        y.data()[(b * n + i) * inner + c] =
            static_cast<F>(x.at_flat((b * S + own[static_cast<std::size_t>(i)]) * inner + c));
  return y;
}

/// The inverse: x [B, n, ..] into the places `own` of y [B, S, ..].
template <class F>
void gather(const Tensor<F>& x, const List& own, const Tensor<double>& y) {
  const Index B = x.shape()[0], S = y.shape()[1], n = static_cast<Index>(own.size());
  const Index inner = B * n == 0 ? 0 : x.size() / (B * n);
  for (Index b = 0; b < B; ++b)
    for (Index i = 0; i < n; ++i)
      for (Index c = 0; c < inner; ++c)
        y.data()[(b * S + own[static_cast<std::size_t>(i)]) * inner + c] =
            static_cast<double>(x.data()[(b * n + i) * inner + c]);
}

/// x [B, H, n] into [B, H, S].
template <class F>
void gather_rows(const Tensor<F>& x, const List& own, const Tensor<double>& y) {
  const Index heads = x.shape()[0] * x.shape()[1], n = x.shape()[2], S = y.shape()[2];
  for (Index r = 0; r < heads; ++r)
    for (Index i = 0; i < n; ++i)
      y.data()[r * S + own[static_cast<std::size_t>(i)]] = static_cast<double>(x.data()[r * n + i]);
}

List up_to(Index n, Index first = 0) {
  List all;
  for (Index i = 0; i < n; ++i) all.push_back(first + i);
  return all;
}

bool is_double(const Call& call) { return call.contract.in->name == formats::fp64.name; }

/// The outputs of a call, not yet written.
Tensors outputs_of(const Call& call) {
  Tensors out;
  for (const TensorSpec& spec : call.op->outputs)
    if (exists(spec, *call.op, call.options))
      out.set(spec.name, Tensor<double>(shape_of(spec, call), not_a_number), &format_of(spec, call.contract));
  return out;
}

void require_shapes(const Call& call) {
  for (const TensorSpec& spec : call.op->inputs)
    if (call.inputs.has(spec.name)) require_shape(spec.name.c_str(), call[spec.name].shape(), shape_of(spec, call));
}

template <class F>
RingShard<F> shard_of(const Call& call, const List& own) {
  RingShard<F> shard{scatter<F>(call["q"], own), scatter<F>(call["k"], own), scatter<F>(call["v"], own), {}, {}};
  if (call.inputs.has("mask")) shard.mask = scatter<unsigned char>(call["mask"], own);
  if (!call.inputs.has("sink")) return shard;
  shard.sink = Vector<F>(call["sink"].size());
  for (Index h = 0; h < shard.sink.size(); ++h) shard.sink[h] = static_cast<F>(call["sink"].at_flat(h));
  return shard;
}

template <class F>
void ring_rank(Communicator& ranks, const Call& call, const RingPlan& plan, const Tensors& out) {
  const List& own = plan.tokens[static_cast<std::size_t>(ranks.rank())];
  const RingShard<F> shard = shard_of<F>(call, own);
  const RingResult<F> y = ring_forward(ranks, plan, shard);
  gather(y.o, own, out["o"]);
  gather_rows(y.lse, own, out["lse"]);
  if (!call.inputs.has("grad_o")) return;
  const RingGradients<F> g = ring_backward(ranks, plan, shard, y, scatter<F>(call["grad_o"], own));
  gather(g.dq, own, out["grad_q"]);
  gather(g.dk, own, out["grad_k"]);
  gather(g.dv, own, out["grad_v"]);
}

void run_ring(const Call& call, const Group& group, Answer& answer) {
  require_shapes(call);
  const auto opt = AttentionRingOptions::from(call.options);
  const auto R = static_cast<int>(opt.ranks);
  visible(0, 0, 0, 0, unsharded(opt));  // refuses a window that is none
  RingPlan plan;
  plan.tokens = shards(opt.schedule, call.size("S"), R);
  plan.rule = {opt.causal == AttentionRingOptions::Causal::causal, static_cast<Index>(opt.window)};
  plan.merge_hidden = opt.hidden == AttentionRingOptions::Hidden::merged;
  plan.start = static_cast<int>(opt.start);
  const Tensors out = outputs_of(call);
  answer.sent = group(R, [&](Communicator& ranks) {
    is_double(call) ? ring_rank<double>(ranks, call, plan, out) : ring_rank<float>(ranks, call, plan, out);
  });
  answer.outputs = out;
}

template <class F>
void local(const Call& call, const RingSight& sight, const Tensors& out) {
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  const RingPart<F> y = attend_block(scatter<F>(call["q"], up_to(Sq)), scatter<F>(call["k"], up_to(Sk)),
                                     scatter<F>(call["v"], up_to(Sk)), sight);
  gather(y.o, up_to(Sq), out["o"]);
  gather_rows(y.lse, up_to(Sq), out["lse"]);
}

void run_local(const Call& call, const Group&, Answer& answer) {
  require_shapes(call);
  const auto opt = AttentionOptions::from(call.options);
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  visible(0, 0, Sq, Sk, opt);
  kv_head(0, call.size("H"), call.size("Hkv"));
  Tensor<unsigned char> mask;
  if (call.inputs.has("mask")) mask = scatter<unsigned char>(call["mask"], up_to(Sq));
  const RingSight sight{{opt.causal != AttentionOptions::Causal::none, static_cast<Index>(opt.window)},
                        up_to(Sq, Sk - Sq),
                        up_to(Sk),
                        mask.data() == nullptr ? nullptr : &mask};
  answer.outputs = outputs_of(call);
  is_double(call) ? local<double>(call, sight, answer.outputs) : local<float>(call, sight, answer.outputs);
}

/// The local kernel has neither bias nor sink, and one alignment and scale.
bool offers_local(const OpSpec& op, std::size_t option, int value) {
  const OptionSpec& o = op.options[option];
  if (o.name == "causal") return o.names[static_cast<std::size_t>(value)] != "top_left";
  return o.name == "window" || o.name == "mask" || value == 0;
}

bool offers_all(const OpSpec&, std::size_t, int) { return true; }

const RegisterRanksOp ring_op({"attention_ring", &offers_all, &run_ring});
const RegisterRanksOp local_op({"attention", &offers_local, &run_local});

}  // namespace
}  // namespace assay

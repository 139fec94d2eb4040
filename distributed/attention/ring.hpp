#pragma once
#include "distributed/attention/block.hpp"
#include "distributed/communicator/communicator.hpp"

// Ring attention (spec/attention/ring.md): the keys and values of each rank go round while queries, O and L stay.
namespace assay {

/// What all ranks know: who owns which tokens (any partition of 0 .. S-1), who sees whom, and how to go about it.
struct RingPlan {
  std::vector<std::vector<Index>> tokens;  // of each rank, in the order in which it holds them
  RingRule rule;
  bool merge_hidden = false;  // compute and merge blocks of which position hides every pair, instead of skipping them
  int start = 0;              // places by which keys and values are moved on before the first step
};

/// One rank's part: n tokens.
template <class F>
struct RingShard {
  Tensor<F> q, k, v;           // [B, n, H, d], [B, n, Hkv, d], [B, n, Hkv, dv], dense
  Tensor<unsigned char> mask;  // [B, n, S], own queries and all keys; or Tensor()
  Vector<F> sink;              // [H] or Vector()
};

/// What the owner keeps: O, L, and L with the sink, for the backward pass.
template <class F>
struct RingResult {
  Tensor<F> o, lse, lse_sink;  // [B, n, H, dv], [B, H, n], [B, H, n]
};

/// Sends (R - 1) times the keys and values of a shard; one time more if start is no multiple of R.
/// @throws Error if the shard is not of the plan's shapes, and what the communicator throws.
template <class F>
RingResult<F> ring_forward(Communicator& ranks, const RingPlan& plan, const RingShard<F>& shard);

template <class F>
struct RingGradients {
  Tensor<F> dq, dk, dv;
};
/// The gradients of sum d_o o, d_o [B, n, H, dv]. Keys and values travel as before; dk and dv of a block travel with
/// it, R times, and end where the block belongs.
template <class F>
RingGradients<F> ring_backward(Communicator& ranks, const RingPlan& plan, const RingShard<F>& shard,
                               const RingResult<F>& result, const Tensor<F>& d_o);

}  // namespace assay

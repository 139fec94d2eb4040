#pragma once
#include "reference/attention/core.hpp"

namespace assay {

// A sink is one more key of logit sink_i and value 0 (spec/attention/sink_logit.md). plain, lse: without it; lse_incl:
// the logarithm of the denominator with it. All [Sq] or [Sq, dv].

/// Attention with the sink from attention without: the weight 1 / (1 + exp(sink - L)) on O; L stays.
template <class T>
Attention<T> with_sink(const Attention<T>& plain, const Vector<T>& sink);

/// The weight that the keys have: 1 - exp(sink - lse_incl), below 1.
template <class T>
Vector<T> mass_of_keys(const Vector<T>& lse_incl, const Vector<T>& sink);

/// The sink as the state of a part without a value: (sink, 0).
template <class T>
Attention<T> sink_state(const Vector<T>& sink, Index dv);

/// Vector-Jacobian product of one head with a sink. d_lse [Sq] belongs to the L that `opt` declares. of_keys.ds is the
/// gradient of the logits; dsink [Sq] that of each row's sink: their sum is that of the head's.
template <class T>
struct SinkVjp {
  AttentionVjp<T> of_keys;
  Vector<T> dsink;
};
template <class T>
SinkVjp<T> sink_vjp(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, const Mask& keep, const Matrix<T>& bias,
                    const Vector<T>& sink, const Matrix<T>& d_o, const Vector<T>& d_lse, const AttentionOptions& opt);

}  // namespace assay

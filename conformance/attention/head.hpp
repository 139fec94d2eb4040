#pragma once
#include "conformance/engine/claim.hpp"
#include "reference/attention/core.hpp"

namespace assay {

/// The first head of the first batch entry of a case, in Bound: what claims on definitions work with.
struct Head {
  Matrix<Bound> q, k, v, bias;  // [Sq, d], [Sk, d], [Sk, dv], [Sq, Sk] or Matrix()
  Mask keep;                    // [Sq, Sk] or Mask()
  AttentionOptions opt;

  Attention<Bound> run() const { return attention(q, k, v, keep, bias, Vector<Bound>(), opt); }
  Matrix<Bound> logits() const { return attention_logits(q, k, bias, opt); }
};

/// Makes the case have at least one of everything, and no sink.
Head head_of(Check& check);
/// The same of a call.
Head head_of(const Call& call);

/// The gradients by input that dO [Sq, dv] has in a call of one head are those of the definition's derivatives:
/// <dO, J d> = <J^T dO, d> for a direction d of each.
void head_adjoint(Check& check, const Call& call, const Matrix<Bound>& d_o,
                  const std::vector<std::pair<const char*, Matrix<Bound>>>& gradients);

}  // namespace assay

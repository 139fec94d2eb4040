#pragma once
#include <vector>

#include "reference/attention/core.hpp"
#include "reference/softmax/merge.hpp"

namespace assay {

/// Keys in the order in which they are met, cut into chunks; a chunk may be empty.
using Chunks = std::vector<std::vector<Index>>;

/// What the exponentials of a running softmax are taken against (spec/attention/online.md, "The reference").
struct ShiftRule {
  enum class Kind {
    running_max,  // the largest logit so far
    stale_max,    // an older one, until it is exceeded by more than `by`
    max_plus,     // the largest so far, plus `by`
    fixed         // `by`, whatever is met
  };
  Kind kind = Kind::running_max;
  double by = 0;
};

/// What attention keeps of the keys met so far: the shift m of its exponentials (-inf: none yet), their sum l, and the
/// weighted sum of values a (field o), not divided by l.
template <class T>
using AttentionState = SoftmaxState<T>;

/// The next shift: of a state with shift `used` that meets the logits x [Sq, c] (-inf: not seen).
template <class T>
Vector<T> next_shift(const Vector<T>& used, const Matrix<T>& x, const ShiftRule& rule);  // [Sq]

/// Takes in one chunk against a shift: x [Sq, c] logits, -inf where not seen, v [c, dv], shift [Sq] (-inf: nothing has
/// been seen).
template <class T>
AttentionState<T> attention_step(const AttentionState<T>& state, const Matrix<T>& x, const Matrix<T>& v,
                                 const Vector<T>& shift);

/// All keys of a head at once, as logits: -inf where not seen.
template <class T>
struct SeenLogits {
  Matrix<T> x;  // [Sq, Sk]
  Matrix<T> v;  // [Sk, dv]
};

/// The states after each chunk; the first is the one before any.
template <class T>
std::vector<AttentionState<T>> attention_states(const SeenLogits<T>& in, const Chunks& chunks, const ShiftRule& rule);

/// Attention of one head in one pass over its keys (spec/attention/online.md). Equal to `attention` without a sink.
/// v finite. The shift of rule `fixed` must be within the exponents of the logits: exp(s - by) neither overflows nor
/// underflows. Throws Error if a chunk names a key that does not exist.
template <class T>
Attention<T> attention_online(const SeenLogits<T>& in, const Chunks& chunks, const ShiftRule& rule);

}  // namespace assay

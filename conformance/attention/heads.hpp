#pragma once
#include <cmath>
#include <functional>
#include <vector>

#include "conformance/engine/claim.hpp"

// What the claims of all pages on op attention share: who sees whom in a call, rows of its tensors, and the claims on
// degenerate inputs that every page repeats (page attention.core, "Conventions").
namespace assay {

/// A case with something in it: B, Sq, Sk at least 1.
Check& something(Check& check);

/// The keys that query i of batch entry b sees.
std::vector<Index> seen_by(const Call& call, Index b, Index i);
void for_each_head(const Call& call, const std::function<void(Index b, Index h)>& f);
void for_each_row(const Call& call,
                  const std::function<void(Index b, Index h, Index i, const std::vector<Index>& seen)>& f);

/// v_jc as query head h reads it; L and row i of the output of a head.
double value_at(const Call& call, Index b, Index h, Index j, Index c);
double lse_at(const Tensors& y, Index b, Index h, Index i);
Vector<double> row_at(const Tensors& y, Index b, Index h, Index i);

/// The call with one head of one batch entry.
Call alone(const Call& call, Index b, Index h);

/// Every row of two answers has the same bits, but those that `differs` names.
void same_but(Check& check, const Tensors& y, const Tensors& expected,
              const std::function<bool(Index b, Index h, Index i)>& differs);

/// All heads give the same bits.
void heads_are_equal(Check& check, const Call& call, const Tensors& y);

// ---- claims of many pages
/// One head of one batch entry, drawn from the case, run alone gives what it gives among others: the same bits where
/// the target declares so, within the bound otherwise.
void alone_is_the_same(Check& check, const Call& call);
/// O = 0 and L = -inf where nothing is seen (L = sink where it is included).
void empty_rows(Check& check);
/// NaN and Inf in keys and values that nobody sees change no bit.
void masked_poison(Check& check);
/// Whatever a row does not see may hold NaN: the row keeps its bits.
void unseen_has_no_influence(Check& check);
/// A NaN in q makes the row of that query and head NaN, if it sees anything, and changes no other bit.
void nan_rows(Check& check);
/// A NaN in v_jc makes column c NaN in the rows that see j, and changes nothing else.
void nan_values(Check& check);

}  // namespace assay

#pragma once
#include <vector>

#include "reference/core/vocabulary/bound_accumulate.hpp"
#include "reference/core/vocabulary/softmax_mean.hpp"

// What the closed form of the softmax-weighted mean (spec/numerics/verdict.md, "The softmax-weighted mean") knows of
// one row of logits: the weights, their errors, and where a running maximum may change.
namespace assay::detail {

/// How an implementation goes through the keys of a row.
struct Passage {
  Index tile = 1;         // keys taken in at a time: at least, or exactly if in_order
  Index splits = 1;       // parts that are merged, at most
  Index steps = 1;        // tiles and parts, at most
  bool several = true;    // whether there may be more than one
  bool in_order = false;  // first key first, and one part
  double slack = 0;       // how far the maximum may rise before it is followed
};
/// What a contract says of rows of `keys` logits.
Passage passage(const Contract& c, Index keys);

using Numbers = std::vector<double>;

/// Weights e = exp(s - top), top the largest logit that takes part, or the sink where that is larger; their errors are
/// relative.
struct MeanRow {
  Index n = 0;            // entries that take part
  std::vector<Index> at;  // their columns
  Numbers s, e, p, q;     // logits, weights, softmax with and without the sink
  Numbers eta;            // variance of e: inherited, of the argument, of exp
  Numbers approximate;    // deviation of exp alone: 0 where e is 1 by construction
  Numbers linear;         // b of e
  Numbers deviation;      // z sigma and b of e
  Numbers met;            // the maximum it is taken against
  Numbers worst;          // what e may be off by at most, rescaling and merging included
  Numbers second;         // what the first order leaves out, as b
  Numbers store;          // variance of rounding p for the product, times 1/3 included
  Numbers inherited_c;    // coefficient of a shared symbol in the logit
  std::vector<std::uint32_t> symbol;
  std::vector<Index> order, group_end;  // entries by logit; where each group of equal ones ends
  bool repeats = false;                 // some logits are equal
  bool exact_logits = true;             // none has an error
  bool ones = true;                     // every weight is 0 or 1 by construction
  bool known = true;                    // and so whatever errors the logits have
  bool special = false, unbounded = false;
  Bound lone;                 // the only logit of a row: its weight is 1 whatever its errors, L has them
  double m = 0, top = 0;      // largest logit, without and with the sink
  double l = 0, inverse = 0;  // sum of e and the sink's weight; 1/l
  double size = 0;            // the largest |logit|, the sink's included
  double p_sink = 0, sink_eta = 0, sink_worst = 0, sink_linear = 0;
  Accumulated sum, key_sum;        // of l, relative to it; of the keys alone
  double grown = 0;                // worst case of the additions of l
  double merge = 0;                // variance of the weight that a part has among others
  Numbers drift;                   // > 0: after this entry the maximum may change; variance of the factor
  std::vector<char> rises, falls;  // and does so, first key first or last key first
};

/// Collects row i, reusing the space of r. sink: -inf for none.
void read_row(const BoundModel& m, const Passage& way, const Matrix<Bound>& s, const Mask& keep, Index i,
              const Bound& sink, MeanRow& r);

/// Variance of sum_k x_k delta_k, delta_k of variance var_k: entries of equal logits share delta as long as they met
/// the same running maximum.
double grouped(const MeanRow& r, const Passage& way, const Numbers& x, const Numbers& var);

/// Variance that rescaling and merging adds to a sum of terms x: each boundary multiplies what came before.
double rescaled(const BoundModel& m, const MeanRow& r, const Passage& way, const Numbers& x);

}  // namespace assay::detail

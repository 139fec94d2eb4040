#pragma once
#include "reference/core/readings/bound_model.hpp"
#include "reference/core/tensor.hpp"

namespace assay::detail {

/// What adding n terms in the contract's accumulator does to their sum.
struct Accumulated {
  double s2 = 0, b = 0, w = 0;
  double growth = 0;   // w relative to the terms' absolute sum
  bool exact = false;  // every partial sum, in any order, fits the accumulator
};

/// What is known of the terms that a kernel adds.
struct Terms {
  double errors = 0;   // how much they may deviate in all: sum of their w
  bool known = true;   // the operands are these numbers
  bool exact = true;   // and so are the terms: their products, if they are products, need no rounding
  double floor = 0;    // what mma adds for operands below the normal range of their format: sum of (|term| with such
                       // operands raised to the smallest normal) - |term|
  bool detect = true;  // whether a sum that fits the accumulator in any order may be called exact
};

/// Terms t[0..n-1] as the definition has them.
Accumulated accumulate(const BoundModel& m, const double* t, Index n, const Terms& terms);

/// Parts of the algebra that a test or an experiment may switch off to see what they are for. All on.
struct AlgebraSwitches {
  bool grouping = true, order = true, drift = true, lattice = true, exactness = true, share = true;
};
AlgebraSwitches& algebra_switches();

}  // namespace assay::detail

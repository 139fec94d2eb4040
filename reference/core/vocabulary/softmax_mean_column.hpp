#pragma once
#include <optional>

#include "reference/core/vocabulary/bound_groups.hpp"
#include "reference/core/vocabulary/softmax_mean_row.hpp"

// The closed form of the softmax-weighted mean, element by element (spec/numerics/verdict.md, "The softmax-weighted
// mean"). Numerator and denominator share the errors of the weights, so the mean moves by p_k (v_k - o) for a relative
// error of e_k.
namespace assay::detail {

/// One column of values at the entries of a row.
struct Column {
  Numbers x;
  bool errors = false;
  Numbers s2, b, w, allowed, c;
  std::vector<std::uint32_t> symbol;
};

/// The mean of v under the row's weights; mean: its value.
Bound mean_of(const BoundModel& m, const Passage& way, const MeanRow& r, const Column& v, double mean);
/// The log-sum-exp of the row's logits.
Bound lse_of(const BoundModel& m, const Passage& way, const MeanRow& r, double lse);

/// What rounding p left no choice about: the stored weights, and how far the ambiguous ones may be off.
struct Stored {
  Numbers weight, ambiguous;
  double l = 1, variance = 0, linear = 0;  // the divisor, with its relative errors; 1 where p is normalised
};

/// The stored weights where the errors leave no choice but between neighbours: where the maximum that each is taken
/// against is known. Nothing where a weight may be one of three.
std::optional<Stored> emulate(const BoundModel& m, const Passage& way, const MeanRow& r, const Bound& sink);
/// The mean under stored weights; exact_mean: under the weights as they are.
Bound mean_of(const BoundModel& m, const Passage& way, const MeanRow& r, const Stored& stored, const Column& v,
              double exact_mean);

// What both forms share.

/// Terms of the product with v.
struct Products {
  Numbers t;
  Accumulated sum;
  double absolute = 0, partial = 0, lost = 0;
};
void multiply(const BoundModel& m, const MeanRow& r, const Numbers& weight, const Column& v, bool known, Products& y);
/// Adds the errors of the values themselves, weighted.
void add_values(const MeanRow& r, const Numbers& weight, double scale, const Column& v, SymbolSums& symbols, Bound& y);
/// Variance of the roundings of numerator and sum where tiles and parts end.
double ends_of_tiles(const BoundModel& m, const Passage& way, const MeanRow& r, const Numbers& weight, double scale,
                     const Column& v, double mean);
/// The worst case, to all orders: every weight off by its tau, rounded for the product and for the sum independently,
/// sums as bad as any order makes them.
double worst_of(const BoundModel& m, const Passage& way, const MeanRow& r, const Column& v, const Products& y,
                double mean);
/// Whether sums taken against an earlier, lower maximum may overflow.
bool overflows(const BoundModel& m, const Passage& way, const Column& v);
/// Of the reference's own arithmetic.
double own_error(const Passage& way, const MeanRow& r, const Products& y, double mean);

}  // namespace assay::detail

#pragma once
#include "conformance/attention/heads.hpp"
#include "reference/attention/mla_absorbed.hpp"

// What the claims of both pages on op mla_decode share.
namespace assay {

/// The keys that query i of batch entry b sees.
inline bool mla_sees(const Call& call, Index b, Index i, Index j) {
  const Index Sq = call["q_nope"].shape()[1], Sk = call["c"].shape()[1];
  if (call.option("causal") == 0 && j > i + Sk - Sq) return false;
  return !call.inputs.has("mask") || call["mask"].at_flat((b * Sq + i) * Sk + j) != 0;
}

/// A copy of x whose element is set at (i, j, k, l) of a tensor of rank 3 (l = 0) or 4.
inline Tensor<double> with_element(const Tensor<double>& x, const Shape& at, double value) {
  const Tensor<double> y = x.clone();
  Index flat = 0;
  for (std::size_t d = 0; d < at.size(); ++d) flat = flat * y.shape()[d] + at[d];
  y.data()[flat] = value;
  return y;
}

/// The first head of the first batch entry of a cached case, in Bound.
inline MlaHead<Bound> mla_head(const Call& call) {
  const Eval<Bound> e(call);
  const auto block = [&](const char* name, Index rows, Index cols, Index stride) {
    Matrix<Bound> x(rows, cols);
    const Tensor<Bound> t = e.tensor(name);
    for (Index i = 0; i < rows; ++i)
      for (Index c = 0; c < cols; ++c) x(i, c) = t.at_flat(i * stride + c);
    return x;
  };
  const Index H = call.size("H"), dc = call.size("dc"), dn = call.size("dn"), dr = call.size("dr");
  const Index Sq = call.size("Sq"), Sk = call.size("Sk"), dvh = call.size("dvh");
  MlaHead<Bound> head{block("c", Sk, dc, dc),
                      block("k_rope", Sk, dr, dr),
                      block("q_nope", Sq, dn, H * dn),
                      block("q_rope", Sq, dr, H * dr),
                      block("w_uk", dc, dn, H * dn),
                      block("w_uv", dc, dvh, H * dvh),
                      Mask(Sq, Sk)};
  for (Index i = 0; i < Sq; ++i)
    for (Index j = 0; j < Sk; ++j) head.keep(i, j) = mla_sees(call, 0, i, j);
  return head;
}

/// |x - y| of two answers to one question may be as large as both bounds, and both roundings.
inline void close(Check& check, const std::string& what, double x, const Bound& at_x, double y, const Bound& at_y,
                  const Format& format) {
  if (std::isnan(x) || std::isnan(y) || std::isinf(x) || std::isinf(y)) return check.same_bits(what, x, y);
  check.at_most(what, std::fabs(x - y), at_x.w + at_y.w + std::fabs(at_x.v - at_y.v) + ulp(format, x) + ulp(format, y));
}

/// Of a case in either form: rows that see no key give O = 0 and L = -inf; what a key holds that nobody sees has no
/// influence; a NaN makes NaN what sees it, and nothing else.
void mla_empty_rows(Check& check);
void mla_masked_poison(Check& check);
void mla_nan_rows(Check& check);

}  // namespace assay

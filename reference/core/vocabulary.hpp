#pragma once
#include <vector>

#include "reference/core/contract.hpp"
#include "reference/core/readings/bound.hpp"
#include "reference/core/readings/count.hpp"
#include "reference/core/readings/dual.hpp"
#include "reference/core/readings/flow.hpp"
#include "reference/core/readings/wide.hpp"
#include "reference/core/tensor.hpp"

// The words definitions are written in. Each is compiled once per reading (reference/core/vocabulary/), so a definition
// costs little to compile; what a word means for a reading is stated there, once. Shapes: X [rows, cols]; "rows" are
// tokens. A word throws Error naming both shapes if they do not fit. Where a word takes its matrix by value it writes
// into it if nobody else holds it: a chain of words over temporaries fills one matrix.
namespace assay {

/// 1 keeps, 0 removes; an empty mask (Mask()) keeps everything.
using Mask = Matrix<unsigned char>;
using RowMask = Vector<unsigned char>;

inline constexpr double infinity = __builtin_huge_val();
inline constexpr double not_a_number = __builtin_nan("");

inline double value(double x) { return x; }

// Shapes
template <class T>
Matrix<T> full(Index rows, Index cols, double value);
template <class T>
Vector<T> full(Index n, double value);
template <class T>
Matrix<T> transpose(const Matrix<T>& x);  // a view; of a mask too
template <class T>
Matrix<T> concat_cols(const Matrix<T>& x, const Matrix<T>& y);  // [rows, cx + cy]
template <class T>
Matrix<T> concat_rows(const Matrix<T>& x, const Matrix<T>& y);  // [rx + ry, cols]
template <class T>
Matrix<T> take_cols(const Matrix<T>& x, const std::vector<Index>& which);  // column j is x's which[j]
template <class T>
Matrix<T> take_rows(const Matrix<T>& x, const std::vector<Index>& which);
template <class T>
Matrix<T> diag(const Vector<T>& x);  // [n, n]
template <class T>
Matrix<T> as_col(const Vector<T>& x);  // [n, 1]

// Element by element
template <class T>
Matrix<T> operator+(const Matrix<T>& x, const Matrix<T>& y);
template <class T>
Matrix<T> operator-(const Matrix<T>& x, const Matrix<T>& y);
template <class T>
Matrix<T> operator*(const Matrix<T>& x, const Matrix<T>& y);
template <class T>
Vector<T> operator+(const Vector<T>& x, const Vector<T>& y);
template <class T>
Vector<T> operator-(const Vector<T>& x, const Vector<T>& y);
template <class T>
Vector<T> operator*(const Vector<T>& x, const Vector<T>& y);
template <class T>
Vector<T> operator/(const Vector<T>& x, const Vector<T>& y);
template <class T>
Matrix<T> operator*(double s, const Matrix<T>& x);
template <class T>
Vector<T> operator*(double s, const Vector<T>& x);
template <class T>
Matrix<T> operator+(double s, const Matrix<T>& x);
template <class T>
Vector<T> operator+(double s, const Vector<T>& x);
template <class T>
Matrix<T> exp(Matrix<T> x);
template <class T>
Vector<T> exp(const Vector<T>& x);
template <class T>
Matrix<T> exp2(const Matrix<T>& x);
template <class T>
Matrix<T> tanh(const Matrix<T>& x);
template <class T>
Vector<T> log(const Vector<T>& x);
template <class T>
Vector<T> sqrt(const Vector<T>& x);
template <class T>
Vector<T> max(const Vector<T>& x, const Vector<T>& y);

// A vector against a matrix: one value per row, or one per column
template <class T>
Matrix<T> add_rows(Matrix<T> x, const Vector<T>& a);  // x_ij + a_i
template <class T>
Matrix<T> sub_rows(Matrix<T> x, const Vector<T>& a);  // x_ij - a_i
template <class T>
Matrix<T> scale_rows(Matrix<T> x, const Vector<T>& a);  // x_ij a_i
template <class T>
Matrix<T> div_rows(Matrix<T> x, const Vector<T>& a);  // x_ij / a_i
template <class T>
Matrix<T> add_cols(Matrix<T> x, const Vector<T>& a);  // x_ij + a_j
template <class T>
Matrix<T> scale_cols(Matrix<T> x, const Vector<T>& a);  // x_ij a_j
template <class T>
Matrix<T> affine(Matrix<T> x, const Vector<T>& r, const Vector<T>& g);  // x_ij r_i g_j
template <class T>
Matrix<T> affine(Matrix<T> x, const Vector<T>& r, const Vector<T>& g, const Vector<T>& b);  // x_ij r_i g_j + b_j

// Reductions: primitives, whose bound is a closed form (spec/numerics/verdict.md)
template <class T>
Matrix<T> matmul(const Matrix<T>& x, const Matrix<T>& y);  // [m, k] [k, n] -> [m, n]
/// The same over kept pairs alone: sum_j x_ij y_jc, keep_ij [m, k]. What y holds elsewhere has no influence, NaN
/// neither.
template <class T>
Matrix<T> matmul(const Mask& keep, const Matrix<T>& x, const Matrix<T>& y);
template <class T>
Vector<T> sum_rows(const Matrix<T>& x);  // sum_j x_ij -> [rows]
template <class T>
Vector<T> mean_rows(const Matrix<T>& x);  // (1/cols) sum_j x_ij -> [rows]
template <class T>
struct Centred {
  Vector<T> mean;  // [rows]
  Matrix<T> c;     // [rows, cols], x_ij - mean_i
};
template <class T>
Centred<T> center_rows(const Matrix<T>& x);  // mean_rows and sub_rows, a row at a time
template <class T>
Vector<T> sum_cols(const Matrix<T>& x);  // sum_i x_ij -> [cols]
template <class T>
Vector<T> max_rows(const Matrix<T>& x);  // max_j x_ij, -inf if cols = 0, NaN if any is
template <class T>
Vector<T> dot_rows(const Matrix<T>& x, const Matrix<T>& y);  // sum_j x_ij y_ij -> [rows]
template <class T>
T inner(const Matrix<T>& x, const Matrix<T>& y);  // sum_ij x_ij y_ij
template <class T>
T inner(const Vector<T>& x, const Vector<T>& y);
template <class T>
Vector<T> inv_rms(const Matrix<T>& x, double eps);  // 1 / sqrt(mean_j x_ij^2 + eps) -> [rows]
template <class T>
Vector<T> inv_rms_eps_outside(const Matrix<T>& x, double eps);  // 1 / (sqrt(mean_j x_ij^2) + eps)
/// inv_rms of the rows c = x - mean, where an implementation may take both moments in one pass over x (Welford, Chan).
template <class T>
Vector<T> inv_std(const Matrix<T>& c, const Vector<T>& mean, double eps);
template <class T>
Vector<T> inv_std_eps_outside(const Matrix<T>& c, const Vector<T>& mean, double eps);

/// The mean of the rows of a matrix weighted by the softmax of each row of logits, and the log-sum-exp of those logits
/// (natural logarithm). A row without an entry has o = 0 and lse = -inf.
template <class T>
struct SoftmaxMean {
  Vector<T> lse;  // [rows]
  Matrix<T> o;    // [rows, d]
};

/// What attention is made of: o_i = sum_j p_ij v_j, p_ij = exp(s_ij) / (exp(sink_i) + sum_j exp(s_ij)), j over the
/// entries that are kept and not -inf; lse_i = ln sum_j exp(s_ij), without the sink.
///   s [rows, n], v [n, d], keep [rows, n] or Mask(), sink [rows] or Vector() (as -inf: none)
/// What takes no part has no influence, NaN included: entries are selected, not multiplied by 0. NaN or +inf among a
/// row's logits makes that row NaN, NaN in v_jc column c of the rows that take j in; a sink of +inf gives o = 0. Rows
/// do not depend on each other, nor on how they are cut into blocks. Memory: rows times n, at most 64 rows at a time.
/// Accuracy in double: u (n + 4 + 2 max |s - max s|) sum_j p_j |v_j|. Throws Error if shapes do not fit.
template <class T>
SoftmaxMean<T> softmax_mean(const Matrix<T>& s, const Matrix<T>& v, const Mask& keep, const Vector<T>& sink);

/// y is the softmax-weighted mean of v under s, computed in chunks of `chunk` entries, first to last, against the
/// maximum so far, which is followed once it has risen by more than `slack`. Exact readings pass y on; Bound gives it
/// the error of a softmax_mean whose passage is known.
template <class T>
SoftmaxMean<T> mean_in_chunks(const SoftmaxMean<T>& y, const Matrix<T>& s, const Matrix<T>& v, Index chunk,
                              double slack);

/// The shift of a softmax: any value serves there, so its errors and its derivative are dropped; -inf (an empty row)
/// becomes 0.
template <class T>
Vector<T> anchor(const Vector<T>& m);
/// The shift of a running softmax that has used `used` and has met `top`: `used` while top - used <= slack, else `top`.
/// Errors and derivatives are dropped as by anchor; -inf stays, and NaN in `top` comes through.
template <class T>
Vector<T> stale(const Vector<T>& used, const Vector<T>& top, double slack);

// Decisions. `select` takes x where kept and the constant elsewhere; what is not selected contributes neither value nor
// error nor dependence. The is_ words look at values that carry no error.
template <class T>
Matrix<T> select(const Mask& keep, const Matrix<T>& x, double otherwise);
template <class T>
Matrix<T> select_rows(const RowMask& keep, const Matrix<T>& x, double otherwise);
template <class T>
Matrix<T> select_rows(const RowMask& keep, const Matrix<T>& x, const Vector<T>& otherwise);  // row i: otherwise_i
template <class T>
Vector<T> select(const RowMask& keep, const Vector<T>& x, double otherwise);
template <class T>
RowMask is_neg_inf(const Vector<T>& x);
RowMask operator!(const RowMask& m);

/// A rounding site. Exact readings pass x on; under a contract double rounds it if it emulates, Bound adds the site's
/// error.
template <class T>
Matrix<T> at(Site site, Matrix<T> x);
template <class T>
Vector<T> at(Site site, Vector<T> x);

template <class T>
Vector<double> values(const Vector<T>& x);
template <class T>
Matrix<double> values(const Matrix<T>& x);

void require_shape(const char* tensor, const Shape& found, const Shape& expected);
/// An option that counts something, at least `least`.
Index require_whole(const char* option, double number, Index least);
template <class T>
Shape shape(const Matrix<T>& x) {
  return {x.rows(), x.cols()};
}
template <class T>
Shape shape(const Vector<T>& x) {
  return {x.size()};
}

/// Instantiates M(T) for every reading.
#define ASSAY_READINGS(M) \
  M(double) M(::assay::Bound) M(::assay::Dual) M(::assay::Flow) M(::assay::Count) M(::assay::Wide)

}  // namespace assay

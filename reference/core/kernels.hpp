#pragma once
#include <string_view>

#include "reference/core/tensor.hpp"

/// The arithmetic floor under the vocabulary, on plain pointers: the same bits on every machine, whatever the
/// instruction set, the tiling and the number of threads. Sizes and strides count elements; a stride may be negative or
/// zero. Outputs are dense and may be the same array as an input of the same size (never overlap it partly); the output
/// of `matmul` overlaps no input. A NaN is one value: its sign and payload are not specified.
namespace assay::kernels {

/// c[m, n] = a[m, k] b[k, n]. Each output is one chain of fused multiply-adds, k ascending, starting from +0:
/// acc = +0; for p in 0..k-1: acc = fma(a(i, p), b(p, j), acc). So k = 0 gives +0, and a product of -0 alone gives +0.
/// a(i, p) = a[i * a_rs + p * a_cs], b(p, j) = b[p * b_rs + j * b_cs], c(i, j) = c[i * c_rs + j].
/// Large products are computed by several threads.
void matmul(const double* a, Index a_rs, Index a_cs, const double* b, Index b_rs, Index b_cs, double* c, Index c_rs,
            Index m, Index n, Index k);
/// The same on the calling thread alone.
void matmul_serial(const double* a, Index a_rs, Index a_cs, const double* b, Index b_rs, Index b_cs, double* c,
                   Index c_rs, Index m, Index n, Index k);

/// The one sum of `double` used by every sum, mean and norm. Elements go in groups of 64, a last one filled up with +0.
/// Of a group y, lane l of sixteen gets t = (y[l] + y[l+16]) + (y[l+32] + y[l+48]), and adds it to its (S, E), all +0
/// at first: (S, e) = two_sum(S, t), E += e. Then the lanes are joined by halves: for h = 8, 4, 2, 1, for l < h: (S_l,
/// e) = two_sum(S_l, S_{l+h}), E_l = (E_l + E_{l+h}) + e. The sum is S_0 + E_0 where E_0 is finite, and S_0 otherwise.
///
/// |error| <= u |sum| + (2u + g^2) sum |x|, g = (n / 64 + 18) u, u = 2^-53: two additions within a group err by 2u +
/// u^2, and the rest as Ogita, Rump, Oishi 2005, Prop. 4.5. Below 4u relative for terms of one sign, whatever n is. At
/// most 16 terms: u |sum| + g^2 sum |x|. n = 0 gives +0; the sum of -0 alone is +0. A NaN, or infinities of both signs,
/// give NaN; infinities of one sign give that infinity. A partial sum of a group, a lane or of the join that overflows
/// counts as an infinity, even where later terms would cancel it.
double sum(const double* x, Index n, Index stride = 1);
/// That sum of the products x[i] * x[i], each rounded first.
double sum_squares(const double* x, Index n, Index stride = 1);
/// That sum of the products x[i] * y[i], each rounded first.
double sum_products(const double* x, Index x_stride, const double* y, Index y_stride, Index n);

/// The largest element: NaN if there is one, +0 above -0, -inf for n = 0.
double max(const double* x, Index n, Index stride = 1);

/// y[i] = x[i] - m
void center(const double* x, double m, double* y, Index n);
/// y[i] = x[i] * r
void scale(const double* x, double r, double* y, Index n);
/// y[i] = x[i] / d
void divide(const double* x, double d, double* y, Index n);
/// z[i] = x[i] + y[i]
void add(const double* x, const double* y, double* z, Index n);
/// z[i] = x[i] - y[i]
void subtract(const double* x, const double* y, double* z, Index n);
/// z[i] = x[i] * y[i]
void multiply(const double* x, const double* y, double* z, Index n);

// The fused forms below exist for speed alone: bit for bit what the words in their formulas give one after the other.

/// y[i] = (x[i] * r) * w[i]
void scale_multiply(const double* x, double r, const double* w, double* y, Index n);
/// y[i] = (x[i] * r) * w[i] + b[i]
void scale_multiply_add(const double* x, double r, const double* w, const double* b, double* y, Index n);
/// y[i] = exp(x[i] - m)
void subtract_exp(const double* x, double m, double* y, Index n);
/// The same, and returns `sum` of y.
double subtract_exp_sum(const double* x, double m, double* y, Index n);

/// The instruction set in use: "base", "avx2" or "avx512". The best one that this processor has, unless the environment
/// variable ASSAY_ISA names another; the first call of a kernel throws Error if that one is unknown or not here.
std::string_view isa();

}  // namespace assay::kernels

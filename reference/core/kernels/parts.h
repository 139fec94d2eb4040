/* The functions of one instruction set as its table.cpp sees them; reference/core/kernels.hpp says what they do. */
#ifndef ASSAY_REFERENCE_CORE_KERNELS_PARTS_H
#define ASSAY_REFERENCE_CORE_KERNELS_PARTS_H
#include "reference/core/kernels/simd.h"
#include "reference/core/kernels/table.h"

namespace ASSAY_ISA {

void matmul(const double* a, int64_t a_rs, int64_t a_cs, const double* b, int64_t b_rs, int64_t b_cs, double* c,
            int64_t c_rs, int64_t m, int64_t n, int64_t k, double* scratch);

double sum(const double* x, int64_t n, int64_t stride);
double sum_squares(const double* x, int64_t n, int64_t stride);
double sum_products(const double* x, int64_t x_stride, const double* y, int64_t y_stride, int64_t n);
double subtract_exp_sum(const double* x, double m, double* y, int64_t n);

double max(const double* x, int64_t n, int64_t stride);
assay_map_scalar center, scale, divide, subtract_exp;
assay_map_pair add, subtract, multiply;
void scale_multiply(const double* x, double r, const double* w, double* y, int64_t n);
void scale_multiply_add(const double* x, double r, const double* w, const double* b, double* y, int64_t n);

assay_map exp, exp2, expm1, log, log2, log1p, sin, cos, tanh, erf;

}  // namespace ASSAY_ISA

#endif

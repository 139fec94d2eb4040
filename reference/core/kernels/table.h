/* What one object file per instruction set offers. Included by files that are compiled with different instruction
   sets: so it is plain C, without any inline function that the linker could share between them. */
#ifndef ASSAY_REFERENCE_CORE_KERNELS_TABLE_H
#define ASSAY_REFERENCE_CORE_KERNELS_TABLE_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Doubles of 64-byte aligned scratch memory that matmul needs. */
enum { ASSAY_MATMUL_SCRATCH = 256 * 1536 + 512 * 256 + 256 + 512 * 8 };

typedef void assay_map(const double* x, double* y, int64_t n);
typedef void assay_map_scalar(const double* x, double r, double* y, int64_t n);
typedef void assay_map_pair(const double* x, const double* y, double* z, int64_t n);

struct assay_kernels {
  void (*matmul)(const double* a, int64_t a_rs, int64_t a_cs, const double* b, int64_t b_rs, int64_t b_cs, double* c,
                 int64_t c_rs, int64_t m, int64_t n, int64_t k, double* scratch);
  double (*sum)(const double* x, int64_t n, int64_t stride);
  double (*sum_squares)(const double* x, int64_t n, int64_t stride);
  double (*sum_products)(const double* x, int64_t x_stride, const double* y, int64_t y_stride, int64_t n);
  double (*max)(const double* x, int64_t n, int64_t stride);
  assay_map_scalar *center, *scale, *divide, *subtract_exp;
  assay_map_pair *add, *subtract, *multiply;
  void (*scale_multiply)(const double* x, double r, const double* w, double* y, int64_t n);
  void (*scale_multiply_add)(const double* x, double r, const double* w, const double* b, double* y, int64_t n);
  double (*subtract_exp_sum)(const double* x, double m, double* y, int64_t n);
  assay_map *exp, *exp2, *expm1, *log, *log2, *log1p, *sin, *cos, *tanh, *erf;
};

/* Where SLEEF's forms need mending, for x above the limit: the scalar result (reference/core/math.cpp). */
#define ASSAY_EXP_LIMIT 0x1.62e42fe1p+9
#define ASSAY_LOG1P_LIMIT 0x1p+1000
double assay_exp_above_limit(double x);
double assay_log1p_above_limit(double x);

extern const struct assay_kernels assay_kernels_base, assay_kernels_avx2, assay_kernels_avx512;

#ifdef __cplusplus
}
#endif
#endif

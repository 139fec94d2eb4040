/* The call of the matrix products of page model.linear, and the shape of their launch. Plain C: read by kernels and by
   whoever launches them. Strides count elements between rows; elements of a row are contiguous. */
#ifndef ASSAY_GPU_MODEL_GEMM_H
#define ASSAY_GPU_MODEL_GEMM_H
#include <stdint.h>

struct assay_gemm {
  const uint16_t *a, *b; /* [m, k], [k, n], fp16 or bf16 */
  const uint16_t* bias;  /* [n], null: none */
  uint16_t* c;           /* [m, n] */
  int64_t a_stride, b_stride, bias_stride, c_stride;
  int32_t m, n, k;
  int32_t a_aligned, b_aligned; /* every row starts at a multiple of 16 bytes */
};

/* Grid (ceil(n / columns), ceil(m / rows)), `threads` threads. */
enum { ASSAY_GEMM_ROWS = 64, ASSAY_GEMM_COLUMNS = 64, ASSAY_GEMM_THREADS = 128 };

#endif

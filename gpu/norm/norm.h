/* The call of the kernels of norm.rms and norm.layer, and the shape of their launch. Plain C: read by kernels and by
   whoever launches them. Strides count elements. */
#ifndef ASSAY_GPU_NORM_NORM_H
#define ASSAY_GPU_NORM_NORM_H
#include <stdint.h>

struct assay_norm {
  const void* x;     /* [T, d] */
  const void *w, *b; /* [d], b may be null */
  void* y;           /* [T, d] */
  int64_t x_stride[2], y_stride[2];
  int64_t w_stride, b_stride;
  int32_t rows, d;
  float eps;
  int32_t eps_outside; /* added to the root instead of inside it */
  int32_t one_plus_w;  /* the gain is 1 + w */
  int32_t cast_mid;    /* norm.rms: x r is rounded to the output's format before the gain */
};

/* Grid (ceil(rows / ASSAY_NORM_ROWS)), `threads` threads. */
enum { ASSAY_NORM_ROWS = 4, ASSAY_NORM_THREADS = 128 };

#endif

/* The call of the softmax kernels, and the shape of their launch. Plain C: read by kernels and by whoever launches
   them. Tensors as on page softmax.safe; strides count elements. */
#ifndef ASSAY_GPU_SOFTMAX_SOFTMAX_H
#define ASSAY_GPU_SOFTMAX_SOFTMAX_H
#include <stdint.h>

enum { ASSAY_SOFTMAX_EMPTY_ZERO, ASSAY_SOFTMAX_EMPTY_NAN, ASSAY_SOFTMAX_EMPTY_UNIFORM };

struct assay_softmax {
  const void* x;       /* [T, n] */
  const uint8_t* mask; /* [T, n], 1 keeps an entry; null: all are kept */
  const void* sink;    /* [T], null: none */
  void *p, *log_p;     /* [T, n], either may be null */
  float* lse;          /* [T] */
  int64_t x_stride[2], mask_stride[2], p_stride[2], log_p_stride[2];
  int64_t sink_stride, lse_stride;
  int32_t rows, n, empty_row;
};

/* Grid (ceil(rows / ASSAY_SOFTMAX_ROWS)), `threads` threads. */
enum { ASSAY_SOFTMAX_ROWS = 4, ASSAY_SOFTMAX_THREADS = 128 };

#endif

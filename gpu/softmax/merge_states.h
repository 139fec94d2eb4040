/* The call of the kernels of page softmax.merge, and the shape of their launch. Plain C: read by kernels and by whoever
   launches them. Strides count elements. */
#ifndef ASSAY_GPU_SOFTMAX_MERGE_STATES_H
#define ASSAY_GPU_SOFTMAX_MERGE_STATES_H
#include <stdint.h>

/* m is the maximum of form mlo and the LSE of form lse; l is null in form lse. */
struct assay_merge_part {
  const float *m, *l; /* [T] */
  const void* o;      /* [T, d] */
  int64_t m_stride, l_stride, o_stride[2];
};
struct assay_merge_states {
  struct assay_merge_part part[2];
  float *m, *l;
  void* o;
  int64_t m_stride, l_stride, o_stride[2];
  int32_t rows, d;
};

/* Grid (ceil(rows / ASSAY_MERGE_ROWS)), `threads` threads. */
enum { ASSAY_MERGE_ROWS = 4, ASSAY_MERGE_THREADS = 128 };

#endif

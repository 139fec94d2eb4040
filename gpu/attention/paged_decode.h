/* The calls of the two kernels of paged decode attention, and the shapes of their launches. Plain C: read by kernels
   and by whoever launches them. Tensors as on page attention.paged; strides count elements. */
#ifndef ASSAY_GPU_ATTENTION_PAGED_DECODE_H
#define ASSAY_GPU_ATTENTION_PAGED_DECODE_H
#include <stdint.h>

/* The keys of a request are cut into this many parts of at least this many keys, by its own length alone. */
enum { ASSAY_PAGED_SPLITS = 4, ASSAY_PAGED_SPLIT_MIN = 16 };

struct assay_paged_pages {
  const void* base; /* [pages, slots, heads, width] in any order of the middle two */
  int64_t page, slot, head, element;
};

struct assay_paged_decode {
  const void* q; /* [B, Sq, H, d] */
  struct assay_paged_pages k, v;
  const int32_t *lens, *table; /* [B], [B, blocks] */
  float *part_o, *part_lse;    /* [B, Sq H, splits, dv], [B, Sq H, splits], dense */
  void* o;                     /* [B, Sq, H, dv] */
  float* lse;                  /* [B, H, Sq] */
  int64_t q_stride[4], o_stride[4], lse_stride[3];
  int64_t lens_stride, table_stride[2];
  int32_t batch, sq, heads, group, d, dv; /* group: query heads that share a key-value head */
  int32_t pages, slots, blocks;           /* slots of a page, blocks of the table */
  int32_t causal;
  float scale;
};

/* Parts: grid (splits, ceil(Sq H / warps), B). Merge: grid (ceil(Sq H / warps), B). `threads` threads each. */
enum { ASSAY_PAGED_WARPS = 4, ASSAY_PAGED_THREADS = 128, ASSAY_PAGED_WIDTH = 256 };

#endif

/* The call of a forward attention kernel, and the shape of its launch. Plain C: read by kernels and by whoever launches
   them. Tensors as on page attention.core; strides count elements, and the last size is contiguous. */
#ifndef ASSAY_GPU_ATTENTION_FLASH_FORWARD_H
#define ASSAY_GPU_ATTENTION_FLASH_FORWARD_H
#include <stdint.h>

struct assay_flash_strides {
  int64_t batch, sequence, head;
};

struct assay_flash_forward {
  const uint16_t *q, *k, *v; /* [B, Sq, H, d], [B, Sk, Hkv, d], [B, Sk, Hkv, d], fp16 or bf16 */
  uint16_t* o;               /* [B, Sq, H, d] */
  float* lse;                /* [B, H, Sq], natural logarithm */
  struct assay_flash_strides q_stride, k_stride, v_stride, o_stride, lse_stride;
  int32_t sq, sk, heads, group; /* group: query heads that share a key-value head */
  int32_t d, dv;                /* of q and k, of v and o; at most the width the kernel is built for */
  int32_t aligned;              /* every row of q, k and v starts at a multiple of 16 bytes */
  int32_t offset_by_sizes;      /* the last query stands at the last key; otherwise the first at the first */
  int32_t causal;               /* 1: no key after the query's position */
  int32_t window;               /* keys a query sees at most, its own position and those before it; 0: all */
  float scale;                  /* above 0 */
  /* Of packed sequences (attention.varlen), where B is their number and strides of batches are 0: sequence r owns rows
     ends[r] to ends[r + 1] - 1. Null: sequences of sq and sk. Not for the kernels with mods. */
  const int32_t *ends_q, *ends_k;
  /* What only the kernels with mods look at; null: none. */
  const uint16_t *bias, *sink; /* [H, Sq, Sk], added to scaled logits; [H], one more logit of each head */
  const uint8_t* mask;         /* [B, Sq, Sk], 1: the query may see the key */
  int64_t bias_stride[3], mask_stride[3], sink_stride;
  float softcap;       /* scaled logits x become C tanh(x / C); 0: they do not */
  int32_t lse_of_sink; /* the sink counts in L */
};

/* Grid (ceil(sq / rows), heads, B), `threads` threads, this many bytes of dynamic shared memory. */
enum { ASSAY_FLASH_ROWS = 64, ASSAY_FLASH_KEYS = 64, ASSAY_FLASH_STAGES = 2, ASSAY_FLASH_THREADS = 128 };
#define ASSAY_FLASH_SHARED_BYTES(d) (2 * (d) * (ASSAY_FLASH_ROWS + 2 * ASSAY_FLASH_STAGES * ASSAY_FLASH_KEYS))

#endif

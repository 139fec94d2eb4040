// Forward attention for sm_80: FlashAttention-2 (arXiv 2307.08691, algorithm 1) on mma.sync, with tiles that cp.async
// brings in while the tile before is worked on, and ldmatrix out of swizzled shared memory. Contract: in = out = fp16
// or bf16, acc = fp32, p = in, l summed from the unrounded weights, exponent as fma in base 2.
//
// One block works on 64 queries of one head, a warp on 16 of them. Per tile of 64 keys:
//   S = Q K^T   m' = max(m, rowmax S)   P = 2^(S c - m' c), c = scale log2 e   l = a l + rowsum P   O = a O + P V
// A query that sees no key gives O = 0 and L = -inf; what a query does not see has no influence on its bits. Heads
// narrower than the kernel's are filled up with zeros in shared memory.
// Instructions: mma.sync ldmatrix.sync cp.async.cg
#include "gpu/attention/flash_forward.cuh"

namespace assay {

extern __shared__ __align__(128) std::uint16_t shared_memory[];

#define ASSAY_FLASH(name, d, format)                                                                       \
  extern "C" __global__ void __launch_bounds__(ASSAY_FLASH_THREADS) name(const assay_flash_forward call) { \
    Forward<d, ptx::format, false>(call, shared_memory).run();                                             \
  }
ASSAY_FLASH(attention_fp16_d64_sm80, 64, Fp16)
ASSAY_FLASH(attention_fp16_d128_sm80, 128, Fp16)
ASSAY_FLASH(attention_bf16_d64_sm80, 64, Bf16)
ASSAY_FLASH(attention_bf16_d128_sm80, 128, Bf16)

}  // namespace assay

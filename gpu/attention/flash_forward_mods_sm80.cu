// Forward attention as in flash_forward_sm80.cu, with logits that are capped, biased and masked one by one, and a sink.
// Kernels of their own, so that calls without any of it pay nothing.
// Instructions: mma.sync ldmatrix.sync cp.async.cg
#include "gpu/attention/flash_forward.cuh"

namespace assay {

extern __shared__ __align__(128) std::uint16_t shared_memory[];

#define ASSAY_FLASH(name, d, format)                                                                       \
  extern "C" __global__ void __launch_bounds__(ASSAY_FLASH_THREADS) name(const assay_flash_forward call) { \
    Forward<d, ptx::format, true>(call, shared_memory).run();                                              \
  }
ASSAY_FLASH(attention_mods_fp16_d64_sm80, 64, Fp16)
ASSAY_FLASH(attention_mods_fp16_d128_sm80, 128, Fp16)
ASSAY_FLASH(attention_mods_bf16_d64_sm80, 64, Bf16)
ASSAY_FLASH(attention_mods_bf16_d128_sm80, 128, Bf16)

}  // namespace assay

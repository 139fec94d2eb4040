// RMSNorm, a warp to a row: two passes over it, each lane over every 32nd element, joined by shuffles. Contract: in =
// out = fp32, fp16 or bf16, acc = fp32.
//   r = 1 / sqrt(mean x^2 + eps)     y = x r g
// Instructions: shfl.sync rsqrt.approx
#include "gpu/norm/row.cuh"
#include "gpu/ptx/warp.cuh"

namespace assay {
namespace {

template <class F>
__device__ void rms_norm(const assay_norm& call, int index) {
  const NormRow<F> row{call, index, static_cast<int>(threadIdx.x % 32)};
  float squares = 0;
  for (int i = row.lane; i < call.d; i += 32) squares = fmaf(row.x(i), row.x(i), squares);
  const float r = row.inverse_root(ptx::warp_sum(squares) / static_cast<float>(call.d));
  for (int i = row.lane; i < call.d; i += 32) {
    float x = row.x(i) * r;
    if (call.cast_mid != 0) x = ptx::to_float(ptx::from_float(x, F()), F());
    row.put(i, x * row.gain(i));
  }
}

}  // namespace

#define ASSAY_RMS_NORM(name, format)                                                             \
  extern "C" __global__ void __launch_bounds__(ASSAY_NORM_THREADS) name(const assay_norm call) { \
    const int row = blockIdx.x * ASSAY_NORM_ROWS + threadIdx.x / 32;                             \
    if (row < call.rows) rms_norm<ptx::format>(call, row);                                       \
  }
ASSAY_RMS_NORM(rms_norm_fp32_sm80, Fp32)
ASSAY_RMS_NORM(rms_norm_fp16_sm80, Fp16)
ASSAY_RMS_NORM(rms_norm_bf16_sm80, Bf16)

}  // namespace assay

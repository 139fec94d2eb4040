// Layer normalization, a warp to a row: three passes over it (mean, variance around it, output), each lane over every
// 32nd element, joined by shuffles. Contract: in = out = fp32, fp16 or bf16, acc = fp32.
//   mu = mean x     c = x - mu     r = 1 / sqrt(mean c^2 + eps)     y = c r g + b
// Instructions: shfl.sync rsqrt.approx
#include "gpu/norm/row.cuh"
#include "gpu/ptx/warp.cuh"

namespace assay {
namespace {

template <class F>
__device__ void layer_norm(const assay_norm& call, int index) {
  const NormRow<F> row{call, index, static_cast<int>(threadIdx.x % 32)};
  const float width = static_cast<float>(call.d);
  float sum = 0;
  for (int i = row.lane; i < call.d; i += 32) sum += row.x(i);
  const float mean = ptx::warp_sum(sum) / width;
  float squares = 0;
  for (int i = row.lane; i < call.d; i += 32) {
    const float c = row.x(i) - mean;
    squares = fmaf(c, c, squares);
  }
  const float r = row.inverse_root(ptx::warp_sum(squares) / width);
  for (int i = row.lane; i < call.d; i += 32) {
    const float y = (row.x(i) - mean) * r * row.gain(i);
    row.put(i, call.b == nullptr ? y : y + row.bias(i));
  }
}

}  // namespace

#define ASSAY_LAYER_NORM(name, format)                                                           \
  extern "C" __global__ void __launch_bounds__(ASSAY_NORM_THREADS) name(const assay_norm call) { \
    const int row = blockIdx.x * ASSAY_NORM_ROWS + threadIdx.x / 32;                             \
    if (row < call.rows) layer_norm<ptx::format>(call, row);                                     \
  }
ASSAY_LAYER_NORM(layer_norm_fp32_sm80, Fp32)
ASSAY_LAYER_NORM(layer_norm_fp16_sm80, Fp16)
ASSAY_LAYER_NORM(layer_norm_bf16_sm80, Bf16)

}  // namespace assay

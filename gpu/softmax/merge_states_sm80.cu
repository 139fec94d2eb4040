// Merge of two softmax states, a warp to a row. Contract: in = out = fp32, fp16 or bf16, acc = fp32. Nothing is
// contracted to a multiply-add, so the merge of b and a has the bits of that of a and b.
//   mlo:  m = max m_i      a_i = exp(m_i - m)      l = sum a_i l_i      o = sum a_i o_i
//   lse:  L = M + ln sum exp(L_i - M)              o = sum exp(L_i - M) o_i / sum exp(L_i - M)      M = max L_i
// Instructions: ex2.approx
#include "gpu/ptx/numbers.cuh"
#include "gpu/softmax/merge_states.h"

namespace assay {
namespace {

template <class F>
__device__ void merge_states(const assay_merge_states& call, int row) {
  using Element = typename ptx::Bits<F>::Type;
  const int lane = threadIdx.x % 32;
  const assay_merge_part &x = call.part[0], &y = call.part[1];
  const bool state = call.l != nullptr;
  const float x_m = x.m[row * x.m_stride], y_m = y.m[row * y.m_stride];
  const bool no_x = x_m == -INFINITY, no_y = y_m == -INFINITY;
  const float m = x_m != x_m || y_m != y_m ? __uint_as_float(0x7FFFFFFFu) : fmaxf(x_m, y_m);
  const float a = no_x ? 0.0f : expf(x_m - m), b = no_y ? 0.0f : expf(y_m - m);
  const float x_l = state ? x.l[row * x.l_stride] : 1.0f, y_l = state ? y.l[row * y.l_stride] : 1.0f;
  const float l = __fadd_rn(__fmul_rn(a, x_l), __fmul_rn(b, y_l));
  if (lane == 0) {
    call.m[row * call.m_stride] = state || (no_x && no_y) ? m : m + logf(l);
    if (state) call.l[row * call.l_stride] = l;
  }
  for (int c = lane; c < call.d; c += 32) {
    // Selected, not multiplied: what a part without an entry holds is not looked at.
    const float p = ptx::to_float(static_cast<const Element*>(x.o)[row * x.o_stride[0] + c * x.o_stride[1]], F());
    const float q = ptx::to_float(static_cast<const Element*>(y.o)[row * y.o_stride[0] + c * y.o_stride[1]], F());
    const float left = no_x ? 0.0f : __fmul_rn(a, p), right = no_y ? 0.0f : __fmul_rn(b, q);
    const float o = no_x ? right : no_y ? left : __fadd_rn(left, right);
    static_cast<Element*>(call.o)[row * call.o_stride[0] + c * call.o_stride[1]] =
        ptx::from_float(state || (no_x && no_y) ? o : o / l, F());
  }
}

}  // namespace

#define ASSAY_MERGE(name, format)                                                                         \
  extern "C" __global__ void __launch_bounds__(ASSAY_MERGE_THREADS) name(const assay_merge_states call) { \
    const int row = blockIdx.x * ASSAY_MERGE_ROWS + threadIdx.x / 32;                                     \
    if (row < call.rows) merge_states<ptx::format>(call, row);                                            \
  }
ASSAY_MERGE(merge_states_fp32_sm80, Fp32)
ASSAY_MERGE(merge_states_fp16_sm80, Fp16)
ASSAY_MERGE(merge_states_bf16_sm80, Bf16)

}  // namespace assay

// Softmax of the rows of a matrix, a warp to each: three passes over the row (maximum, sum, output), each lane over
// every 32nd entry, joined by shuffles. Contract: in = out = fp32, fp16 or bf16, acc = fp32.
//   m = max x     l = sum exp(x - m)     p = exp(x - m) / l     log p = (x - m) - ln l     LSE = m + ln l
// A sink counts in m and l, but not in LSE.
// An entry that is masked or -inf takes no part; a row without any gives p as the call says.
// Instructions: shfl.sync ex2.approx
#include "gpu/ptx/numbers.cuh"
#include "gpu/ptx/warp.cuh"
#include "gpu/softmax/softmax.h"

namespace assay {
namespace {

template <class F>
class Row {
 public:
  using Element = typename ptx::Bits<F>::Type;

  __device__ Row(const assay_softmax& call, int row) : call_(call), row_(row), lane_(threadIdx.x % 32) {}

  __device__ void run() const {
    const float none = -INFINITY;
    float top = none;
    for (int i = lane_; i < call_.n; i += 32) top = larger(top, at(i));
    top = ptx::warp_max(top);
    const float sink = call_.sink == nullptr
                           ? none
                           : ptx::to_float(static_cast<const Element*>(call_.sink)[row_ * call_.sink_stride], F());
    const float m = larger(top, sink), shift = m == none ? 0.0f : m;
    const float sum = sum_against(shift), l = sum + expf(sink - shift);
    // Against a sink far above every entry nothing is left of their sum.
    const float lse = top == none ? none : m == sink && top < m ? top + logf(sum_against(top)) : shift + logf(sum);
    if (lane_ == 0) call_.lse[row_ * call_.lse_stride] = lse;
    if (m == none)
      write_empty();
    else
      write(shift, l);
  }

 private:
  /// The larger, NaN if one is: fmaxf would drop it.
  __device__ static float larger(float x, float y) { return x != x || y != y ? x + y : fmaxf(x, y); }

  /// An entry, -inf where it is masked.
  __device__ float at(int i) const {
    if (call_.mask != nullptr && call_.mask[row_ * call_.mask_stride[0] + i * call_.mask_stride[1]] == 0)
      return -INFINITY;
    return ptx::to_float(static_cast<const Element*>(call_.x)[row_ * call_.x_stride[0] + i * call_.x_stride[1]], F());
  }

  /// The sum over the row of exp(x - m).
  __device__ float sum_against(float m) const {
    float sum = 0;
    for (int i = lane_; i < call_.n; i += 32) sum += expf(at(i) - m);
    return ptx::warp_sum(sum);
  }

  __device__ void put(void* to, const std::int64_t (&stride)[2], int i, float value) const {
    if (to != nullptr) static_cast<Element*>(to)[row_ * stride[0] + i * stride[1]] = ptx::from_float(value, F());
  }

  __device__ void write(float m, float l) const {
    const float log_l = logf(l);
    for (int i = lane_; i < call_.n; i += 32) {
      const float x = at(i) - m;
      put(call_.p, call_.p_stride, i, expf(x) / l);
      put(call_.log_p, call_.log_p_stride, i, x - log_l);
    }
  }

  __device__ void write_empty() const {
    const bool nan = call_.empty_row == ASSAY_SOFTMAX_EMPTY_NAN,
               uniform = call_.empty_row == ASSAY_SOFTMAX_EMPTY_UNIFORM;
    const float count = static_cast<float>(call_.n);
    const float p = nan ? __uint_as_float(0x7FFFFFFFu) : uniform ? 1.0f / count : 0.0f;
    const float log_p = nan ? p : uniform ? -logf(count) : -INFINITY;
    for (int i = lane_; i < call_.n; i += 32) {
      put(call_.p, call_.p_stride, i, p);
      put(call_.log_p, call_.log_p_stride, i, log_p);
    }
  }

  const assay_softmax& call_;
  int row_, lane_;
};

}  // namespace

#define ASSAY_SOFTMAX(name, format)                                                                    \
  extern "C" __global__ void __launch_bounds__(ASSAY_SOFTMAX_THREADS) name(const assay_softmax call) { \
    const int row = blockIdx.x * ASSAY_SOFTMAX_ROWS + threadIdx.x / 32;                                \
    if (row < call.rows) Row<ptx::format>(call, row).run();                                            \
  }
ASSAY_SOFTMAX(softmax_fp32_sm80, Fp32)
ASSAY_SOFTMAX(softmax_fp16_sm80, Fp16)
ASSAY_SOFTMAX(softmax_bf16_sm80, Bf16)

}  // namespace assay

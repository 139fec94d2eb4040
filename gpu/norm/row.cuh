#pragma once
#include "gpu/norm/norm.h"
#include "gpu/ptx/numbers.cuh"

// A row of a norm's input and output, as the warp that works on it sees it.
namespace assay {

template <class F>
struct NormRow {
  using Element = typename ptx::Bits<F>::Type;
  const assay_norm& call;
  int row, lane;

  __device__ float x(int i) const {
    return ptx::to_float(static_cast<const Element*>(call.x)[row * call.x_stride[0] + i * call.x_stride[1]], F());
  }
  /// w, or 1 + w.
  __device__ float gain(int i) const {
    const float w = ptx::to_float(static_cast<const Element*>(call.w)[i * call.w_stride], F());
    return call.one_plus_w != 0 ? 1.0f + w : w;
  }
  __device__ float bias(int i) const {
    return ptx::to_float(static_cast<const Element*>(call.b)[i * call.b_stride], F());
  }
  __device__ void put(int i, float y) const {
    static_cast<Element*>(call.y)[row * call.y_stride[0] + i * call.y_stride[1]] = ptx::from_float(y, F());
  }
  /// 1 / sqrt(mean + eps), or 1 / (sqrt(mean) + eps).
  __device__ float inverse_root(float mean) const {
    return call.eps_outside != 0 ? 1.0f / (sqrtf(mean) + call.eps) : rsqrtf(mean + call.eps);
  }
};

}  // namespace assay

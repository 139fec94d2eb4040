// Op softmax: every call in fp32, fp16 and bf16.
#include "gpu/runtime/kernels.hpp"
#include "gpu/softmax/softmax.h"
#include "spec/softmax/safe.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>&) { return ""; }

void strides(std::int64_t (&to)[2], const DeviceTensor& t) {
  to[0] = t.stride(0);
  to[1] = t.stride(1);
}

void run(const DeviceCall& call, Launcher& launcher) {
  const auto opt = SoftmaxOptions::from(call.options);
  const DeviceTensor &x = call["x"], &p = call["p"], &log_p = call["log_p"], &lse = call["lse"];
  assay_softmax params{};
  params.x = x.as<void>();
  params.p = p.as<void>();
  params.log_p = log_p.as<void>();
  params.lse = lse.as<float>();
  strides(params.x_stride, x), strides(params.p_stride, p), strides(params.log_p_stride, log_p);
  params.lse_stride = lse.stride(0);
  if (const DeviceTensor* const mask = call.find("mask")) {
    params.mask = mask->as<std::uint8_t>();
    strides(params.mask_stride, *mask);
  }
  if (const DeviceTensor* const sink = call.find("sink")) {
    params.sink = sink->as<void>();
    params.sink_stride = sink->stride(0);
  }
  params.rows = static_cast<std::int32_t>(x.size(0));
  params.n = static_cast<std::int32_t>(x.size(1));
  using Empty = SoftmaxOptions::EmptyRow;
  params.empty_row = opt.empty_row == Empty::zero  ? ASSAY_SOFTMAX_EMPTY_ZERO
                     : opt.empty_row == Empty::nan ? ASSAY_SOFTMAX_EMPTY_NAN
                                                   : ASSAY_SOFTMAX_EMPTY_UNIFORM;
  launcher.launch("softmax_" + std::string(x.format->name) + "_sm80", {blocks_of(x.size(0), ASSAY_SOFTMAX_ROWS)},
                  {ASSAY_SOFTMAX_THREADS}, 0, params);
}

const RegisterKernel kernel(
    {"softmax", "softmax/softmax_sm80", {"fp32", "fp16", "bf16"}, false, &lacks, &run, {}, {"T=5 n=1030 mask=given"}});

}  // namespace
}  // namespace assay::gpu

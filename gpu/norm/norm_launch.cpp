// Ops rms_norm and layer_norm: every call in fp32, fp16 and bf16.
#include "gpu/norm/norm.h"
#include "gpu/runtime/kernels.hpp"
#include "spec/norm/layer.hpp"
#include "spec/norm/rms.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>&) { return ""; }

/// What both have: x, w and y.
assay_norm tensors_of(const DeviceCall& call) {
  const DeviceTensor &x = call["x"], &w = call["w"], &y = call["y"];
  assay_norm params{};
  params.x = x.as<void>();
  params.w = w.as<void>();
  params.y = y.as<void>();
  for (const std::size_t dim : {0u, 1u}) {
    params.x_stride[dim] = x.stride(dim);
    params.y_stride[dim] = y.stride(dim);
  }
  params.w_stride = w.stride(0);
  params.rows = static_cast<std::int32_t>(x.size(0));
  params.d = static_cast<std::int32_t>(x.size(1));
  return params;
}

void launch(const DeviceCall& call, Launcher& launcher, const assay_norm& params) {
  launcher.launch(call.op + "_" + std::string(call["x"].format->name) + "_sm80",
                  {blocks_of(params.rows, ASSAY_NORM_ROWS)}, {ASSAY_NORM_THREADS}, 0, params);
}

void rms_norm(const DeviceCall& call, Launcher& launcher) {
  const auto opt = RmsNormOptions::from(call.options);
  assay_norm params = tensors_of(call);
  params.eps = static_cast<float>(opt.eps);
  params.eps_outside = opt.eps_place == RmsNormOptions::EpsPlace::outside;
  params.one_plus_w = opt.gain == RmsNormOptions::Gain::one_plus_w;
  params.cast_mid = opt.cast == RmsNormOptions::Cast::cast_mid;
  launch(call, launcher, params);
}

void layer_norm(const DeviceCall& call, Launcher& launcher) {
  const auto opt = LayerNormOptions::from(call.options);
  assay_norm params = tensors_of(call);
  params.eps = static_cast<float>(opt.eps);
  params.eps_outside = opt.eps_place == LayerNormOptions::EpsPlace::outside;
  params.one_plus_w = opt.gain == LayerNormOptions::Gain::one_plus_w;
  if (const DeviceTensor* const b = call.find("b")) {
    params.b = b->as<void>();
    params.b_stride = b->stride(0);
  }
  launch(call, launcher, params);
}

const std::vector<std::string> formats = {"fp32", "fp16", "bf16"};
const RegisterKernel rms({"rms_norm", "norm/rms_norm_sm80", formats, false, &lacks, &rms_norm, {}, {"T=5 d=1030"}});
const RegisterKernel layer(
    {"layer_norm", "norm/layer_norm_sm80", formats, false, &lacks, &layer_norm, {}, {"T=5 d=1030"}});

}  // namespace
}  // namespace assay::gpu

// Which calls of op attention the flash_forward kernels take, and how they are launched.
#include "gpu/attention/flash_forward.h"

#include <cmath>

#include "gpu/runtime/kernels.hpp"
#include "spec/attention/core.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>& options) {
  const auto opt = AttentionOptions::from(options);
  if (opt.mask != AttentionOptions::Mask::none) return "mask=given";
  if (opt.bias != AttentionOptions::Bias::none) return "bias=given";
  if (opt.sink != AttentionOptions::Sink::none) return "sink=given";
  if (opt.softcap != 0) return "softcap";
  if (opt.scale < 0) return "a scale below 0";
  return "";
}

assay_flash_strides strides(const DeviceTensor& t) { return {t.stride(0), t.stride(1), t.stride(2)}; }

void run(const DeviceCall& call, Launcher& launcher) {
  const auto opt = AttentionOptions::from(call.options);
  const DeviceTensor &q = call["q"], &k = call["k"], &v = call["v"], &o = call["o"];
  const std::int64_t B = q.size(0), Sq = q.size(1), H = q.size(2), d = q.size(3);
  const std::int64_t Sk = k.size(1), Hkv = k.size(2), dv = v.size(3);
  if (Hkv == 0 || H % Hkv != 0)
    throw Error("heads of q", "a multiple of the heads of k", std::to_string(H) + " and " + std::to_string(Hkv));
  if (opt.window != -1 && opt.window < 1)
    throw Error("option window", "-1 or a number of keys", std::to_string(opt.window));
  if (d > 128 || dv > 128) throw NotTaken{"heads wider than 128"};
  for (const DeviceTensor* t : {&q, &k, &v, &o})
    if (t->stride(3) > 1) throw NotTaken{"elements of a head that are apart"};
  assay_flash_forward params{};
  params.q = q.as<const std::uint16_t>();
  params.k = k.as<const std::uint16_t>();
  params.v = v.as<const std::uint16_t>();
  params.o = o.as<std::uint16_t>();
  params.q_stride = strides(q), params.k_stride = strides(k), params.v_stride = strides(v),
  params.o_stride = strides(o);
  const DeviceTensor& lse = call["lse"];
  params.lse = lse.as<float>();
  params.lse_stride = {lse.stride(0), lse.stride(2), lse.stride(1)};
  params.sq = static_cast<std::int32_t>(Sq), params.sk = static_cast<std::int32_t>(Sk);
  params.heads = static_cast<std::int32_t>(H), params.group = static_cast<std::int32_t>(H / Hkv);
  params.d = static_cast<std::int32_t>(d), params.dv = static_cast<std::int32_t>(dv);
  params.aligned = q.rows_aligned(16) && k.rows_aligned(16) && v.rows_aligned(16);
  params.offset = opt.causal == AttentionOptions::Causal::top_left ? 0 : static_cast<std::int32_t>(Sk - Sq);
  params.causal = opt.causal != AttentionOptions::Causal::none;
  params.window = opt.window == -1 ? 0 : static_cast<std::int32_t>(opt.window);
  params.scale = opt.scale == 0 ? 1 / std::sqrt(static_cast<float>(d)) : static_cast<float>(opt.scale);

  const int width = d <= 64 && dv <= 64 ? 64 : 128;
  const std::string entry = "attention_" + std::string(q.format->name) + "_d" + std::to_string(width) + "_sm80";
  const Dim grid{blocks_of(Sq, ASSAY_FLASH_ROWS), static_cast<std::uint32_t>(H), static_cast<std::uint32_t>(B)};
  launcher.launch(entry, grid, {ASSAY_FLASH_THREADS}, ASSAY_FLASH_SHARED_BYTES(width), params);
}

const RegisterKernel kernel(
    {"attention",
     "attention/flash_forward_sm80",
     {"in=fp16 acc=fp32 out=fp16 p=fp16 exponent=fma tile=64", "in=bf16 acc=fp32 out=bf16 p=bf16 exponent=fma tile=64"},
     true,
     &lacks,
     &run,
     {},
     {"B=1 Sq=70 Sk=200 Hkv=1 g=2 d=64 dv=64", "B=1 Sq=65 Sk=130 Hkv=1 g=1 d=128 dv=128 causal=none",
      "B=1 Sq=5 Sk=150 Hkv=1 g=1 d=33 dv=70 window=8", "B=1 Sq=130 Sk=64 Hkv=1 g=1 d=8 dv=8"}});

}  // namespace
}  // namespace assay::gpu

// Which calls of op attention the flash_forward kernels take, and how they are launched.
#include "gpu/attention/flash_forward.h"

#include <cmath>

#include "gpu/runtime/kernels.hpp"
#include "spec/attention/core.hpp"

namespace assay::gpu {
namespace {

/// Whether logits are more than scaled products of what a query sees by its position.
bool has_mods(const AttentionOptions& opt) {
  return opt.mask != AttentionOptions::Mask::none || opt.bias != AttentionOptions::Bias::none ||
         opt.sink != AttentionOptions::Sink::none || opt.softcap != 0;
}

std::string lacks(const std::vector<double>& options, bool mods) {
  const auto opt = AttentionOptions::from(options);
  if (has_mods(opt) != mods) return mods ? "logits that are scaled products alone" : "mask, bias, sink or softcap";
  return opt.scale < 0 || opt.softcap < 0 ? "a scale or softcap below 0" : "";
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
  params.offset_by_sizes = opt.causal != AttentionOptions::Causal::top_left;
  params.causal = opt.causal != AttentionOptions::Causal::none;
  params.window = opt.window == -1 ? 0 : static_cast<std::int32_t>(opt.window);
  params.scale = opt.scale == 0 ? 1 / std::sqrt(static_cast<float>(d)) : static_cast<float>(opt.scale);

  if (const DeviceTensor* const bias = call.find("bias")) {
    params.bias = bias->as<const std::uint16_t>();
    for (const std::size_t dim : {0u, 1u, 2u}) params.bias_stride[dim] = bias->stride(dim);
  }
  if (const DeviceTensor* const mask = call.find("mask")) {
    params.mask = mask->as<const std::uint8_t>();
    for (const std::size_t dim : {0u, 1u, 2u}) params.mask_stride[dim] = mask->stride(dim);
  }
  if (const DeviceTensor* const sink = call.find("sink")) {
    params.sink = sink->as<const std::uint16_t>();
    params.sink_stride = sink->stride(0);
  }
  params.softcap = static_cast<float>(opt.softcap);
  params.lse_of_sink = opt.lse_of_sink == AttentionOptions::LseOfSink::included;

  const int width = d <= 64 && dv <= 64 ? 64 : 128;
  const std::string entry = (has_mods(opt) ? "attention_mods_" : "attention_") + std::string(q.format->name) + "_d" +
                            std::to_string(width) + "_sm80";
  const Dim grid{blocks_of(Sq, ASSAY_FLASH_ROWS), static_cast<std::uint32_t>(H), static_cast<std::uint32_t>(B)};
  launcher.launch(entry, grid, {ASSAY_FLASH_THREADS}, ASSAY_FLASH_SHARED_BYTES(width), params);
}

const std::vector<std::string> contracts = {"in=fp16 acc=fp32 out=fp16 p=fp16 exponent=fma tile=64",
                                            "in=bf16 acc=fp32 out=bf16 p=bf16 exponent=fma tile=64"};
const RegisterKernel plain({"attention",
                            "attention/flash_forward_sm80",
                            contracts,
                            true,
                            [](const std::vector<double>& options) { return lacks(options, false); },
                            &run,
                            {},
                            {"B=1 Sq=70 Sk=200 Hkv=1 g=2 d=64 dv=64",
                             "B=1 Sq=65 Sk=130 Hkv=1 g=1 d=128 dv=128 causal=none",
                             "B=1 Sq=5 Sk=150 Hkv=1 g=1 d=33 dv=70 window=8", "B=1 Sq=130 Sk=64 Hkv=1 g=1 d=8 dv=8"}});
const RegisterKernel mods({"attention",
                           "attention/flash_forward_mods_sm80",
                           contracts,
                           true,
                           [](const std::vector<double>& options) { return lacks(options, true); },
                           &run,
                           {},
                           {"B=1 Sq=65 Sk=140 Hkv=1 g=1 d=64 dv=64 mask=given bias=given",
                            "B=1 Sq=9 Sk=200 Hkv=1 g=2 d=80 dv=72 sink=given softcap=30"}});

}  // namespace
}  // namespace assay::gpu

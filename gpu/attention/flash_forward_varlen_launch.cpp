// Op attention_varlen: the flash_forward kernels on packed sequences, a row of blocks to each.
#include <algorithm>
#include <cmath>

#include "gpu/attention/flash_forward.h"
#include "gpu/runtime/kernels.hpp"
#include "spec/attention/varlen.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>& options) {
  return AttentionVarlenOptions::from(options).scale < 0 ? "a scale below 0" : "";
}

/// The longest sequence. Throws Error on ends that do not begin at 0, decrease, or do not end at `total`.
std::int64_t longest(const DeviceTensor& ends, std::int64_t total, Device& device) {
  if (ends.stride(0) > 1) throw NotTaken{"ends of sequences that are apart"};
  std::vector<std::int32_t> at(static_cast<std::size_t>(ends.size(0)));
  if (at.empty()) throw Error("ends of sequences " + ends.name, "at least one", "none");
  device.read(ends.address, at.data(), at.size() * sizeof(std::int32_t));
  std::int64_t most = 0;
  bool good = at.front() == 0 && at.back() == total;
  for (std::size_t r = 1; r < at.size(); ++r) {
    most = std::max<std::int64_t>(most, std::int64_t{at[r]} - at[r - 1]);
    good = good && at[r] >= at[r - 1];
  }
  if (!good) throw Error("ends of sequences " + ends.name, "0 to " + std::to_string(total) + " in order", "others");
  return most;
}

assay_flash_strides strides(const DeviceTensor& t) { return {0, t.stride(0), t.stride(1)}; }

void run(const DeviceCall& call, Launcher& launcher) {
  const auto opt = AttentionVarlenOptions::from(call.options);
  const DeviceTensor &q = call["q"], &k = call["k"], &v = call["v"], &o = call["o"], &lse = call["lse"];
  const std::int64_t H = q.size(1), Hkv = k.size(1), d = q.size(2), dv = v.size(2);
  if (Hkv == 0 || H % Hkv != 0)
    throw Error("heads of q", "a multiple of the heads of k", std::to_string(H) + " and " + std::to_string(Hkv));
  if (d > 128 || dv > 128) throw NotTaken{"heads wider than 128"};
  assay_flash_forward params{};
  params.q = q.as<const std::uint16_t>(), params.k = k.as<const std::uint16_t>();
  params.v = v.as<const std::uint16_t>(), params.o = o.as<std::uint16_t>();
  params.lse = lse.as<float>();
  params.q_stride = strides(q), params.k_stride = strides(k), params.v_stride = strides(v),
  params.o_stride = strides(o);
  params.lse_stride = {0, lse.stride(1), lse.stride(0)};
  params.ends_q = call["cu_q"].as<const std::int32_t>(), params.ends_k = call["cu_k"].as<const std::int32_t>();
  const std::int64_t most = longest(call["cu_q"], q.size(0), launcher.device());
  longest(call["cu_k"], k.size(0), launcher.device());
  params.heads = static_cast<std::int32_t>(H), params.group = static_cast<std::int32_t>(H / Hkv);
  params.d = static_cast<std::int32_t>(d), params.dv = static_cast<std::int32_t>(dv);
  params.aligned = q.rows_aligned(16) && k.rows_aligned(16) && v.rows_aligned(16);
  params.offset_by_sizes = 1;
  params.causal = opt.causal != AttentionVarlenOptions::Causal::none;
  params.scale = opt.scale == 0 ? 1 / std::sqrt(static_cast<float>(d)) : static_cast<float>(opt.scale);

  const int width = d <= 64 && dv <= 64 ? 64 : 128;
  const std::string entry = "attention_" + std::string(q.format->name) + "_d" + std::to_string(width) + "_sm80";
  const Dim grid{blocks_of(most, ASSAY_FLASH_ROWS), static_cast<std::uint32_t>(H),
                 static_cast<std::uint32_t>(call["cu_q"].size(0) - 1)};
  launcher.launch(entry, grid, {ASSAY_FLASH_THREADS}, ASSAY_FLASH_SHARED_BYTES(width), params);
}

const RegisterKernel kernel({"attention_varlen",
                             "attention/flash_forward_sm80",
                             {"in=fp16 acc=fp32 out=fp16 p=fp16 exponent=fma tile=64",
                              "in=bf16 acc=fp32 out=bf16 p=bf16 exponent=fma tile=64"},
                             true,
                             &lacks,
                             &run,
                             {},
                             {"Tq=150 Tk=300 ends=4 Hkv=1 g=1 d=64 dv=64 cu_q_is=even cu_k_is=even"}});

}  // namespace
}  // namespace assay::gpu

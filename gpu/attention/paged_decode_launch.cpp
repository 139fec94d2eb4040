// Op attention_paged: every call with heads up to 256 wide.
#include "gpu/attention/paged_decode.h"

#include <cmath>

#include "gpu/runtime/kernels.hpp"
#include "spec/attention/paged.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>& options) {
  return AttentionPagedOptions::from(options).scale < 0 ? "a scale below 0" : "";
}

assay_paged_pages pages_of(const DeviceTensor& t, bool heads_first) {
  return {t.as<void>(), t.stride(0), t.stride(heads_first ? 2 : 1), t.stride(heads_first ? 1 : 2), t.stride(3)};
}

void run(const DeviceCall& call, Launcher& launcher) {
  const auto opt = AttentionPagedOptions::from(call.options);
  const bool heads_first = opt.layout == AttentionPagedOptions::Layout::hnd;
  const DeviceTensor &q = call["q"], &o = call["o"], &lse = call["lse"], &table = call["block_table"];
  const DeviceTensor &k = call[heads_first ? "k_pages_hnd" : "k_pages"],
                     &v = call[heads_first ? "v_pages_hnd" : "v_pages"];
  const std::int64_t B = q.size(0), Sq = q.size(1), H = q.size(2), d = q.size(3), dv = v.size(3);
  const std::int64_t Hkv = k.size(heads_first ? 1 : 2), P = k.size(heads_first ? 2 : 1);
  if (Hkv == 0 || H % Hkv != 0)
    throw Error("heads of q", "a multiple of the heads of the pages",
                std::to_string(H) + " and " + std::to_string(Hkv));
  if (P < 1) throw Error("attention_paged: pages without slots", "P >= 1", std::to_string(P));
  if (d > ASSAY_PAGED_WIDTH || dv > ASSAY_PAGED_WIDTH) throw NotTaken{"heads wider than 256"};
  assay_paged_decode params{};
  params.q = q.as<void>();
  params.k = pages_of(k, heads_first), params.v = pages_of(v, heads_first);
  params.lens = call["lens"].as<const std::int32_t>();
  params.table = table.as<const std::int32_t>();
  params.o = o.as<void>();
  params.lse = lse.as<float>();
  for (const std::size_t dim : {0u, 1u, 2u, 3u}) {
    params.q_stride[dim] = q.stride(dim), params.o_stride[dim] = o.stride(dim);
    if (dim < 3) params.lse_stride[dim] = lse.stride(dim);
    if (dim < 2) params.table_stride[dim] = table.stride(dim);
  }
  params.lens_stride = call["lens"].stride(0);
  params.batch = static_cast<std::int32_t>(B), params.sq = static_cast<std::int32_t>(Sq);
  params.heads = static_cast<std::int32_t>(H), params.group = static_cast<std::int32_t>(H / Hkv);
  params.d = static_cast<std::int32_t>(d), params.dv = static_cast<std::int32_t>(dv);
  params.pages = static_cast<std::int32_t>(k.size(0)), params.slots = static_cast<std::int32_t>(P);
  params.blocks = static_cast<std::int32_t>(table.size(1));
  params.causal = opt.causal != AttentionPagedOptions::Causal::none;
  params.scale = opt.scale == 0 ? 1 / std::sqrt(static_cast<float>(d)) : static_cast<float>(opt.scale);

  const auto parts = static_cast<std::uint64_t>(B * Sq * H) * ASSAY_PAGED_SPLITS;
  params.part_o = reinterpret_cast<float*>(launcher.scratch(parts * static_cast<std::uint64_t>(dv) * sizeof(float)));
  params.part_lse = reinterpret_cast<float*>(launcher.scratch(parts * sizeof(float)));
  const std::string end = "_" + std::string(q.format->name) + "_sm80";
  const std::uint32_t rows = blocks_of(Sq * H, ASSAY_PAGED_WARPS), batch = static_cast<std::uint32_t>(B);
  launcher.launch("paged_decode_part" + end, {ASSAY_PAGED_SPLITS, rows, batch}, {ASSAY_PAGED_THREADS}, 0, params);
  launcher.launch("paged_decode_merge" + end, {rows, batch}, {ASSAY_PAGED_THREADS}, 0, params);
}

const RegisterKernel kernel({"attention_paged",
                             "attention/paged_decode_sm80",
                             {"fp32", "fp16", "bf16"},
                             false,
                             &lacks,
                             &run,
                             {},
                             {"B=2 Sq=2 Npages=9 P=16 maxblk=4 Hkv=1 g=2 d=40 dv=33 lens_is=full",
                              "B=1 Sq=1 Npages=40 P=7 maxblk=30 Hkv=1 g=1 d=16 dv=16 lens_is=full"}});

}  // namespace
}  // namespace assay::gpu

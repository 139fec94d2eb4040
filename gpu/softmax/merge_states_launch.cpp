// Op merge_states: every call in fp32, fp16 and bf16.
#include "gpu/runtime/kernels.hpp"
#include "gpu/softmax/merge_states.h"
#include "spec/softmax/merge.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>&) { return ""; }

assay_merge_part part_of(const DeviceCall& call, bool state, const std::string& number) {
  const DeviceTensor &m = call[(state ? "m" : "lse") + number], &o = call["o" + number];
  assay_merge_part part{};
  part.m = m.as<const float>();
  part.m_stride = m.stride(0);
  if (state) {
    part.l = call["l" + number].as<const float>();
    part.l_stride = call["l" + number].stride(0);
  }
  part.o = o.as<void>();
  part.o_stride[0] = o.stride(0), part.o_stride[1] = o.stride(1);
  return part;
}

void run(const DeviceCall& call, Launcher& launcher) {
  const bool state = MergeStatesOptions::from(call.options).form == MergeStatesOptions::Form::mlo;
  const DeviceTensor &m = call[state ? "m" : "lse"], &o = call["o"];
  assay_merge_states params{};
  params.part[0] = part_of(call, state, "1");
  params.part[1] = part_of(call, state, "2");
  params.m = m.as<float>();
  params.m_stride = m.stride(0);
  if (state) {
    params.l = call["l"].as<float>();
    params.l_stride = call["l"].stride(0);
  }
  params.o = o.as<void>();
  params.o_stride[0] = o.stride(0), params.o_stride[1] = o.stride(1);
  params.rows = static_cast<std::int32_t>(o.size(0));
  params.d = static_cast<std::int32_t>(o.size(1));
  launcher.launch("merge_states_" + std::string(o.format->name) + "_sm80", {blocks_of(o.size(0), ASSAY_MERGE_ROWS)},
                  {ASSAY_MERGE_THREADS}, 0, params);
}

const RegisterKernel kernel(
    {"merge_states", "softmax/merge_states_sm80", {"fp32", "fp16", "bf16"}, false, &lacks, &run, {}, {"T=9 d=70"}});

}  // namespace
}  // namespace assay::gpu

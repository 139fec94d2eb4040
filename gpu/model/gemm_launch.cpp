// Op linear in fp16 and bf16: a product of matrices with a bias.
#include "gpu/model/gemm.h"
#include "gpu/runtime/kernels.hpp"

namespace assay::gpu {
namespace {

std::string lacks(const std::vector<double>&) { return ""; }

void run(const DeviceCall& call, Launcher& launcher) {
  const DeviceTensor &x = call["x"], &w = call["w"], &y = call["y"];
  for (const DeviceTensor* t : {&x, &w, &y})
    if (t->stride(1) > 1) throw NotTaken{"elements of a row that are apart"};
  assay_gemm params{};
  params.a = x.as<const std::uint16_t>();
  params.b = w.as<const std::uint16_t>();
  params.c = y.as<std::uint16_t>();
  params.a_stride = x.stride(0), params.b_stride = w.stride(0), params.c_stride = y.stride(0);
  if (const DeviceTensor* const b = call.find("b")) {
    params.bias = b->as<const std::uint16_t>();
    params.bias_stride = b->stride(0);
  }
  params.m = static_cast<std::int32_t>(x.size(0));
  params.n = static_cast<std::int32_t>(w.size(1));
  params.k = static_cast<std::int32_t>(x.size(1));
  params.a_aligned = x.rows_aligned(16);
  params.b_aligned = w.rows_aligned(16);
  launcher.launch("gemm_" + std::string(x.format->name) + "_sm80",
                  {blocks_of(params.n, ASSAY_GEMM_COLUMNS), blocks_of(params.m, ASSAY_GEMM_ROWS)}, {ASSAY_GEMM_THREADS},
                  0, params);
}

const RegisterKernel kernel({"linear",
                             "model/gemm_sm80",
                             {"fp16", "bf16"},
                             true,
                             &lacks,
                             &run,
                             {},
                             {"T=65 n_in=200 n_out=72", "T=64 n_in=64 n_out=64 bias=given",
                              "T=130 n_in=33 n_out=130"}});

}  // namespace
}  // namespace assay::gpu

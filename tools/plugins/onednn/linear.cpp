#include "tools/plugins/onednn/adapter.hpp"

namespace onednn {

/// Op `linear`: y [T, out] = x [T, in] w [in, out] + b [out], by oneDNN's matmul.
void linear(const assay_call& call) {
  refuse_other_options(call, "bias");
  refuse_other_outputs(call, "y");
  const assay_tensor &x = input(call, "x"), &w = input(call, "w"), &y = output(call, "y");
  const assay_tensor* b = find_input(call, "b");
  demand_rank(x, "x", 2);
  demand_rank(w, "w", 2);
  demand_shape(w, "w", {x.shape[1], w.shape[1]});
  demand_shape(y, "y", {x.shape[0], w.shape[1]});
  if (b != nullptr) demand_shape(*b, "b", {w.shape[1]});
  if (empty(y)) return;
  std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, on(x)}, {DNNL_ARG_WEIGHTS, on(w)}, {DNNL_ARG_DST, on(y)}};
  dnnl::memory::desc bias;  // matmul wants it in the rank of y
  if (b != nullptr) {
    bias = {{1, y.shape[1]}, data_type(b->dtype), {y.shape[1] * b->strides[0], b->strides[0]}};
    arguments[DNNL_ARG_BIAS] = dnnl::memory(bias, library().engine, static_cast<char*>(b->data) + b->byte_offset);
  }
  const auto desc = b == nullptr ? dnnl::matmul::desc(describe(x), describe(w), describe(y))
                                 : dnnl::matmul::desc(describe(x), describe(w), bias, describe(y));
  const auto pd = implementation<dnnl::matmul>(desc, "matmul of " + text(x) + " by " + text(w) + " to " + text(y));
  dnnl::matmul(pd).execute(library().stream, arguments);
  library().stream.wait();
}

}  // namespace onednn

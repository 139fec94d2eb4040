#include "tools/plugins/onednn/adapter.hpp"

namespace onednn {

/// Op `softmax`: p and log_p over the last dimension. oneDNN has no mask and no sink, returns no LSE, and gives NaN in
/// a row without a finite entry (empty_row=nan).
void softmax(const assay_call& call) {
  refuse_other_options(call, "empty_row");
  if (option(call, "empty_row", "nan") != "nan") throw Unsupported("a row without a finite entry gives NaN");
  refuse_other_outputs(call, "p log_p");
  const assay_tensor& x = input(call, "x");
  demand_rank(x, "x", 2);
  const struct {
    const char* name;
    dnnl::algorithm algorithm;
  } outputs[] = {{"p", dnnl::algorithm::softmax_accurate}, {"log_p", dnnl::algorithm::softmax_log}};
  for (const auto& o : outputs) {
    const assay_tensor* y = find_output(call, o.name);
    if (y == nullptr) continue;
    demand_shape(*y, o.name, {x.shape[0], x.shape[1]});
    if (empty(x)) continue;
    const auto pd = implementation<dnnl::softmax_v2_forward>(
        dnnl::softmax_v2_forward::desc(dnnl::prop_kind::forward_inference, o.algorithm, describe(x), describe(*y),
                                       x.ndim - 1),
        std::string("softmax (") + o.name + ") from " + text(x) + " to " + text(*y));
    dnnl::softmax_v2_forward(pd).execute(library().stream, {{DNNL_ARG_SRC, on(x)}, {DNNL_ARG_DST, on(*y)}});
    library().stream.wait();
  }
}

}  // namespace onednn

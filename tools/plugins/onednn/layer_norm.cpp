#include "tools/plugins/onednn/adapter.hpp"

namespace onednn {

/// Op `layer_norm`: y = w (x - mean) / sqrt(var + eps) + b over the last dimension. oneDNN keeps gain and bias in fp32:
/// 16-bit ones are widened first, which is exact.
void layer_norm(const assay_call& call) {
  using flags = dnnl::normalization_flags;
  refuse_other_options(call, "eps bias");
  refuse_other_outputs(call, "y");
  const assay_tensor &x = input(call, "x"), &y = output(call, "y");
  demand_rank(x, "x", 2);
  demand_shape(y, "y", {x.shape[0], x.shape[1]});
  const assay_tensor *w = find_input(call, "w"), *b = find_input(call, "b");
  if (w != nullptr) demand_shape(*w, "w", {x.shape[1]});
  if (b != nullptr) demand_shape(*b, "b", {x.shape[1]});
  if (empty(x)) return;
  flags use = flags::none;
  if (w != nullptr) use = use | flags::use_scale;
  if (b != nullptr) use = use | flags::use_shift;
  const auto same = describe(x);
  if (same != describe(y)) throw Unsupported("layer norm writes where the strides are those of x: " + text(x));
  const auto pd = implementation<dnnl::layer_normalization_forward>(
      dnnl::layer_normalization_forward::desc(dnnl::prop_kind::forward_inference, same,
                                              static_cast<float>(number(call, "eps")), use),
      "layer norm of " + text(x));
  std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, on(x)}, {DNNL_ARG_DST, on(y)}};
  const auto widen = [&](const assay_tensor* t, int argument) {
    if (t == nullptr) return;
    dnnl::memory wide(dense(*t, dnnl::memory::data_type::f32), library().engine);
    dnnl::memory narrow = on(*t);
    dnnl::reorder(narrow, wide).execute(library().stream, narrow, wide);
    arguments[argument] = wide;
  };
  widen(w, DNNL_ARG_SCALE);
  widen(b, DNNL_ARG_SHIFT);
  dnnl::layer_normalization_forward(pd).execute(library().stream, arguments);
  library().stream.wait();
}

}  // namespace onednn

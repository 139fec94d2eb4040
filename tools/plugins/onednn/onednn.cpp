#include <cstdio>
#include <cstring>
#include <vector>

#include "tools/plugins/onednn/adapter.hpp"

// The exports. oneDNN 2.6 has no RMS norm and no top-level op for online or plain softmax.
namespace {

using Op = void (*)(const assay_call&);

Op find_op(const char* name) {
  const struct {
    const char* name;
    Op run;
  } ops[] = {{"softmax", onednn::softmax}, {"layer_norm", onednn::layer_norm}, {"linear", onednn::linear}};
  for (const auto& op : ops)
    if (std::strcmp(op.name, name) == 0) return op.run;
  return nullptr;
}

// Runs `body` and turns what it throws into a status and a sentence.
template <class Body>
int guarded(char* error, size_t error_size, Body body) {
  try {
    body();
    return ASSAY_OK;
  } catch (const onednn::Unsupported& e) {
    std::snprintf(error, error_size, "%s", e.what());
    return ASSAY_UNSUPPORTED;
  } catch (const std::exception& e) {
    std::snprintf(error, error_size, "oneDNN: %s", e.what());
    return ASSAY_ERROR;
  }
}

void run(const assay_call& call) {
  const Op op = find_op(call.op);
  if (op == nullptr) throw onednn::Unsupported(std::string("oneDNN has no op ") + call.op);
  op(call);
}

// "bf16" of "in=bf16 acc=fp32 out=bf16"
std::string field(const std::string& contract, const std::string& name) {
  const auto at = (" " + contract).find(" " + name + "=");
  if (at == std::string::npos) return "";
  const auto first = at + name.size() + 1;
  return contract.substr(first, contract.find(' ', first) - first);
}

assay_dtype dtype(const std::string& format) {
  const struct {
    const char* name;
    uint8_t code, bits;
  } rows[] = {{"fp32", ASSAY_FLOAT, 32}, {"fp16", ASSAY_FLOAT, 16}, {"bf16", ASSAY_BFLOAT, 16},
              {"int32", ASSAY_INT, 32},  {"int8", ASSAY_INT, 8},    {"uint8", ASSAY_UINT, 8}};
  for (const auto& row : rows)
    if (format == row.name) return {row.code, row.bits, 1};
  throw onednn::Unsupported("oneDNN has no format " + format);
}

// oneDNN would convert some types on its own; the contract says which ones are meant.
void demand_types(const assay_call& call) {
  const std::string in = field(call.contract, "in"), out = field(call.contract, "out");
  const auto demand = [](const assay_named_tensor& t, const std::string& format) {
    const assay_dtype found = t.tensor.dtype, expected = dtype(format);
    if (found.code != expected.code || found.bits != expected.bits || found.lanes != 1)
      throw std::runtime_error(std::string("tensor ") + t.name + " is " + onednn::text(t.tensor) + ", expected " +
                               format);
  };
  for (size_t i = 0; i < call.n_inputs; ++i) demand(call.inputs[i], in);
  for (size_t i = 0; i < call.n_outputs; ++i) demand(call.outputs[i], out);
}

// Whether oneDNN has an op under a contract is tried on a tensor of one small shape.
struct Probe {
  int64_t sizes[2] = {4, 4}, strides[2] = {4, 1}, size = 4, stride = 1;
  std::vector<float> bytes = std::vector<float>(64);
  std::vector<assay_named_tensor> inputs, outputs;
  assay_option eps{"eps", "1e-05", 1e-5};

  assay_named_tensor tensor(const char* name, int rank, const std::string& format) {
    return {name,
            {bytes.data() + 16 * (inputs.size() + outputs.size()),
             {ASSAY_CPU, 0},
             rank,
             dtype(format),
             rank == 2 ? sizes : &size,
             rank == 2 ? strides : &stride,
             0}};
  }
  void run_op(const char* op, const std::string& contract) {
    const std::string in = field(contract, "in"), out = field(contract, "out");
    const bool softmax = std::strcmp(op, "softmax") == 0;
    inputs.push_back(tensor("x", 2, in));
    if (!softmax) inputs.push_back(tensor("w", std::strcmp(op, "linear") == 0 ? 2 : 1, in));
    if (!softmax) inputs.push_back(tensor("b", 1, in));
    outputs.push_back(tensor(softmax ? "p" : "y", 2, out));
    assay_call call{};
    call.op = op;
    call.contract = contract.c_str();
    call.inputs = inputs.data();
    call.n_inputs = inputs.size();
    call.outputs = outputs.data();
    call.n_outputs = 1;
    call.options = &eps;
    call.n_options = std::strcmp(op, "layer_norm") == 0 ? 1 : 0;
    run(call);
  }
};

}  // namespace

extern "C" {

ASSAY_PLUGIN_EXPORT uint32_t assay_plugin_abi(void) { return ASSAY_ABI_VERSION; }

ASSAY_PLUGIN_EXPORT int assay_plugin_run(const assay_call* call) {
  return guarded(call->error, call->error_size, [&] {
    demand_types(*call);
    run(*call);
  });
}

ASSAY_PLUGIN_EXPORT int assay_plugin_offers(const char* op, const char* contract, char* reason, size_t reason_size) {
  return guarded(reason, reason_size, [&] { Probe().run_op(op, contract); });
}

ASSAY_PLUGIN_EXPORT const char* assay_plugin_version(void) {
  static char text[64];
  const dnnl_version_t* v = dnnl_version();
  std::snprintf(text, sizeof(text), "%d.%d.%d", v->major, v->minor, v->patch);
  return text;
}
}

#include "tools/plugins/onednn/adapter.hpp"

#include <algorithm>
#include <cstring>

namespace onednn {

Library& library() {
  static Library one;
  return one;
}

namespace {

const assay_tensor* find(const assay_named_tensor* list, size_t n, const char* name) {
  for (size_t i = 0; i < n; ++i)
    if (std::strcmp(list[i].name, name) == 0) return &list[i].tensor;
  return nullptr;
}

const assay_tensor& required(const assay_tensor* t, const char* name) {
  if (t == nullptr) throw std::runtime_error(std::string("the call lacks tensor ") + name);
  return *t;
}

bool in_list(const std::string& list, const std::string& word) {
  return (" " + list + " ").find(" " + word + " ") != std::string::npos;
}

}  // namespace

const assay_tensor* find_input(const assay_call& call, const char* name) {
  return find(call.inputs, call.n_inputs, name);
}
const assay_tensor* find_output(const assay_call& call, const char* name) {
  return find(call.outputs, call.n_outputs, name);
}
const assay_tensor& input(const assay_call& call, const char* name) { return required(find_input(call, name), name); }
const assay_tensor& output(const assay_call& call, const char* name) { return required(find_output(call, name), name); }

void demand_rank(const assay_tensor& t, const char* name, int32_t rank) {
  if (t.ndim != rank)
    throw std::runtime_error(std::string("tensor ") + name + " is " + text(t) + ", expected " + std::to_string(rank) +
                             " dimensions");
}

void demand_shape(const assay_tensor& t, const char* name, std::initializer_list<int64_t> shape) {
  if (t.ndim == static_cast<int32_t>(shape.size()) && std::equal(shape.begin(), shape.end(), t.shape)) return;
  std::string expected;
  for (int64_t size : shape) expected += (expected.empty() ? "[" : ", ") + std::to_string(size);
  throw std::runtime_error(std::string("tensor ") + name + " is " + text(t) + ", expected " + expected + "]");
}

std::string option(const assay_call& call, const char* name, const char* otherwise) {
  for (size_t i = 0; i < call.n_options; ++i)
    if (std::strcmp(call.options[i].name, name) == 0) return call.options[i].value;
  return otherwise;
}

double number(const assay_call& call, const char* name) {
  for (size_t i = 0; i < call.n_options; ++i)
    if (std::strcmp(call.options[i].name, name) == 0) return call.options[i].number;
  throw std::runtime_error(std::string("the call lacks option ") + name);
}

void refuse_other_options(const assay_call& call, const std::string& known) {
  for (size_t i = 0; i < call.n_options; ++i) {
    const assay_option& o = call.options[i];
    if (!in_list(known, o.name) && o.number != 0)
      throw Unsupported(std::string("option ") + o.name + "=" + o.value + " is not offered");
  }
}

void refuse_other_outputs(const assay_call& call, const std::string& known) {
  for (size_t i = 0; i < call.n_outputs; ++i)
    if (!in_list(known, call.outputs[i].name))
      throw Unsupported(std::string("output ") + call.outputs[i].name + " is not offered");
}

dnnl::memory::data_type data_type(const assay_dtype& dtype) {
  using type = dnnl::memory::data_type;
  if (dtype.lanes == 1) {
    if (dtype.code == ASSAY_FLOAT && dtype.bits == 32) return type::f32;
    if (dtype.code == ASSAY_FLOAT && dtype.bits == 16) return type::f16;
    if (dtype.code == ASSAY_BFLOAT && dtype.bits == 16) return type::bf16;
    if (dtype.code == ASSAY_INT && dtype.bits == 32) return type::s32;
    if (dtype.code == ASSAY_INT && dtype.bits == 8) return type::s8;
    if (dtype.code == ASSAY_UINT && dtype.bits == 8) return type::u8;
  }
  throw Unsupported("oneDNN has no type of code " + std::to_string(dtype.code) + " with " + std::to_string(dtype.bits) +
                    " bits");
}

dnnl::memory::desc describe(const assay_tensor& t) {
  dnnl::memory::dims dims(t.shape, t.shape + t.ndim), strides(t.strides, t.strides + t.ndim);
  dnnl::memory::dim step = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) strides[d] = step;
    step = strides[d] * dims[d];
  }
  return {dims, data_type(t.dtype), strides};
}

dnnl::memory::desc dense(const assay_tensor& t, dnnl::memory::data_type type) {
  const dnnl::memory::dims dims(t.shape, t.shape + t.ndim);
  dnnl::memory::dims strides(dims.size());
  dnnl::memory::dim step = 1;
  for (std::size_t d = dims.size(); d-- > 0; step *= dims[d]) strides[d] = step;
  return {dims, type, strides};
}

dnnl::memory on(const assay_tensor& t) {
  return {describe(t), library().engine, static_cast<char*>(t.data) + t.byte_offset};
}

bool empty(const assay_tensor& t) {
  for (int32_t d = 0; d < t.ndim; ++d)
    if (t.shape[d] == 0) return true;
  return false;
}

std::string text(const assay_tensor& t) {
  const auto list = [&](const int64_t* v) {
    std::string s = "[";
    for (int32_t d = 0; d < t.ndim; ++d) s += (d ? ", " : "") + std::to_string(v[d]);
    return s + "]";
  };
  return std::string(t.dtype.code == ASSAY_BFLOAT  ? "bf"
                     : t.dtype.code == ASSAY_FLOAT ? "fp"
                     : t.dtype.code == ASSAY_INT   ? "int"
                                                   : "type ") +
         std::to_string(t.dtype.bits) + " " + list(t.shape) + " strides " + list(t.strides);
}

}  // namespace onednn

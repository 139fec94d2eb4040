#pragma once
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>

#include "conformance/abi/plugin.h"

// From the plugin ABI to oneDNN: tensors become memory objects on the same bytes, what oneDNN has no word for is
// refused.
namespace onednn {

/// Not offered; becomes ASSAY_UNSUPPORTED with this text.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};
Library& library();

const assay_tensor* find_input(const assay_call& call, const char* name);   ///< nullptr if absent
const assay_tensor* find_output(const assay_call& call, const char* name);  ///< nullptr if not wanted
const assay_tensor& input(const assay_call& call, const char* name);        ///< throws if absent
const assay_tensor& output(const assay_call& call, const char* name);

/// Throws, naming tensor, shape and what was expected, if a tensor does not have this rank, this shape.
void demand_rank(const assay_tensor& t, const char* name, int32_t rank);
void demand_shape(const assay_tensor& t, const char* name, std::initializer_list<int64_t> shape);

/// The spelled value of an option, `otherwise` if the call does not have it.
std::string option(const assay_call& call, const char* name, const char* otherwise);
double number(const assay_call& call, const char* name);
/// Refuses every option that is not in `known` (names separated by spaces) and not at its default (index 0).
void refuse_other_options(const assay_call& call, const std::string& known);
/// Refuses outputs that are not in `known`.
void refuse_other_outputs(const assay_call& call, const std::string& known);

/// Throws Unsupported for a type oneDNN does not have.
dnnl::memory::data_type data_type(const assay_dtype& dtype);
/// Shape, type and strides, those of sizes of 1 replaced by what they would be in a dense tensor.
dnnl::memory::desc describe(const assay_tensor& t);
/// The same with another data type; dense.
dnnl::memory::desc dense(const assay_tensor& t, dnnl::memory::data_type type);
dnnl::memory on(const assay_tensor& t);
bool empty(const assay_tensor& t);

/// The primitive descriptor for a description, or Unsupported if oneDNN has no implementation on this machine.
template <class Primitive, class Desc>
typename Primitive::primitive_desc implementation(const Desc& desc, const std::string& what) {
  try {
    return typename Primitive::primitive_desc(desc, library().engine);
  } catch (const dnnl::error& e) {
    if (e.status != dnnl_unimplemented) throw;
    throw Unsupported("oneDNN has no implementation of " + what + " on this CPU");
  }
}

/// "f32 [3, 5] strides [5, 1]"
std::string text(const assay_tensor& t);

void softmax(const assay_call& call);
void layer_norm(const assay_call& call);
void linear(const assay_call& call);

}  // namespace onednn

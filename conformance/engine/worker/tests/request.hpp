#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "conformance/engine/worker/process.hpp"
#include "conformance/engine/worker/worker.hpp"

// What the tests of the worker ask with.
namespace assay::test {

inline std::string plugin(const std::string& name) {
  return "plugin:" + std::string(ASSAY_TEST_PLUGINS) + "/assay_test_" + name + ".so";
}

inline Program program() { return {program_folder() + "/assay_test_worker", 0, 20}; }

/// fp32, dense unless strides are given; gaps hold zeros.
inline TensorBytes buffer(const std::string& name, const Shape& shape, const std::vector<float>& values = {},
                          const Shape& strides = {}) {
  TensorBytes b{name, "fp32", shape, strides.empty() ? dense_strides(shape) : strides, {}};
  if (values.empty()) return b;
  Index last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * (shape[d] == 1 ? 0 : b.strides[d]);
  b.bytes.resize(static_cast<std::size_t>(last + 1) * sizeof(float));
  for (std::size_t flat = 0; flat < values.size(); ++flat) {
    Index offset = 0, rest = static_cast<Index>(flat);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (shape[d] != 1) offset += rest % shape[d] * b.strides[d];
      rest /= shape[d];
    }
    std::memcpy(&b.bytes[static_cast<std::size_t>(offset) * sizeof(float)], &values[flat], sizeof(float));
  }
  return b;
}

inline std::vector<float> floats(const TensorBytes& b) {
  std::vector<float> v(b.bytes.size() / sizeof(float));
  if (!v.empty()) std::memcpy(v.data(), b.bytes.data(), v.size() * sizeof(float));
  return v;
}

/// An op of the misbehaving plugin on x = [1 2 3 4 5 6] as [2, 3].
inline Request request(const std::string& op, Guard guard = Guard::after) {
  Request r;
  r.target = plugin("misbehaving");
  r.op = op;
  r.contract = "in=fp32 acc=fp32 out=fp32";
  r.inputs = {buffer("x", {2, 3}, {1, 2, 3, 4, 5, 6})};
  r.outputs = {buffer("y", {2, 3})};
  r.guard = guard;
  return r;
}

}  // namespace assay::test

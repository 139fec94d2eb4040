#pragma once
#include <array>
#include <vector>

#include "conformance/engine/subject.hpp"
#include "conformance/mutate/mutant.hpp"

namespace assay::mutate::tests {

using Values = std::array<float, 6>;

/// Runs a subject that reads x [n] and writes y [6]. Mutants may touch what is around the tensors: x(-1) = 32, all
/// other elements out of bounds are 16, sizes out of bounds are 2 and 3. What is not written stays 99.
constexpr int passes = 1000;  // the limit for loops, so that nothing is read beyond the margin
inline Values run(SubjectFn subject, const std::vector<float>& x, std::string_view bug = "") {
  constexpr std::size_t margin = passes + 16;
  std::vector<float> in(margin, 16);
  in.back() = 32;
  in.insert(in.end(), x.begin(), x.end());
  in.resize(in.size() + margin, 16);
  std::array<float, 10> out;
  out.fill(99);
  std::array<std::int64_t, 3> in_shape = {2, static_cast<std::int64_t>(x.size()), 3}, out_shape = {6, 6, 6},
                              strides = {1, 1, 1};
  const auto tensor = [&](float* data, std::int64_t* shape) {
    return assay_tensor{data, {ASSAY_CPU, 0}, 1, {ASSAY_FLOAT, 32, 1}, shape, &strides[1], 0};
  };
  const assay_named_tensor input{"x", tensor(&in[margin], &in_shape[1])}, output{"y", tensor(&out[2], &out_shape[1])};
  assay_call call{};
  call.op = "toy";
  call.inputs = &input;
  call.n_inputs = 1;
  call.outputs = &output;
  call.n_outputs = 1;
  Subject s(&call, bug);
  subject(s);
  Values y;
  std::copy(out.begin() + 2, out.begin() + 8, y.begin());
  return y;
}

}  // namespace assay::mutate::tests

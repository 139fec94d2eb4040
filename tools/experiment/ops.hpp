#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/readings/bound.hpp"
#include "reference/core/tensor.hpp"
#include "tools/experiment/kernels.hpp"

// The ops of the experiment: a definition in the words of the vocabulary, and its kernel.
namespace assay::experiment {

/// One row of one output: what the definition allows and what a kernel returned.
struct Row {
  const char* output;
  const Format* format;
  std::vector<Bound> y;
  Floats kernel;  // before the output's rounding
};

/// Inputs of an op: up to three tensors of n columns.
struct Inputs {
  Matrix<double> x, w, b;
  std::string says;
};

/// An op: the definition of all rows, and a kernel's row in the same order of outputs.
struct Op {
  const char* name;
  std::vector<const char*> contracts;
  std::vector<Planted> bugs;
  bool is(std::string_view other) const { return other == name; }
  std::vector<std::vector<Row>> (*definition)(const Inputs&, const Contract&);
  void (*kernel)(const Inputs&, Index row, const Contract&, const Style&, Random&, Planted, std::vector<Row>&);
};

const std::vector<Op>& ops();

}  // namespace assay::experiment

#include <cstdio>

#include "reference/softmax/safe.hpp"

// One definition, read in double: softmax of ln 1, ln 3 is 1/4, 3/4.
int main() {
  assay::Matrix<double> x(1, 2);
  x(0, 1) = 1.0986122886681098;
  const assay::Vector<double> no_sink(1, -assay::infinity);
  const assay::Matrix<double> p = assay::softmax_safe(x, assay::Mask(), no_sink, assay::SoftmaxOptions()).p;
  std::printf("%.6f %.6f\n", p(0, 0), p(0, 1));
  return 0;
}

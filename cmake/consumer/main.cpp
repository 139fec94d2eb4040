#include <cstdio>

#include "reference/core/sha256.hpp"
#include "reference/core/tensor.hpp"

int main() {
  std::printf("%s\n", assay::to_string(assay::dense_strides({2, 3, 4})).c_str());
  return 0;
}

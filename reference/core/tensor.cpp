#include "reference/core/tensor.hpp"

namespace assay {

std::string to_string(const Shape& shape) {
  std::string s = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}

Index count(const Shape& shape) {
  Index n = 1;
  for (Index size : shape) {
    if (size < 0) throw Error("negative size in a shape", "sizes >= 0", to_string(shape));
    if (__builtin_mul_overflow(n, size, &n))
      throw Error("shape has too many elements", "fewer than 2^63", to_string(shape));
  }
  return n;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  Index step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

}  // namespace assay

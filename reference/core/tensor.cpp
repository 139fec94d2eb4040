#include "reference/core/tensor.hpp"

namespace assay {

std::string to_string(const Shape& shape) {
  std::string s = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}

Index count(const Shape& shape) {
  bool empty = false;
  for (Index size : shape) {
    if (size < 0) throw Error("negative size in a shape", "sizes >= 0", to_string(shape));
    empty = empty || size == 0;
  }
  if (empty) return 0;  // whatever the other sizes are
  Index n = 1;
  for (Index size : shape)
    if (__builtin_mul_overflow(n, size, &n))
      throw Error("shape has too many elements", "fewer than 2^63", to_string(shape));
  return n;
}

Shape dense_strides(const Shape& shape) {
  count(shape);  // may throw
  Shape strides(shape.size());
  Index step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    // Only the product of an empty shape, or the one behind the first size, which is no stride, can overflow.
    if (__builtin_mul_overflow(step, shape[d], &step)) step = 0;
  }
  return strides;
}

}  // namespace assay

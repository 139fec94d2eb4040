#pragma once
#include <fmt/format.h>

#include "reference/core/tensor.hpp"

// How numbers and places are spelled in a Failure.
namespace assay {

inline std::string number(double x) { return fmt::format("{:.17g}", x); }

/// The coordinates of an element in row-major order: "[3, 17]".
inline std::string index_text(const Shape& shape, Index flat) {
  Shape at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = flat % shape[d];
    flat /= shape[d];
  }
  return to_string(at);
}

}  // namespace assay

#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reference/core/tensor.hpp"

namespace assay {

/// An element type of the safetensors format. Elements lie in row-major order, little-endian, without padding; those
/// of 4 and 6 bits form one stream in which element i occupies bits [i * bits, (i + 1) * bits), counted from the least
/// significant bit of the first byte (so the first of two F4 elements is the low half of its byte).
struct SafetensorsDtype {
  enum class Kind { boolean, unsigned_integer, signed_integer, floating, complex };
  const char* name;  // as in the file, "F8_E4M3"
  int bits;          // of one element
  Kind kind;
};

/// All element types, in the order in which the format's first implementation ranks them (safetensors 0.8): a file's
/// tensors are written by descending rank, then by name.
const std::vector<SafetensorsDtype>& safetensors_dtypes();

/// The row of that table, its rank included as the position in it; nullptr for a name that is not in it.
const SafetensorsDtype* find_safetensors_dtype(const std::string& name);

/// Bytes of a tensor. Throws Error (its text starts with `where`) if a size is negative, if the sizes other than zero
/// do not multiply to fewer than 2^60 elements, or if the bits do not fill whole bytes.
std::uint64_t safetensors_bytes(const SafetensorsDtype& dtype, const Shape& shape, const std::string& where);

}  // namespace assay

#include "reference/core/safetensors_dtype.hpp"

namespace assay {

const std::vector<SafetensorsDtype>& safetensors_dtypes() {
  using Kind = SafetensorsDtype::Kind;
  static const std::vector<SafetensorsDtype> table = {
      {"BOOL", 8, Kind::boolean},          {"F4", 4, Kind::floating},           {"F6_E2M3", 6, Kind::floating},
      {"F6_E3M2", 6, Kind::floating},      {"U8", 8, Kind::unsigned_integer},   {"I8", 8, Kind::signed_integer},
      {"F8_E5M2", 8, Kind::floating},      {"F8_E4M3", 8, Kind::floating},      {"F8_E8M0", 8, Kind::floating},
      {"F8_E4M3FNUZ", 8, Kind::floating},  {"F8_E5M2FNUZ", 8, Kind::floating},  {"I16", 16, Kind::signed_integer},
      {"U16", 16, Kind::unsigned_integer}, {"F16", 16, Kind::floating},         {"BF16", 16, Kind::floating},
      {"I32", 32, Kind::signed_integer},   {"U32", 32, Kind::unsigned_integer}, {"F32", 32, Kind::floating},
      {"C64", 64, Kind::complex},          {"F64", 64, Kind::floating},         {"I64", 64, Kind::signed_integer},
      {"U64", 64, Kind::unsigned_integer},
  };
  return table;
}

const SafetensorsDtype* find_safetensors_dtype(const std::string& name) {
  for (const SafetensorsDtype& dtype : safetensors_dtypes())
    if (name == dtype.name) return &dtype;
  return nullptr;
}

std::uint64_t safetensors_bytes(const SafetensorsDtype& dtype, const Shape& shape, const std::string& where) {
  // Zeros are left out of the first product: [0, 2^62, 2^62] has no elements, but its strides would overflow.
  constexpr Index limit = Index{1} << 60;
  Index product = 1;
  bool empty = false;
  for (const Index size : shape) {
    if (size < 0) throw Error(where + ": negative size in the shape", "sizes >= 0", std::to_string(size));
    empty = empty || size == 0;
    if (size != 0 && (__builtin_mul_overflow(product, size, &product) || product >= limit))
      throw Error(where + ": shape too large", "sizes that multiply to fewer than 2^60 elements", to_string(shape));
  }
  if (empty) return 0;
  const auto elements = static_cast<std::uint64_t>(product);
  const auto bits = static_cast<std::uint64_t>(dtype.bits);
  // elements * bits may need more than 64 bits: whole groups of 8 elements fill `bits` bytes.
  const std::uint64_t rest = elements % 8 * bits;
  if (rest % 8 != 0)
    throw Error(where + ": shape does not fill whole bytes", "a multiple of 8 bits",
                std::to_string(elements) + " elements of " + std::to_string(dtype.bits) + " bits");
  return elements / 8 * bits + rest / 8;
}

}  // namespace assay

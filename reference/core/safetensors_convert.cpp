#include "reference/core/safetensors_convert.hpp"

#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/core/safetensors_dtype.hpp"

namespace assay {
namespace {

using Kind = SafetensorsDtype::Kind;

/// Element i of a little-endian stream of codes of `bits` bits.
std::uint64_t get_code(const Bytes& data, std::uint64_t i, int bits) {
  if (bits >= 8) {
    const std::size_t width = static_cast<std::size_t>(bits) / 8;
    std::uint64_t code = 0;
    for (std::size_t byte = width; byte-- > 0;)
      code = code << 8 | std::to_integer<std::uint64_t>(data[i * width + byte]);
    return code;
  }
  std::uint64_t code = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const std::uint64_t at = i * static_cast<std::uint64_t>(bits) + static_cast<std::uint64_t>(bit);
    code |= (std::to_integer<std::uint64_t>(data[at / 8]) >> at % 8 & 1) << bit;
  }
  return code;
}

/// The inverse; `data` starts as zeros.
void put_code(Bytes& data, std::uint64_t i, int bits, std::uint64_t code) {
  if (bits >= 8) {
    const std::size_t width = static_cast<std::size_t>(bits) / 8;
    for (std::size_t byte = 0; byte < width; ++byte)
      data[i * width + byte] = static_cast<std::byte>(code >> (8 * byte));
    return;
  }
  for (int bit = 0; bit < bits; ++bit) {
    const std::uint64_t at = i * static_cast<std::uint64_t>(bits) + static_cast<std::uint64_t>(bit);
    data[at / 8] |= static_cast<std::byte>((code >> bit & 1) << at % 8);
  }
}

std::string text(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

/// The value of an integer code; false if no double holds it.
bool integer_value(const SafetensorsDtype& dtype, std::uint64_t code, double& value) {
  const int unused = 64 - dtype.bits;
  if (dtype.kind == Kind::signed_integer) {
    const std::int64_t integer = static_cast<std::int64_t>(code << unused) >> unused;
    value = static_cast<double>(integer);
    // 2^63, to which the largest integers round, would not convert back.
    return value < 0x1p63 && static_cast<std::int64_t>(value) == integer;
  }
  value = static_cast<double>(code);
  return value < 0x1p64 && static_cast<std::uint64_t>(value) == code;
}

/// The code of an integer; false if the dtype does not hold the value (NaN among them).
bool integer_code(const SafetensorsDtype& dtype, double value, std::uint64_t& code) {
  const bool with_sign = dtype.kind == Kind::signed_integer;
  const double end = pow2(with_sign ? dtype.bits - 1 : dtype.bits);
  if (!(value >= (with_sign ? -end : 0.0) && value < end) || (value == 0 && std::signbit(value))) return false;
  code = with_sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value);
  double back = 0;
  const std::uint64_t mask = dtype.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << dtype.bits) - 1;
  code &= mask;
  return integer_value(dtype, code, back) && back == value;
}

/// The code of a value in a format; false if the format does not hold it, bit by bit (a NaN where there is one).
bool format_code(const Format& format, double value, std::uint64_t& code) {
  if (std::isnan(value)) {
    code = format.nan_code;
    return format.has_nan();
  }
  // e8m0 rounds in two directions only.
  code = encode(format, value, format.specials == Specials::scale ? Round::toward_zero : Round::nearest_even,
                Overflow::infinity_or_nan);
  return std::bit_cast<std::uint64_t>(decode(format, code)) == std::bit_cast<std::uint64_t>(value);
}

const SafetensorsDtype& real_dtype(const std::string& dtype, const std::string& where) {
  const SafetensorsDtype* found = find_safetensors_dtype(dtype);
  if (!found || found->kind == Kind::complex)
    throw Error(where + ": dtype has no double values", "a real dtype of the format, such as F32", printable(dtype));
  return *found;
}

}  // namespace

const Format* safetensors_format(const std::string& dtype) {
  static const std::pair<const char*, const Format*> table[] = {{"F4", &formats::e2m1},
                                                                {"F6_E2M3", &formats::e2m3},
                                                                {"F6_E3M2", &formats::e3m2},
                                                                {"F8_E5M2", &formats::e5m2},
                                                                {"F8_E4M3", &formats::e4m3},
                                                                {"F8_E8M0", &formats::e8m0},
                                                                {"F16", &formats::fp16},
                                                                {"F8_E4M3FNUZ", &formats::e4m3fnuz},
                                                                {"F8_E5M2FNUZ", &formats::e5m2fnuz},
                                                                {"BF16", &formats::bf16},
                                                                {"F32", &formats::fp32},
                                                                {"F64", &formats::fp64}};
  for (const auto& row : table)
    if (dtype == row.first) return row.second;
  return nullptr;
}

Tensor<double> decode_tensor(const RawTensor& raw) {
  const std::string where = "tensor " + printable(raw.name);
  const SafetensorsDtype& dtype = real_dtype(raw.dtype, where);
  const std::uint64_t needed = safetensors_bytes(dtype, raw.shape, where);
  if (raw.data.size() != needed)
    throw Error(where + ": data disagrees with dtype and shape",
                std::to_string(needed) + " bytes for " + raw.dtype + " " + to_string(raw.shape),
                std::to_string(raw.data.size()));
  const Format* format = safetensors_format(raw.dtype);
  Tensor<double> out(raw.shape);
  for (Index i = 0, n = out.size(); i < n; ++i) {
    const std::uint64_t code = get_code(raw.data, static_cast<std::uint64_t>(i), dtype.bits);
    double& value = out.data()[i];
    if (format) {
      value = decode(*format, code);
    } else if (dtype.kind == Kind::boolean) {
      if (code > 1) throw Error(where + ", element " + std::to_string(i) + ": BOOL", "0 or 1", std::to_string(code));
      value = static_cast<double>(code);
    } else if (!integer_value(dtype, code, value)) {
      throw Error(where + ", element " + std::to_string(i) + ": integer", "a value that a double holds",
                  raw.dtype + " code " + std::to_string(code));
    }
  }
  return out;
}

RawTensor encode_tensor(const std::string& name, const std::string& dtype_name, const Tensor<double>& values) {
  const std::string where = "tensor " + printable(name);
  const SafetensorsDtype& dtype = real_dtype(dtype_name, where);
  RawTensor raw{name, dtype_name, values.shape(), {}};
  raw.data.resize(safetensors_bytes(dtype, raw.shape, where));
  const Format* format = safetensors_format(dtype_name);
  for (Index i = 0, n = values.size(); i < n; ++i) {
    const double value = values.at_flat(i);
    std::uint64_t code = 0;
    bool held = false;
    if (format) {
      held = format_code(*format, value, code);
    } else if (dtype.kind == Kind::boolean) {
      held = value == 1 || (value == 0 && !std::signbit(value));
      code = value == 1 ? 1 : 0;
    } else {
      held = integer_code(dtype, value, code);
    }
    if (!held)
      throw Error(where + ", element " + std::to_string(i), "a value that " + dtype_name + " holds", text(value));
    put_code(raw.data, static_cast<std::uint64_t>(i), dtype.bits, code);
  }
  return raw;
}

}  // namespace assay

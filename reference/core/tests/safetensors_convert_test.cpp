#include "reference/core/safetensors_convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "reference/core/safetensors_dtype.hpp"

namespace assay {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();
const double inf = std::numeric_limits<double>::infinity();

Bytes hex(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

Tensor<double> list(std::initializer_list<double> values) { return Vector<double>(values); }

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

std::string refusal(const std::string& dtype, double value) {
  try {
    encode_tensor("t", dtype, list({value, value, value, value}));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Layout written out by hand: byte order, the low half first, six bits across bytes.
TEST(SafetensorsConvert, KnownBytes) {
  EXPECT_EQ(encode_tensor("t", "F32", list({1, -2})).data, hex({0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
  EXPECT_EQ(encode_tensor("t", "BF16", list({1, -inf})).data, hex({0x80, 0x3f, 0x80, 0xff}));
  EXPECT_EQ(encode_tensor("t", "F4", list({1, 6, -0.5, 0})).data, hex({0x72, 0x09}));
  // e2m3: 1 = 001000, -7.5 = 111111, 0.125 = 000001, 0 = 000000; element 0 in the lowest six bits.
  EXPECT_EQ(encode_tensor("t", "F6_E2M3", list({1, -7.5, 0.125, 0})).data, hex({0xc8, 0x1f, 0x00}));
  EXPECT_EQ(encode_tensor("t", "F8_E8M0", list({1, 0x1p-127, 0x1p127})).data, hex({127, 0, 254}));
  EXPECT_EQ(encode_tensor("t", "I16", list({-2, 258})).data, hex({0xfe, 0xff, 0x02, 0x01}));
  EXPECT_EQ(encode_tensor("t", "BOOL", list({1, 0})).data, hex({1, 0}));
}

TEST(SafetensorsConvert, CanonicalNan) {
  const double odd = std::bit_cast<double>(std::uint64_t{0xfff4000000000001});
  EXPECT_EQ(encode_tensor("t", "F64", list({odd})).data, hex({0, 0, 0, 0, 0, 0, 0xf8, 0x7f}));
  EXPECT_EQ(encode_tensor("t", "F16", list({odd})).data, hex({0x00, 0x7e}));
  EXPECT_EQ(encode_tensor("t", "F8_E4M3", list({odd})).data, hex({0x7f}));
  EXPECT_EQ(encode_tensor("t", "F8_E5M2FNUZ", list({odd})).data, hex({0x80}));
  EXPECT_EQ(encode_tensor("t", "F8_E8M0", list({odd})).data, hex({0xff}));
}

// Every code of every dtype of at most 16 bits: decoded and encoded again it is the same code, NaNs made canonical.
TEST(SafetensorsConvert, EveryCodeSurvives) {
  int dtypes = 0;
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) {
    if (dtype.bits > 16 || dtype.kind == SafetensorsDtype::Kind::boolean) continue;
    ++dtypes;
    const Index codes = Index{1} << dtype.bits;
    RawTensor raw{"t", dtype.name, {codes / 8, 8}, Bytes(static_cast<std::size_t>(codes * dtype.bits / 8))};
    for (Index bit = 0; bit < codes * dtype.bits; ++bit)  // element i holds the code i
      if (bit / dtype.bits >> bit % dtype.bits & 1)
        raw.data[static_cast<std::size_t>(bit / 8)] |= static_cast<std::byte>(1 << bit % 8);
    const Tensor<double> values = decode_tensor(raw);
    const Tensor<double> again = decode_tensor(encode_tensor("t", dtype.name, values));
    for (Index i = 0; i < codes; ++i)
      EXPECT_TRUE(same_bits(values.at_flat(i), again.at_flat(i))) << dtype.name << " code " << i;
    if (const Format* format = safetensors_format(dtype.name); !format || !format->has_nan()) {
      EXPECT_EQ(encode_tensor("t", dtype.name, values), raw) << dtype.name;
    }
  }
  EXPECT_EQ(dtypes, 14);
}

TEST(SafetensorsConvert, IntegersOfAllWidths) {
  for (const char* dtype : {"I32", "I64"}) {
    const Tensor<double> values = list({0, -1, 2147483647, -2147483648.0});
    const Tensor<double> back = decode_tensor(encode_tensor("t", dtype, values));
    for (Index i = 0; i < 4; ++i) EXPECT_EQ(back.at_flat(i), values.at_flat(i)) << dtype;
  }
  EXPECT_EQ(decode_tensor(encode_tensor("t", "U64", list({0x1p63 + 2048}))).at_flat(0), 0x1p63 + 2048);
  EXPECT_EQ(decode_tensor(encode_tensor("t", "I64", list({-0x1p63}))).at_flat(0), -0x1p63);
  for (const char* dtype : {"I64", "U64"}) {
    RawTensor odd{"t", dtype, {1}, hex({1, 0, 0, 0, 0, 0, 0x20, 0})};  // 2^53 + 1
    EXPECT_THROW(decode_tensor(odd), Error) << dtype;
    odd.data = Bytes(8, std::byte{0xff});  // -1, and 2^64 - 1
    if (std::string(dtype) == "U64") {
      EXPECT_THROW(decode_tensor(odd), Error);
    }
    odd.data[7] = std::byte{0x7f};  // 2^63 - 1
    EXPECT_THROW(decode_tensor(odd), Error) << dtype;
  }
}

TEST(SafetensorsConvert, StoringNeverRounds) {
  EXPECT_EQ(refusal("F16", 1.0 / 3),
            "tensor 't', element 0: expected a value that F16 holds, found 0.33333333333333331");
  const struct {
    const char* dtype;
    double value;
  } cases[] = {
      {"F32", 1e300},   {"F32", 1 + 0x1p-24}, {"BF16", 1 + 0x1p-8}, {"F8_E4M3", 449},      {"F8_E4M3", inf},
      {"F8_E5M2", 0.1}, {"F4", nan},          {"F4", inf},          {"F6_E3M2", 29},       {"F8_E8M0", 0},
      {"F8_E8M0", -1},  {"F8_E8M0", 3},       {"U8", -1},           {"U8", 256},           {"U8", 0.5},
      {"U8", -0.0},     {"U8", nan},          {"I8", -129},         {"I64", 0x1p63},       {"U64", 0x1p64},
      {"I32", inf},     {"BOOL", 2},          {"BOOL", nan},        {"F8_E4M3FNUZ", -0.0}, {"F8_E5M2FNUZ", inf}};
  for (const auto& one : cases)
    EXPECT_NE(refusal(one.dtype, one.value).find("element 0: expected a value that"), std::string::npos)
        << one.dtype << " " << one.value << ": " << refusal(one.dtype, one.value);
  EXPECT_NE(refusal("C64", 1).find("no double values"), std::string::npos);
  EXPECT_THROW(encode_tensor("t", "F4", list({1})), Error);  // half a byte
  EXPECT_THROW(decode_tensor({"t", "F32", {2}, Bytes(4)}), Error);
  EXPECT_THROW(decode_tensor({"t", "BOOL", {1}, hex({2})}), Error);
}

TEST(SafetensorsConvert, ViewsAndEmptyTensors) {
  Matrix<double> m(2, 3);
  for (Index i = 0; i < 6; ++i) m.data()[i] = static_cast<double>(i);
  const Matrix<double> transposed(m.storage(), m.data(), 3, 2, 1, 3);
  const RawTensor raw = encode_tensor("t", "U8", transposed);
  EXPECT_EQ(raw.shape, (Shape{3, 2}));
  EXPECT_EQ(raw.data, hex({0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(decode_tensor(encode_tensor("t", "F64", Tensor<double>(Shape{0, 5}))).shape(), (Shape{0, 5}));
  EXPECT_EQ(decode_tensor(encode_tensor("t", "F64", Tensor<double>(Shape{}, 7.0))).at_flat(0), 7.0);
}

}  // namespace
}  // namespace assay

#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/core/format.hpp"
#include "reference/core/tensor.hpp"

namespace assay {

/// The format that a C++ type is: double, float, std::int32_t, std::int64_t, and std::byte, which is only moved.
template <class T>
const Format& format_of() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, double>) return formats::fp64;
  if constexpr (std::is_same_v<U, float>) return formats::fp32;
  if constexpr (std::is_same_v<U, std::int32_t>) return formats::int32;
  if constexpr (std::is_same_v<U, std::int64_t>) return formats::int64;
  if constexpr (std::is_same_v<U, std::byte>) return formats::uint8;
  static_assert(std::is_arithmetic_v<U> || std::is_same_v<U, std::byte>, "elements are numbers or bytes");
}

/// A run of `count` elements of one format, one after another in memory: what a call of a communicator writes.
/// Constructed from a vector, a span or a dense tensor of one of the types above, or from the codes of a format
/// (`Buffer(codes, formats::bf16)`). It owns nothing.
struct Buffer {
  std::byte* data = nullptr;
  Index count = 0;
  const Format* format = &formats::uint8;

  /// @throws Error if an element of the format is not a whole number of bytes (packed fp4 travels as bytes).
  Buffer(void* elements, Index n, const Format& f) : data(static_cast<std::byte*>(elements)), count(n), format(&f) {
    if (f.bits % 8 != 0) throw Error("a buffer of " + std::string(f.name), "elements of whole bytes", bits(f.bits));
    if (n < 0) throw Error("a buffer", "a number of elements", std::to_string(n));
  }
  template <class T>
  Buffer(std::span<T> s) : Buffer(s.data(), static_cast<Index>(s.size()), format_of<T>()) {}  // NOLINT: is a buffer
  template <class T>
  Buffer(std::vector<T>& v) : Buffer(std::span<T>(v)) {}  // NOLINT: is a buffer
  /// @throws Error if the tensor is not dense.
  template <class T>
  Buffer(const Tensor<T>& t) : Buffer(t.data(), t.size(), format_of<T>()) {  // NOLINT: is a buffer
    if (!t.dense())
      throw Error("a buffer of a tensor", "dense row-major elements", "strides " + to_string(t.strides()));
  }
  template <class T>
  Buffer(const Matrix<T>& m) : Buffer(Tensor<T>(m)) {}  // NOLINT: is a buffer
  template <class T>
  Buffer(const Vector<T>& v) : Buffer(Tensor<T>(v)) {}  // NOLINT: is a buffer
  /// Codes of a format. @throws Error if the codes are not as wide as the format.
  template <class Code>
  Buffer(std::span<Code> codes, const Format& f) : Buffer(codes.data(), static_cast<Index>(codes.size()), f) {
    if (sizeof(Code) != element_bytes())
      throw Error("codes of " + std::string(f.name), bits(f.bits), bits(8 * static_cast<int>(sizeof(Code))));
  }
  template <class Code>
  Buffer(std::vector<Code>& codes, const Format& f) : Buffer(std::span<Code>(codes), f) {}

  std::size_t element_bytes() const { return static_cast<std::size_t>(format->bits) / 8; }
  std::span<std::byte> bytes() const { return {data, static_cast<std::size_t>(count) * element_bytes()}; }
  /// Elements [first, first + n).
  Buffer part(Index first, Index n) const {
    return {data + static_cast<std::size_t>(first) * element_bytes(), n, *format};
  }

 private:
  static std::string bits(int n) { return std::to_string(n) + " bits"; }
};

/// What a call of a communicator reads: a Buffer, or one of constant elements.
struct View {
  const std::byte* data = nullptr;
  Index count = 0;
  const Format* format = &formats::uint8;

  View(const Buffer& b) : data(b.data), count(b.count), format(b.format) {}  // NOLINT: a buffer can be read
  template <class T>
  View(std::span<T> s) : View(Buffer(unconst(s))) {}  // NOLINT: is a view
  template <class T>
  View(const std::vector<T>& v) : View(std::span<const T>(v)) {}  // NOLINT: is a view
  template <class T>
  View(const Tensor<T>& t) : View(Buffer(t)) {}  // NOLINT: is a view
  template <class T>
  View(const Matrix<T>& m) : View(Buffer(m)) {}  // NOLINT: is a view
  template <class T>
  View(const Vector<T>& v) : View(Buffer(v)) {}  // NOLINT: is a view
  template <class Code>
  View(std::span<Code> codes, const Format& f) : View(Buffer(unconst(codes), f)) {}
  template <class Code>
  View(const std::vector<Code>& codes, const Format& f) : View(std::span<const Code>(codes), f) {}

  std::size_t element_bytes() const { return static_cast<std::size_t>(format->bits) / 8; }
  std::span<const std::byte> bytes() const { return {data, static_cast<std::size_t>(count) * element_bytes()}; }
  /// Elements [first, first + n).
  View part(Index first, Index n) const {
    View p = *this;
    p.data += static_cast<std::size_t>(first) * element_bytes();
    p.count = n;
    return p;
  }

 private:
  // The checks are Buffer's; a view never writes.
  template <class T>
  static std::span<std::remove_const_t<T>> unconst(std::span<T> s) {
    return {const_cast<std::remove_const_t<T>*>(s.data()), s.size()};
  }
};

}  // namespace assay

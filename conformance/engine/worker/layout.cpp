#include "conformance/engine/worker/layout.hpp"

#include "conformance/engine/worker/dtype.hpp"

namespace assay {
namespace {

bool dense(const TensorBytes& b) {
  Index step = 1;
  for (std::size_t d = b.shape.size(); d-- > 0;) {
    if (b.shape[d] != 1 && b.strides[d] != step) return false;
    step *= b.shape[d];
  }
  return true;
}

}  // namespace

std::size_t span_bytes(const TensorBytes& b) {
  const assay_dtype dtype = abi_dtype(b.dtype);
  if (b.strides.size() != b.shape.size())
    throw Error("strides of tensor '" + b.name + "' do not fit its shape", "one for each of " + to_string(b.shape),
                to_string(b.strides));
  const Index n = count(b.shape);
  for (Index stride : b.strides)
    if (stride < 0)
      throw Error("negative stride in tensor '" + b.name + "'", "strides >= 0 elements", to_string(b.strides));
  if (n == 0) return 0;
  Index last = 0;
  for (std::size_t d = 0; d < b.shape.size(); ++d) {
    Index step = 0;
    if (b.shape[d] == 1) continue;  // its stride means nothing
    if (__builtin_mul_overflow(b.shape[d] - 1, b.strides[d], &step) || __builtin_add_overflow(last, step, &last) ||
        last > (Index{1} << 46))
      throw Error("tensor '" + b.name + "' is too large", "fewer than 2^46 elements from first to last",
                  to_string(b.shape) + " with strides " + to_string(b.strides));
  }
  if (dtype.bits % 8 != 0) {
    if (!dense(b))
      throw Error("strided tensor '" + b.name + "' of a packed type", "dense strides", to_string(b.strides));
    return static_cast<std::size_t>((n * dtype.bits + 7) / 8);
  }
  return static_cast<std::size_t>(last + 1) * (dtype.bits / 8);
}

std::vector<bool> element_bytes(const TensorBytes& b, bool overlap_allowed) {
  if (count(b.shape) == 0 || dense(b)) return {};
  const std::size_t width = abi_dtype(b.dtype).bits / 8;
  std::vector<bool> mine(span_bytes(b));
  std::vector<Index> at(b.shape.size());
  for (;;) {
    Index offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += b.shape[d] == 1 ? 0 : at[d] * b.strides[d];
    const std::size_t first = static_cast<std::size_t>(offset) * width;
    if (mine[first] && !overlap_allowed)
      throw Error("elements of output '" + b.name + "' overlap", "a place for each element of " + to_string(b.shape),
                  "strides " + to_string(b.strides));
    for (std::size_t i = 0; i < width; ++i) mine[first + i] = true;
    std::size_t d = at.size();
    while (d-- > 0 && ++at[d] == b.shape[d]) at[d] = 0;
    if (d == static_cast<std::size_t>(-1)) return mine;
  }
}

std::size_t place(std::size_t span, std::size_t extent, std::size_t alignment, Guard guard) {
  if (span == 0) return extent;
  if (guard == Guard::before) return 0;
  const std::size_t start = extent - span;
  return alignment > 1 ? start / alignment * alignment : start;
}

void fill_pattern(std::byte* first, std::size_t n, std::uint16_t pattern) {
  const std::byte bytes[2] = {static_cast<std::byte>(pattern & 0xFF), static_cast<std::byte>(pattern >> 8)};
  for (std::size_t i = 0; i < n; ++i) first[i] = bytes[i & 1];
}

std::size_t pattern_ends(const std::byte* first, std::size_t n, std::uint16_t pattern) {
  const std::byte bytes[2] = {static_cast<std::byte>(pattern & 0xFF), static_cast<std::byte>(pattern >> 8)};
  std::size_t i = 0;
  while (i < n && first[i] == bytes[i & 1]) ++i;
  return i;
}

}  // namespace assay

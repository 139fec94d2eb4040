#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "conformance/engine/worker/worker.hpp"

// Where the bytes of a tensor lie: its span, the gaps between its elements, and its place in a piece of shared memory
// that ends (or begins) at an inaccessible page.
namespace assay {

/// Bytes from the first element to the end of the last. Throws Error naming the tensor.
std::size_t span_bytes(const TensorBytes& buffer);

/// For each byte of the span: does it belong to an element? Empty if all do. Throws Error if two elements overlap and
/// `overlap_allowed` is false.
std::vector<bool> element_bytes(const TensorBytes& buffer, bool overlap_allowed);

/// A piece of shared memory that holds one tensor.
struct Extent {
  std::uint64_t file_offset = 0;
  std::size_t bytes = 0;  ///< whole pages
};

/// Where in its extent a tensor of `span` bytes starts: as late as the alignment allows, or at 0. An empty tensor
/// starts at the end of the extent, in the inaccessible page.
std::size_t place(std::size_t span, std::size_t extent, std::size_t alignment, Guard guard);

/// Fills with a two-byte pattern, starting with its low byte.
void fill_pattern(std::byte* first, std::size_t n, std::uint16_t pattern);
/// First byte that differs from the pattern, n if none does.
std::size_t pattern_ends(const std::byte* first, std::size_t n, std::uint16_t pattern);

}  // namespace assay

#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/core/file_io.hpp"
#include "reference/core/tensor.hpp"

namespace assay {

// The safetensors format (github.com/huggingface/safetensors): 8 bytes N, little-endian; N bytes of JSON
//   {"__metadata__": {text: text, ...}, NAME: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
// padded with spaces; then the bytes of the tensors, which cover the rest of the file without hole or overlap.

/// One tensor as it lies in a file. `data` has exactly the bytes that `dtype` and `shape` ask for.
struct RawTensor {
  std::string name;
  std::string dtype;  // a name of safetensors_dtypes()
  Shape shape;
  Bytes data;

  bool operator==(const RawTensor&) const = default;
};

struct SafetensorsFile {
  std::vector<RawTensor> tensors;
  std::map<std::string, std::string> metadata;

  /// nullptr if there is none of that name.
  const RawTensor* find(const std::string& name) const;
  /// Throws Error naming the tensors that are there.
  const RawTensor& at(const std::string& name) const;
  bool operator==(const SafetensorsFile&) const = default;
};

/// Reads a file; tensors come in the order of their bytes. Throws Error naming the file, the tensor, what was expected
/// and what was found if the path is not a regular file or the contents are not exactly the format above: no byte of
/// the file goes unexplained, unknown fields and repeated keys are refused, and nothing is allocated for a size that
/// the file does not have.
SafetensorsFile read_safetensors(const std::filesystem::path& path);
/// The same from memory; `origin` names the bytes in messages.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& origin);

/// The one byte form of a file: tensors by descending rank of the dtype, then by name; metadata by key; the header
/// padded to a multiple of 8 bytes. Throws Error on an unknown dtype, a repeated or reserved name, text that is not
/// UTF-8, or data whose length disagrees with dtype and shape.
Bytes serialize_safetensors(const SafetensorsFile& file);
/// Writes that form to a temporary file beside `path` and renames it.
void write_safetensors(const std::filesystem::path& path, const SafetensorsFile& file);

}  // namespace assay

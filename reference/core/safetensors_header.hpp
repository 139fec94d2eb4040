#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/core/tensor.hpp"

namespace assay {

/// One tensor of a safetensors header, as written there and not yet compared with anything.
struct HeaderEntry {
  std::string name, dtype;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;  // in the order of the text
  std::map<std::string, std::string> metadata;
};

/// Reads the JSON text of a header. Throws Error (its text starts with `where`) on anything but the one object of the
/// format: another kind of value, a missing, unknown or repeated key, a size or offset that is not an integer in
/// [0, 2^63), more than 64 dimensions, text that is not UTF-8, characters after the object other than spaces.
Header parse_header(const std::string& json, const std::string& where);

/// The JSON text, entries in the given order. Throws Error if a name or a metadata text is not UTF-8.
std::string header_text(const Header& header);

}  // namespace assay

#pragma once
#include <yaml-cpp/yaml.h>

#include <string>

// YAML from people we do not know.
namespace assay {

/// Throws Error, with the line where there is one, on what is no YAML and on what is not meant to be read: over 1 MiB,
/// nested deeper than 8, more than 20,000 values, anchors, aliases, several documents, bytes that are no text. `files`:
/// what such files are called, "capability files".
YAML::Node strict_yaml(const std::string& text, const std::string& path, const std::string& files);

/// The first mebibyte of a file, and one byte more where there is more. Throws Error if it cannot be read.
std::string read_text(const std::string& path, const std::string& what, const std::string& expected);

}  // namespace assay

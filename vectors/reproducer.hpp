#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "conformance/engine/call.hpp"

// A case that stands alone: one safetensors file with the inputs, what is expected, what is allowed and what came back,
// and a Python script beside it that needs neither assay nor a package.
namespace assay::vectors {

/// What is exported. `about` becomes metadata and the first lines of the script: claim, case, target, what, command.
struct Reproducer {
  std::string stem;  // of both files; see reproducer_stem
  Call call;
  std::optional<Tensors> got;  // what the target answered
  std::map<std::string, std::string> about;
};

/// A file name of claim, case and contract: "softmax.safe.accuracy.t3_n70.bf16".
std::string reproducer_stem(const std::string& claim, const std::string& spelling, const Contract& contract);

/// Writes STEM.safetensors and STEM.py into `dir`, which is made if it is not there, and returns the script's path. The
/// file has the tensors and metadata of a vector (vectors/vector.hpp) that covers one contract, named `contract`, and
/// got.N. Throws Error if the definition refuses the call, or the files cannot be written.
std::filesystem::path export_case(const Reproducer& r, const std::filesystem::path& dir);

}  // namespace assay::vectors

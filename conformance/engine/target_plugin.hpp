#pragma once
#include <memory>
#include <string>
#include <vector>

#include "conformance/engine/target.hpp"

namespace assay {

/// A kernel library behind the plugin ABI: FILE.so, with its capability file FILE.yaml beside it. Throws Error if
/// either cannot be read or loaded.
std::unique_ptr<Target> plugin_target(const std::string& name, const std::string& file);

}  // namespace assay

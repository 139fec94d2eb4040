#pragma once
#include <memory>
#include <string>

#include "conformance/abi/plugin.h"

namespace assay {

/// Worker side: a plugin that is loaded.
struct Library {
  int (*run)(const assay_call*) = nullptr;
  int (*offers)(const char*, const char*, char*, size_t) = nullptr;  ///< nullptr if the plugin cannot be asked
  std::string version;
};

/// The plugin at `path`, loaded at the first use. Throws Error: no such file, not a shared library, a symbol missing,
/// another ABI version, what the dynamic linker says.
const Library& library(const std::string& path);

}  // namespace assay

#pragma once
#include <string>

#include "conformance/abi/plugin.h"

namespace assay {

/// The ABI's code of a number format, by the format's name in reference/core/format.hpp ("fp32", "bf16", "e4m3", ...).
/// `bits` is the width in memory: bool and ue4m3 take a byte, tf32 a 32-bit word. Throws Error listing the names.
assay_dtype abi_dtype(const std::string& format);

}  // namespace assay

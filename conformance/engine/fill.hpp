#pragma once
#include "conformance/engine/call.hpp"
#include "conformance/engine/case.hpp"

namespace assay {

/// The call a case stands for, under a contract: its options, and inputs of its sizes filled by profile, mask pattern
/// and seed. Values depend on (seed, tensor, coordinates) alone, so cutting a size keeps the values that remain.
Call make_call(const Case& c, const Contract& contract);

}  // namespace assay

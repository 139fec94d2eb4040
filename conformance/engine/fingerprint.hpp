#pragma once
#include <string>
#include <vector>

#include "conformance/engine/call.hpp"
#include "conformance/engine/target.hpp"

namespace assay {

/// A call that failed, and what the target answered.
struct Observed {
  Call call;
  Tensors outputs;
};

/// Which planted bug, or which option value or contract field that the call did not declare, reproduces the outputs of
/// the failing calls: "planted bug finite_mask on 12 of 12: ..."; "" if none does on most of them. A hint for the
/// reader, never a verdict.
std::string fingerprint(const std::vector<Observed>& failing, double z);

}  // namespace assay

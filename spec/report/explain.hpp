#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "spec/page.hpp"

namespace assay::spec {

/// What an id means, for a terminal: a concept with its equations, op, claims, bugs and cases; an op; a claim; a bug;
/// or what the lists say of something that has no page yet. Throws Error naming the nearest ids.
std::string explain(const std::string& id);

/// The same as data. An op becomes a JSON Schema of a call (inputs and options) with its outputs beside it.
nlohmann::ordered_json explain_json(const std::string& id);

/// The signature on one line: "softmax(x, mask?, sink?) -> p, log_p, lse".
std::string signature(const OpSpec& op);

}  // namespace assay::spec

#pragma once
#include <string>

#include "conformance/engine/call.hpp"
#include "conformance/engine/target.hpp"
#include "conformance/engine/worker/worker.hpp"

namespace assay {

/// A call as bytes for a worker: inputs encoded in their formats, outputs of the wanted names, laid out as `layout`
/// says. Output shapes are those of the op's page in this call.
Request make_request(const std::string& target, const Call& call, const std::vector<std::string>& outputs,
                     const Layout& layout);

/// The reply's outputs decoded, or why there are none.
Answer read_reply(const Reply& reply, const Request& request, const Call& call);

}  // namespace assay

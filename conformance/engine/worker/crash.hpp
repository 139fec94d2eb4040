#pragma once
#include "conformance/engine/worker/protocol.hpp"

namespace assay {

/// Installs handlers that record a fatal signal (which, where, read or write) in the control block and then let it end
/// the process. They run on a stack of their own, so a stack overflow is recorded too.
void record_crashes(Control* control);

}  // namespace assay

#pragma once
#include <string>

#include "conformance/abi/plugin.h"

namespace assay {

/// Runs an implementation that is compiled into the worker executable (a subject, a planted bug, a mutant) on a call of
/// the plugin ABI. `name` is the request's target, for example "subject:softmax" or "planted:softmax.finite_mask".
/// Returns what assay_plugin_run returns; an unknown name is ASSAY_ERROR with the text in call->error. May throw: the
/// worker reports the exception as an error.
///
/// Declared here, defined by whoever links a worker executable: conformance/engine/builtins.cpp asks the registry of
/// subjects.
int run_builtin(const std::string& name, const assay_call* call);

}  // namespace assay

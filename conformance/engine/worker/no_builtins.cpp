#include <cstdio>

#include "conformance/engine/worker/builtin.hpp"

namespace assay {

int run_builtin(const std::string& name, const assay_call* call) {
  std::snprintf(call->error, call->error_size, "this worker serves plugins only; asked for '%s'", name.c_str());
  return ASSAY_ERROR;
}

}  // namespace assay

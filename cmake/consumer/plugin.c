#include <assay/plugin.h>

uint32_t assay_plugin_abi(void) { return ASSAY_ABI_VERSION; }

int assay_plugin_run(const assay_call* call) { return call ? ASSAY_UNSUPPORTED : ASSAY_ERROR; }

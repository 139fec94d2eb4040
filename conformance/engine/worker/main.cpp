#include <cstdio>

#include "conformance/engine/worker/serve.hpp"

// The process that foreign code runs in. Started by assay::Worker only.
int main() {
  const int status = assay::serve_worker();
  if (status == assay::kNotStartedByAssay)
    std::fprintf(stderr, "assay_worker is started by assay and talks to it; it is not run by hand\n");
  return status;
}

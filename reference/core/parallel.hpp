#pragma once
#include <functional>

#include "reference/core/tensor.hpp"

namespace assay {

/// Calls body(first, last) on the ranges [0, grain), [grain, 2 grain), ... that cover [0, n), on all threads, and
/// returns when all are done. The ranges depend on n and grain alone, never on the number of threads, so neither do
/// results that each range computes by itself. A call from inside a body, or while another thread's call is running,
/// runs on the calling thread. The first exception thrown by a body is rethrown here once the other ranges have ended;
/// ranges not yet begun are skipped. grain < 1 counts as 1.
void parallel_for(Index n, Index grain, const std::function<void(Index first, Index last)>& body);

/// Threads at work, the caller included: ASSAY_THREADS, or what the machine has. Throws Error unless that is an integer
/// in 1..1024.
int thread_count();

}  // namespace assay

#pragma once
#include <functional>

#include "distributed/communicator/communicator.hpp"

namespace assay {

/// Runs body(communicator) on ranks 0 .. n-1, each a thread of this process, and waits for all of them. The threads
/// exchange memory with one copy, and nothing is buffered: a body that relies on buffering does not pass. When no rank
/// can go on, that is an error at once, not at the deadline.
/// @throws Error if a rank failed, naming it and why; the same that the other ranks' calls threw.
void run_ranks(int n, const std::function<void(Communicator&)>& body, RanksOptions options = {});

/// One rank of such a run, on its own transport: the body, and what it throws made the group's failure.
void run_body(Transport& transport, const std::function<void(Communicator&)>& body);

}  // namespace assay

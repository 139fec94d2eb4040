#pragma once
#include <functional>

#include "distributed/communicator/communicator.hpp"

namespace assay {

/// The same body with its bytes moved by NCCL: run_ranks(n, over_nccl(body)), or the same with MpiSession::run. Rank r
/// uses device r modulo the number of devices of its process. Buffers stay in host memory and are copied to the device
/// and back: this is for what arrives, not for speed. The ranks first agree over the back end they were started on,
/// since NCCL itself hangs or corrupts memory where calls do not match; NCCL then only moves bytes, and reductions have
/// the bits they have everywhere. State: compiled and linked against NCCL 2.28 to 2.32; not yet run, for want of a
/// device. Its test runs where there is one.
/// @throws Error, in the run, if there is no device, or if CUDA or NCCL report an error. A device that stops in the
/// middle is noticed at the deadline.
std::function<void(Communicator&)> over_nccl(std::function<void(Communicator&)> body, RanksOptions options = {});

}  // namespace assay

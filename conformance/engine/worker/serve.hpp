#pragma once

namespace assay {

/// Exit statuses of a worker process.
inline constexpr int kNotStartedByAssay = 2;  ///< no control channel where there should be one
inline constexpr int kChannelLost = 97;       ///< the foreign code closed or used up the control channel

/// The life of a worker process: map the shared memory, answer requests until the parent hangs up. Returns the exit
/// status.
int serve_worker();

}  // namespace assay

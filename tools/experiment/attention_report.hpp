#pragma once
#include "tools/experiment/attention.hpp"

namespace assay::experiment {

/// Print what was seen, as tables of page numerics.verdict. 0 if no honest kernel was rejected, 1 otherwise.
int report_attention(int effort, std::uint64_t seed, double z, const AttentionChoice& choice);
int report_online(int effort, std::uint64_t seed, double z);
int report_attention_bugs(int tiny, std::uint64_t seed, double z, const std::string& contract);

}  // namespace assay::experiment

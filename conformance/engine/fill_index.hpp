#pragma once
#include "conformance/engine/call.hpp"
#include "conformance/engine/case.hpp"

namespace assay {

/// The integers of an input whose page says what they mean (`fill:`), valid by construction, in the case's pattern:
///   lengths     [n]        0 to the product of sizes; 0 where there is no page to read
///   page_table  [n, most]  pages 0 to Npages - 1: as many as the row's length needs, then stale ones, which are pages
///                          too; what a target makes of other numbers there is for a claim to ask
///   cu_seqlens  [n + 1]    0, then ends of sequences, many of them empty, and the packed size
/// `earlier`: the inputs filled before it. Throws Error if n sequences cannot have that size (rows, but no sequence).
Tensor<double> fill_index(const TensorSpec& spec, const Case& c, const Tensors& earlier, const Shape& shape,
                          std::uint64_t seed, std::uint32_t tensor);

}  // namespace assay

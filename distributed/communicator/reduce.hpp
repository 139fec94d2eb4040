#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "distributed/communicator/order.hpp"
#include "reference/core/format.hpp"
#include "reference/core/tensor.hpp"

namespace assay {

/// How two contributions are combined.
///  - Integers: sum and prod modulo 2^w.
///  - Floats: max and min give NaN if either is NaN, and -0 < +0. So they do not depend on the order, as integers do
///  not.
///  - A NaN is one value, the format's canonical one: which NaN came first changes no bit.
///  - avg is the sum, divided by the number of ranks once, in the format of the nodes; of integers toward zero.
enum class Op : std::uint8_t { sum, prod, max, min, avg };
std::string_view name(Op op);

/// A reduction over ranks: everything its bits depend on.
struct Reduction {
  Op op = Op::sum;
  CombineOrder order = CombineOrder::ascending;
  /// The format that every inner node of the tree rounds to (nearest even). The result is rounded once more, to the
  /// format of the elements. Null: fp32 for floats of fewer than 32 bits, the format of the elements otherwise. The
  /// format of the elements itself is what a ring does that sends partial sums in the wire type.
  const Format* accumulate = nullptr;
  /// Sums of floats are not formed along a tree but without any rounding, and rounded once, to `accumulate`: the order
  /// plays no part in their bits.
  bool exact = false;
};

/// The format in which `how` accumulates elements of `f`. @throws Error if elements of `f` cannot be reduced (bytes,
/// fixed point, e8m0), or if `how` asks for a format that does not hold every value of `f`.
const Format& accumulator(const Reduction& how, const Format& f);

/// out[i] = the contributions x[r][i] combined along `nodes` (of merges()); i < count. All elements are of format `f`.
/// `out` may be one of the contributions.
void reduce(const Reduction& how, const Format& f, std::span<const std::byte* const> x, Index count,
            std::span<const Merge> nodes, std::byte* out);

}  // namespace assay

#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "distributed/communicator/reduce.hpp"
#include "reference/core/format.hpp"

namespace assay {

/// The calls of a communicator.
enum class RanksCall : std::int32_t {
  message,  ///< send and recv
  broadcast,
  scatter,
  gather,
  reduce,
  all_gather,
  all_reduce,
  reduce_scatter,
  all_to_all,
  barrier
};

inline constexpr std::int32_t exact_order = 100;

/// What a message says of itself: the call it belongs to and the arguments in which both sides must agree. It travels
/// with each message and is compared where it arrives, which is how a mismatch becomes an error. All bytes count, so
/// every field has a value in every call.
struct Envelope {
  RanksCall call = RanksCall::message;
  std::int32_t from = -1, to = -1;          ///< of a message; a call with a root has it in `from`
  std::int32_t op = -1, order = -1;         ///< order: exact_order where sums are not rounded along a tree
  std::int32_t part = 0;                    ///< a step inside a collective call; 0 is the agreement before it
  std::int64_t count = 0;                   ///< elements
  std::array<char, 16> format{}, summed{};  ///< their format, and the one they are accumulated in
  bool operator==(const Envelope&) const = default;
};
static_assert(sizeof(Envelope) == 64 && std::is_trivially_copyable_v<Envelope>);

/// Name of a format as an envelope carries it.
std::array<char, 16> format_name(const Format& f);

/// "all_reduce of 12 fp32, sum in order ring, accumulated in fp32", "message of 3 bf16 from rank 0 to rank 1".
std::string describe(const Envelope& e);

/// @throws Error saying what the two ranks called, unless `found`, which came from rank `from`, is what `rank` expects.
void require_match(int rank, int from, const Envelope& expected, const Envelope& found);

}  // namespace assay

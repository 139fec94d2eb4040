#include "distributed/communicator/envelope.hpp"

#include <algorithm>
#include <string_view>

#include "reference/core/error.hpp"

namespace assay {
namespace {

constexpr std::array<std::string_view, 10> calls{"message",    "broadcast",  "scatter",        "gather",     "reduce",
                                                 "all_gather", "all_reduce", "reduce_scatter", "all_to_all", "barrier"};

std::string text(const std::array<char, 16>& name) { return name.data(); }

}  // namespace

std::array<char, 16> format_name(const Format& f) {
  std::array<char, 16> name{};
  std::copy_n(f.name.data(), std::min(f.name.size(), name.size() - 1), name.begin());
  return name;
}

std::string describe(const Envelope& e) {
  std::string out(calls[static_cast<std::size_t>(e.call)]);
  if (e.call == RanksCall::barrier) return out;
  out += " of " + (e.count < 0 ? "unequal counts of" : std::to_string(e.count)) + " " + text(e.format);
  if (e.call == RanksCall::message)
    return out + " from rank " + std::to_string(e.from) + " to rank " + std::to_string(e.to);
  if (e.call == RanksCall::broadcast || e.call == RanksCall::scatter)
    return out + " from rank " + std::to_string(e.from);
  if (e.call == RanksCall::gather || e.call == RanksCall::reduce) out += " to rank " + std::to_string(e.from);
  if (e.op >= 0)
    out +=
        ", " + std::string(name(static_cast<Op>(e.op))) +
        (e.order == exact_order ? " exactly" : " in order " + std::string(name(static_cast<CombineOrder>(e.order)))) +
        ", accumulated in " + text(e.summed);
  if (e.part > 0) out += " (step " + std::to_string(e.part) + ")";
  return out;
}

void require_match(int rank, int from, const Envelope& expected, const Envelope& found) {
  if (expected == found) return;
  throw Error("rank " + std::to_string(rank) + " and rank " + std::to_string(from) + " call differently",
              describe(expected), describe(found));
}

}  // namespace assay

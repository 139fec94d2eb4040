#pragma once
#include <functional>
#include <vector>

#include "conformance/engine/target.hpp"
#include "distributed/communicator/communicator.hpp"

// A group of ranks as a target: a file per op says what each rank does with its share of a call.
namespace assay {

/// Runs a body on n ranks that share this memory, and tells the bytes that each sent.
using Group = std::function<std::vector<std::int64_t>(int n, const std::function<void(Communicator&)>& body)>;

/// An op of groups of ranks.
struct RanksOp {
  const char* op;
  /// Whether it offers an option's value (as Target::offers_option).
  bool (*offers)(const OpSpec& op, std::size_t option, int value);
  /// Fills the answer's outputs and `sent`. Throws Error on a call that it refuses.
  void (*run)(const Call& call, const Group& group, Answer& answer);
  std::vector<const char*> contracts = {"fp32", "fp64"};
};
struct RegisterRanksOp {
  explicit RegisterRanksOp(const RanksOp& op);
};

/// Throws Error if an input that there must be is missing, or has another format than the contract says.
void require_inputs(const Call& call);

}  // namespace assay

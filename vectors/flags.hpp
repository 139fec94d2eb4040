#pragma once
#include <string>
#include <vector>

#include "vectors/vector.hpp"

// What a vector is for, in flags; the manifest describes each flag once. Flags of the case say what is special about
// its inputs; flags of bugs ("softmax.finite_mask") say which planted bugs the vector catches, found by running them.
namespace assay::vectors {

struct Flag {
  std::string name, kind;    // kind: case or bug
  std::string says, effect;  // what it marks, and what goes wrong in code that has the bug
  std::vector<std::string> seen;
  std::string caught_by;  // of a bug: the claim that catches it
};

/// The description of a flag. Throws Error if neither the list of case flags nor a page has it.
Flag describe_flag(const std::string& name);

/// Flags of the case, in a fixed order.
std::vector<std::string> case_flags(const SafetensorsFile& file, const Call& call);

/// One computed vector.
struct Vector {
  Plan plan;
  SafetensorsFile file;
  std::vector<std::string> flags;
};

/// Adds the flags of the bugs planted in the op's subject that the vectors of one page catch: those with an output
/// farther from `expected` than twice what is allowed. Twice, so that a flag never hangs on the last bit of a C
/// library's function in a subject; outputs alone, because whoever uses a vector sees nothing else (a worker's guarded
/// memory does). The subjects run in worker processes, into outputs that hold NaN before.
void add_bug_flags(std::vector<Vector>& vectors);

}  // namespace assay::vectors

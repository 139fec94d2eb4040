#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/machine/module.hpp"
#include "reference/ptx/lanes.hpp"

// What the machine runs: a function decoded once, each instruction a handler and the places of its operands.
namespace assay::gpu {

using ptx::Mask;

class Warp;
struct Instruction;

/// What a handler did: the fragment goes on, or went elsewhere by itself (branch, call, exit), or cannot go on now.
enum class Step : std::uint8_t { next, moved, wait };
using Handler = Step (*)(Warp&, const Instruction&, Mask active);

/// Where an operand lies: register `at` of the frame, or constant ~at of the code. Registers of up to 32 bits take one
/// slot of 32 x 4 bytes, wider ones two or four. Predicates have slots of their own, a Mask each.
struct Ref {
  int at = 0;
  bool is_constant() const { return at < 0; }
};

struct Instruction {
  static constexpr std::uint8_t in_frame = 1, address_32 = 2, negated = 4,  // flags
      strong = 16;  // of an access to memory: atomic, volatile, or with an order of its own
  Handler run = nullptr;
  Ref d, a, b, c;  ///< destination and sources, as the family says
  int guard = -1;  ///< predicate slot of @p
  bool guard_negated = false;
  std::uint8_t mode = 0;  ///< of the family: a comparison, a rounding, a number of elements
  std::uint8_t flags = 0;
  int target = -1;          ///< statement of a branch, function of a call
  std::int64_t offset = 0;  ///< of an address; an immediate
  int more = -1;            ///< Code::lists: further operands
  int line = 0;
  SourcePlace source;
  const char* counted = "";  ///< the class it is counted in
};

/// A decoded function.
struct Code {
  std::string name;
  std::vector<Instruction> instructions;  ///< one for each statement, so that labels are statements
  std::vector<std::vector<Ref>> lists;
  std::vector<ptx::Reg32> constants;  ///< one slot, or two in a row for 64 bits
  int slots = 0, predicates = 0;
  std::int64_t local_bytes = 0;  ///< of a lane: variables in .local, and parameters of functions
  struct Parameter {
    std::int64_t offset, bytes;  ///< in the kernel's parameters, or in the frame's local memory
  };
  std::vector<Parameter> returns, params;
  std::vector<std::int64_t> variable_offsets;  ///< of Function::variables
  struct Special {
    std::string name;  ///< %tid.x
    int slot;
  };
  std::vector<Special> specials;  ///< special registers that are operands, filled when a frame begins
  std::int64_t param_bytes = 0;   ///< of an entry
  bool orders_global = false;     ///< it has atomics or ordered accesses: its CTAs may wait for each other
  const Function* function = nullptr;
};

/// A decoded module.
struct Program {
  Module module;
  std::string arch;
  std::vector<Code> codes;               ///< of module.functions
  std::vector<std::uint64_t> addresses;  ///< of module.variables: global ones; offsets of shared ones
  std::int64_t static_shared = 0;        ///< bytes from shared_base on that variables take
  std::int64_t dynamic_align = 16;
  /// What the address of a function is: no memory is there.
  static std::uint64_t function_address(int index) { return 0x100 + static_cast<std::uint64_t>(index); }
};

}  // namespace assay::gpu

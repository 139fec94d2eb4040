#pragma once
#include <map>
#include <string>
#include <vector>

#include "gpu/machine/warp.hpp"

// From statements to instructions. A family (add, ld, bar, ...) is a function that looks at what a statement says and
// sets the handler and the operands of its instruction; what it does not take is an Error that names the line.
namespace assay::gpu {

/// The statement that is decoded, as a family sees it.
class Decoder {
 public:
  Decoder(Program& program, Code& code, const Statement& statement, const std::vector<int>& slots);

  const Statement& s;
  [[noreturn]] void fail(const std::string& what) const;
  /// Throws Error unless the module's architecture is at least this one: 80, 90, 100, 120.
  void needs(int sm, const char* what) const;

  /// Takes a part of the mnemonic, wherever it stands: flag("sat").
  bool flag(const char* part);
  /// Takes one of several parts, and gives its index, or -1.
  int one_of(std::initializer_list<const char*> parts);
  /// Takes the last part, which has to be a type.
  Type type();
  /// The parts that are left.
  std::vector<std::string> left;

  void operands(std::size_t at_least, std::size_t at_most) const;
  const Operand& operand(std::size_t k) const { return s.operands[k]; }
  bool has(std::size_t k) const { return k < s.operands.size(); }
  /// Operand k as a source of this type: a register, an immediate or a special register.
  Ref in(std::size_t k, const Type& t) { return in(s.operands[k], t); }
  Ref in(const Operand& o, const Type& t);
  /// A destination: a register, or `_`, which is a place nobody reads.
  Ref out(std::size_t k, const Type& t) { return out(s.operands[k], t); }
  Ref out(const Operand& o, const Type& t);
  /// A constant of up to 64 bits, the same in every lane.
  Ref constant(std::uint64_t bits, int width);
  /// Bits of the register that an operand names; 0 if it names none.
  int register_bits(const Operand& o) const;
  /// Slot of a predicate register.
  int predicate(const Operand& o) const;
  std::int64_t integer(const Operand& o) const;
  /// Keeps further operands; their index goes to Instruction::more.
  int list(std::vector<Ref> refs);

  /// An address: [base + offset]. Sets `space` where the base is a variable, and gives the base's register or constant.
  Ref address(const Operand& o, Instruction& i, Space& space);

  Program& program;
  Code& code;

 private:
  void require_width(const Operand& o, const Type& t, int bits) const;
  const std::vector<int>& slots_;
};

using Family = void (*)(Decoder&, Instruction&);
using Families = std::map<std::string, Family, std::less<>>;

// instructions/*.cpp
void add_integer(Families& families);
void add_bits(Families& families);
void add_floating(Families& families);
void add_compare(Families& families);
void add_convert(Families& families);
void add_move(Families& families);
void add_memory(Families& families);
void add_control(Families& families);
void add_warp(Families& families);
void add_barrier(Families& families);
void add_async(Families& families);
void add_mbarrier(Families& families);
void add_matrix(Families& families);
void add_atomic(Families& families);

/// Decodes all functions of program.module. Throws Error naming the line of the first statement that the machine or the
/// architecture does not have.
void decode(Program& program);

/// The names of special registers whose value a thread keeps, and their values for the lanes of a warp.
void fill_special(const std::string& name, const Warp& warp, std::uint32_t* lanes);

}  // namespace assay::gpu

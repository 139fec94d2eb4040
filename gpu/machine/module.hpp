#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// A PTX module as its text says it, with every name resolved: what parse() returns and what decode() reads. Names in
// nested scopes and labels declared again in another scope are told apart here; nothing after the parser sees a name's
// text except to print it.
namespace assay::gpu {

/// A place in the CUDA source, from .loc; file 0: unknown.
struct SourcePlace {
  int file = 0, line = 0;
};

/// Fundamental types of PTX. `b` types are bits without a meaning.
enum class Kind : std::uint8_t { b, u, s, f, bf, tf, pred, e4m3, e5m2, opaque };
struct Type {
  Kind kind = Kind::b;
  int bits = 0;    ///< of one element; 1 for pred
  int vector = 1;  ///< .v2, .v4, .v8
  friend bool operator==(const Type&, const Type&) = default;
};

enum class Space : std::uint8_t { generic, param, shared, global, constant, local };

/// A variable of any space, a parameter included.
struct Variable {
  std::string name;
  Space space = Space::global;
  std::int64_t align = 1;
  std::int64_t bytes = 0;  ///< 0 with is_extern: the dynamic shared memory
  bool is_extern = false;
  std::vector<std::uint8_t> init;  ///< empty, or `bytes` long
  struct Relocation {
    std::int64_t offset;  ///< in init, where an address of 8 bytes is stored
    int variable;         ///< of the module, or its function
    std::int64_t addend;
    bool generic;  ///< generic(name): the generic address
    bool function = false;
  };
  std::vector<Relocation> relocations;
  int line = 0;
};

/// A declared register. `%r<5>` declares five.
struct Register {
  std::string name;
  Type type;
};

/// One operand of an instruction.
struct Operand {
  enum class What : std::uint8_t {
    reg,        ///< `index`: into Function::registers; `negated` for !p; `element` for %v.x
    special,    ///< %tid.x, %laneid, WARP_SZ: `text`
    immediate,  ///< `bits`: an integer, or the bits of a float (`is_float`: 32 or 64 tells the width, 0: an integer)
    variable,   ///< the address of a variable, plus `offset`: `index` into the module's variables, or into the
                ///< function's
                ///< (`local`), its parameters included
    label,      ///< `index`: into Function::statements
    function,   ///< `index`: into Module::functions
    address,    ///< [parts[0] + offset] and, for a tensor copy, the coordinates in parts[1]
    vector,     ///< {parts...}
    pair,       ///< parts[0] | parts[1]
    list,       ///< (parts...), of call
    table,      ///< a .branchtargets or .calltargets or .callprototype by name: `index` into Function::tables
    sink        ///< _
  };
  What what = What::sink;
  int index = -1;
  bool local = false;
  bool negated = false;  ///< !p, or -a where PTX allows it on a register
  int element = -1;      ///< 0..3 for .x .y .z .w (or .r .g .b .a) of a register
  int is_float = 0;
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::string text;  ///< as written, for messages
  std::vector<Operand> parts;
};

/// One instruction. "mma.sync.aligned.m16n8k16" is opcode "mma" and the parts "sync", "aligned", ...; "shared::cta" is
/// one part.
struct Statement {
  int line = 0;  ///< of the PTX text
  SourcePlace source;
  std::string opcode;
  std::vector<std::string> parts;
  int guard = -1;  ///< register of @p, -1: always
  bool guard_negated = false;
  std::vector<Operand> operands;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declared_only = false;  ///< .extern .func: vprintf, __assertfail, ...
  int line = 0;
  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< parameters first (return parameters, then parameters), then locals of any space
  int return_count = 0, param_count = 0;
  std::vector<Statement> statements;
  std::vector<std::vector<int>> tables;                         ///< statements of a .branchtargets list
  std::optional<std::array<int, 3>> maxntid, reqntid, cluster;  ///< .reqnctapercluster / .explicitcluster
  std::optional<int> maxnreg, minnctapersm;
};

struct Module {
  int version_major = 0, version_minor = 0;
  std::string target;  ///< sm_80, sm_90a
  int address_size = 64;
  std::map<int, std::string> files;  ///< of .file
  std::vector<Variable> variables;
  std::vector<Function> functions;

  const Function* entry(const std::string& name) const;
};

/// Throws Error, naming the line, on text that is no PTX of this version, or that declares what is not known here.
/// An instruction's mnemonic is not judged here: decode() does.
Module parse(const std::string& text);

}  // namespace assay::gpu

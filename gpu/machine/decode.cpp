#include "gpu/machine/decode.hpp"

#include <algorithm>
#include <bit>

#include "reference/core/error.hpp"

namespace assay::gpu {
namespace {

const Families& families() {
  static const Families all = [] {
    Families f;
    for (void (*add)(Families&) : {add_integer, add_bits, add_floating, add_compare, add_convert, add_move, add_memory,
                                   add_control, add_warp, add_barrier, add_async, add_mbarrier, add_matrix, add_atomic})
      add(f);
    return f;
  }();
  return all;
}

int slots_for(const Type& t) { return t.bits <= 32 ? 1 : t.bits <= 64 ? 2 : 4; }

std::string mnemonic(const Statement& s) {
  std::string text = s.opcode;
  for (const std::string& part : s.parts) text += "." + part;
  return text;
}

/// Special registers whose value a thread keeps while it runs.
bool keeps_its_value(std::string_view name) {
  static constexpr std::string_view with_axis[] = {"%tid", "%ntid", "%ctaid", "%nctaid"};
  static constexpr std::string_view plain[] = {"%laneid",      "%warpid",      "%nwarpid",           "%smid",
                                               "%nsmid",       "%lanemask_eq", "%lanemask_le",       "%lanemask_lt",
                                               "%lanemask_ge", "%lanemask_gt", "%dynamic_smem_size", "%total_smem_size",
                                               "WARP_SZ"};
  if (std::find(std::begin(plain), std::end(plain), name) != std::end(plain)) return true;
  return name.size() > 2 && name[name.size() - 2] == '.' &&
         std::find(std::begin(with_axis), std::end(with_axis), name.substr(0, name.size() - 2)) != std::end(with_axis);
}

struct NamedType {
  const char* name;
  Type type;
};
constexpr NamedType named_types[] = {
    {"b8", {Kind::b, 8}},     {"b16", {Kind::b, 16}},      {"b32", {Kind::b, 32}},      {"b64", {Kind::b, 64}},
    {"b128", {Kind::b, 128}}, {"u8", {Kind::u, 8}},        {"u16", {Kind::u, 16}},      {"u32", {Kind::u, 32}},
    {"u64", {Kind::u, 64}},   {"s8", {Kind::s, 8}},        {"s16", {Kind::s, 16}},      {"s32", {Kind::s, 32}},
    {"s64", {Kind::s, 64}},   {"f16", {Kind::f, 16}},      {"f32", {Kind::f, 32}},      {"f64", {Kind::f, 64}},
    {"bf16", {Kind::bf, 16}}, {"pred", {Kind::pred, 1}},   {"f16x2", {Kind::f, 16, 2}}, {"bf16x2", {Kind::bf, 16, 2}},
    {"tf32", {Kind::tf, 32}}, {"u16x2", {Kind::u, 16, 2}}, {"s16x2", {Kind::s, 16, 2}},
};

}  // namespace

Decoder::Decoder(Program& of, Code& to, const Statement& statement, const std::vector<int>& slots)
    : s(statement), left(statement.parts), program(of), code(to), slots_(slots) {}

void Decoder::fail(const std::string& what) const {
  throw Error("PTX line " + std::to_string(s.line) + ", " + mnemonic(s) + ": " + what);
}

void Decoder::needs(int sm, const char* what) const {
  if (std::stoi(program.arch.substr(3)) < sm)
    fail(std::string(what) + " needs sm_" + std::to_string(sm) + " or later, this is for " + program.arch);
}

bool Decoder::flag(const char* part) {
  const auto at = std::find(left.begin(), left.end(), part);
  if (at == left.end()) return false;
  left.erase(at);
  return true;
}

int Decoder::one_of(std::initializer_list<const char*> parts) {
  int k = 0;
  for (const char* part : parts) {
    if (flag(part)) return k;
    ++k;
  }
  return -1;
}

Type Decoder::type() {
  if (!left.empty())
    for (const NamedType& t : named_types)
      if (left.back() == t.name) {
        left.pop_back();
        return t.type;
      }
  fail("a type is expected at its end");
}

void Decoder::operands(std::size_t at_least, std::size_t at_most) const {
  if (s.operands.size() >= at_least && s.operands.size() <= at_most) return;
  fail(std::to_string(at_least) + (at_most > at_least ? " to " + std::to_string(at_most) : "") +
       " operands are expected, there are " + std::to_string(s.operands.size()));
}

void Decoder::require_width(const Operand& o, const Type& t, int bits) const {
  const int wanted = t.bits * t.vector;
  // ld, st and cvt take registers wider than their type; elsewhere the sizes agree.
  const bool wider = s.opcode == "ld" || s.opcode == "st" || s.opcode == "cvt" || s.opcode == "ldu" || wanted < 16;
  if (bits == wanted || (wider && bits > wanted)) return;
  fail("'" + o.text + "' has " + std::to_string(bits) + " bits, " + std::to_string(wanted) + " are expected");
}

Ref Decoder::constant(std::uint64_t bits, int width) {
  const int at = static_cast<int>(code.constants.size());
  code.constants.resize(code.constants.size() + (width > 32 ? 2 : 1));
  if (width > 32) {
    auto* to = reinterpret_cast<std::uint64_t*>(code.constants[static_cast<std::size_t>(at)].lane.data());
    std::fill_n(to, 32, bits);
  } else {
    code.constants.back().lane.fill(static_cast<std::uint32_t>(bits));
  }
  return {~at};
}

Ref Decoder::in(const Operand& o, const Type& t) {
  const int width = t.bits * t.vector;
  switch (o.what) {
    case Operand::What::reg: {
      const Type& declared = code.function->registers[static_cast<std::size_t>(o.index)].type;
      if (declared.kind == Kind::pred)
        fail("'" + o.text + "' is a predicate, a register of " + std::to_string(width) + " bits is expected");
      if (o.element >= 0 || o.negated) fail("'" + o.text + "' is not known in this form");
      require_width(o, t, declared.bits * declared.vector);
      return {slots_[static_cast<std::size_t>(o.index)]};
    }
    case Operand::What::special: {
      for (const Code::Special& known : code.specials)
        if (known.name == o.text) return {known.slot};
      if (!keeps_its_value(o.text)) fail("'" + o.text + "' is not known here");
      code.specials.push_back({o.text, code.slots});
      code.slots += width > 32 ? 2 : 1;
      return {code.specials.back().slot};
    }
    case Operand::What::immediate: {
      std::uint64_t bits = o.bits;
      if (t.kind == Kind::f && t.vector == 1 && o.is_float == 64 && t.bits == 32)
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      if (t.kind == Kind::f && t.bits == 64 && o.is_float == 32)
        bits =
            std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
      if (t.kind == Kind::f && t.bits >= 32 && o.is_float == 0) {
        const auto value = static_cast<double>(static_cast<std::int64_t>(bits));
        bits = t.bits == 32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                            : std::bit_cast<std::uint64_t>(value);
      }
      if (width < 32) bits &= (std::uint64_t{1} << width) - 1;
      return constant(bits, width);
    }
    case Operand::What::variable: {
      if (o.local) fail("the address of '" + o.text + "' is taken by mov alone");
      return constant(program.addresses[static_cast<std::size_t>(o.index)] + static_cast<std::uint64_t>(o.offset),
                      width);
    }
    default:
      fail("a register or an immediate is expected");
  }
}

Ref Decoder::out(const Operand& o, const Type& t) {
  if (o.what == Operand::What::sink) {
    const Ref r{code.slots};
    code.slots += slots_for({t.kind, t.bits * t.vector, 1});
    return r;
  }
  if (o.what != Operand::What::reg || o.element >= 0) fail("a register is expected as destination");
  return in(o, t);
}

int Decoder::register_bits(const Operand& o) const {
  return o.what == Operand::What::reg ? code.function->registers[static_cast<std::size_t>(o.index)].type.bits : 0;
}

int Decoder::predicate(const Operand& o) const {
  if (o.what != Operand::What::reg ||
      code.function->registers[static_cast<std::size_t>(o.index)].type.kind != Kind::pred)
    fail("a predicate is expected" + (o.text.empty() ? "" : " instead of '" + o.text + "'"));
  return slots_[static_cast<std::size_t>(o.index)];
}

std::int64_t Decoder::integer(const Operand& o) const {
  if (o.what != Operand::What::immediate || o.is_float != 0) fail("a constant integer is expected");
  return static_cast<std::int64_t>(o.bits);
}

int Decoder::list(std::vector<Ref> refs) {
  code.lists.push_back(std::move(refs));
  return static_cast<int>(code.lists.size()) - 1;
}

Ref Decoder::address(const Operand& o, Instruction& i, Space& space) {
  if (o.what != Operand::What::address || o.parts.size() != 1) fail("an address in brackets is expected");
  const Operand& base = o.parts[0];
  i.offset = o.offset;
  if (base.what == Operand::What::variable && base.local) {
    const Variable& v = code.function->variables[static_cast<std::size_t>(base.index)];
    const auto k = static_cast<std::size_t>(base.index);
    i.offset += base.offset + code.variable_offsets[k];
    if (v.space == Space::param && code.function->is_entry &&
        k < static_cast<std::size_t>(code.function->param_count)) {
      space = Space::param;
    } else {
      space = Space::local;  // what a function has for itself lies in its frame
      i.flags |= Instruction::in_frame;
    }
    return constant(0, 64);
  }
  if (base.what == Operand::What::variable) {
    const Variable& v = program.module.variables[static_cast<std::size_t>(base.index)];
    if (space == Space::generic && v.space == Space::shared) space = Space::shared;
    i.offset += base.offset;
    return constant(program.addresses[static_cast<std::size_t>(base.index)], 64);
  }
  if (base.what == Operand::What::immediate) return constant(base.bits, 64);
  if (base.what != Operand::What::reg) fail("an address is a register, a variable or a constant");
  const int bits = code.function->registers[static_cast<std::size_t>(base.index)].type.bits;
  if (bits == 32) i.flags |= Instruction::address_32;
  return in(base, {Kind::b, bits});
}

namespace {

/// Where the variables of a function lie: the parameters of an entry in the kernel's parameters, all others in the
/// frame.
void lay_out(Code& code) {
  const Function& f = *code.function;
  std::int64_t params = 0;
  code.variable_offsets.clear();
  const auto place = [](std::int64_t& top, const Variable& v) {
    const std::int64_t at = (top + v.align - 1) / v.align * v.align;
    top = at + v.bytes;
    return at;
  };
  for (std::size_t k = 0; k < f.variables.size(); ++k) {
    const Variable& v = f.variables[k];
    const bool is_kernel_param = f.is_entry && static_cast<int>(k) < f.param_count;
    const std::int64_t at = place(is_kernel_param ? params : code.local_bytes, v);
    code.variable_offsets.push_back(at);
    if (static_cast<int>(k) < f.return_count)
      code.returns.push_back({at, v.bytes});
    else if (static_cast<int>(k) < f.return_count + f.param_count)
      code.params.push_back({at, v.bytes});
  }
  code.param_bytes = params;
}

/// A slot for each register: one after the other.
std::vector<int> slots_of(Code& code) {
  std::vector<int> slots;
  for (const Register& r : code.function->registers) {
    if (r.type.kind == Kind::pred) {
      slots.push_back(code.predicates++);
    } else {
      slots.push_back(code.slots);
      code.slots += slots_for({r.type.kind, r.type.bits * r.type.vector, 1});
    }
  }
  return slots;
}

void decode_function(Program& program, Code& code) {
  lay_out(code);
  const std::vector<int> slots = slots_of(code);
  // A bound that no real kernel meets: 8 MiB of registers for a warp.
  constexpr int most_slots = 1 << 16;
  if (code.slots > most_slots)
    throw Error("registers of " + code.name, "at most " + std::to_string(most_slots) + " of 32 bits",
                std::to_string(code.slots));
  for (const Statement& s : code.function->statements) {
    Decoder d(program, code, s, slots);
    const auto family = families().find(s.opcode);
    if (family == families().end()) d.fail("the machine does not know this instruction");
    Instruction i;
    i.line = s.line;
    i.source = s.source;
    i.counted = family->first.c_str();
    if (s.guard >= 0) {
      i.guard = slots[static_cast<std::size_t>(s.guard)];
      i.guard_negated = s.guard_negated;
      if (code.function->registers[static_cast<std::size_t>(s.guard)].type.kind != Kind::pred)
        d.fail("its guard is no predicate");
    }
    family->second(d, i);
    if (!d.left.empty()) d.fail("'." + d.left.front() + "' is not known here");
    code.instructions.push_back(i);
  }
}

}  // namespace

void decode(Program& program) {
  program.codes.resize(program.module.functions.size());
  for (std::size_t k = 0; k < program.codes.size(); ++k) {
    Code& code = program.codes[k];
    code.function = &program.module.functions[k];
    code.name = code.function->name;
    decode_function(program, code);
  }
}

}  // namespace assay::gpu

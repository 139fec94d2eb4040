#include <algorithm>
#include <cstring>

#include "gpu/machine/parser.hpp"
#include "reference/core/error.hpp"

// Instructions and their operands.
namespace assay::gpu {
namespace {

constexpr int deepest = 16;

int element_of(std::string_view dotted) {
  for (const std::string_view names : {"xyzw", "rgba"})
    if (dotted.size() == 2 && names.find(dotted[1]) != std::string_view::npos)
      return static_cast<int>(names.find(dotted[1]));
  return -1;
}

}  // namespace

bool is_special_register(std::string_view name) {
  static constexpr std::string_view names[] = {"%tid",
                                               "%ntid",
                                               "%ctaid",
                                               "%nctaid",
                                               "%laneid",
                                               "%warpid",
                                               "%nwarpid",
                                               "%smid",
                                               "%nsmid",
                                               "%gridid",
                                               "%lanemask_eq",
                                               "%lanemask_le",
                                               "%lanemask_lt",
                                               "%lanemask_ge",
                                               "%lanemask_gt",
                                               "%clusterid",
                                               "%nclusterid",
                                               "%cluster_ctaid",
                                               "%cluster_nctaid",
                                               "%cluster_ctarank",
                                               "%cluster_nctarank",
                                               "%is_explicit_cluster",
                                               "%clock",
                                               "%clock_hi",
                                               "%clock64",
                                               "%globaltimer",
                                               "%globaltimer_lo",
                                               "%globaltimer_hi",
                                               "%total_smem_size",
                                               "%aggr_smem_size",
                                               "%dynamic_smem_size",
                                               "%reserved_smem_offset_begin",
                                               "%reserved_smem_offset_end",
                                               "%reserved_smem_offset_cap",
                                               "%current_graph_exec",
                                               "WARP_SZ"};
  if (std::find(std::begin(names), std::end(names), name) != std::end(names)) return true;
  for (const std::string_view stem : {"%envreg", "%pm", "%reserved_smem_offset_"})
    if (name.size() > stem.size() && name.size() <= stem.size() + 2 && name.substr(0, stem.size()) == stem &&
        name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos)
      return true;
  return false;
}

/// .loc file line column [, function_name label [+ n]] [, inlined_at file line column]
void Parser::location() {
  place_.file = static_cast<int>(integer("the number of a file"));
  place_.line = static_cast<int>(integer("a line"));
  integer("a column");
  while (take(",")) {
    const std::string what = word("function_name or inlined_at");
    if (what == "function_name") {
      word("a label");
      if (take("+")) constant();
    } else if (what == "inlined_at") {
      for (int i = 0; i < 3; ++i) integer("a number");
    } else {
      fail("function_name or inlined_at instead of '" + what + "'");
    }
  }
}

/// name: .branchtargets a, b;   and the prototypes of indirect calls, of which nothing is kept.
void Parser::table(const std::string& label) {
  std::vector<std::pair<std::string, int>> targets;
  if (take_dotted(".branchtargets")) {
    do {
      targets.emplace_back(word("a label"), scope_);
    } while (take(","));
    expect(";");
  } else if (take_dotted(".callprototype") || take_dotted(".calltargets")) {
    while (!take(";")) {
      if (look().what == Token::What::end) fail("';'");
      next();
    }
  } else {
    fail(".branchtargets, .calltargets or .callprototype");
  }
  name(label, {Named::What::table, static_cast<int>(table_labels_.size())});
  table_labels_.push_back(std::move(targets));
}

void Parser::statement() {
  Statement s;
  s.line = look().line;
  s.source = place_;
  if (take("@")) {
    s.guard_negated = take("!");
    const Operand guard = operand_named(word("a predicate"));
    if (guard.what != Operand::What::reg) fail("a predicate register as guard");
    s.guard = guard.index;
  }
  s.opcode = word("an instruction");
  while (look().what == Token::What::dotted) s.parts.emplace_back(next().text.substr(1));
  if (!look().is(";")) {
    const bool call = s.opcode == "call";
    do {
      s.operands.push_back(operand(call, 0));
    } while (take(","));
  }
  expect(";");
  function_->statements.push_back(std::move(s));
  statement_scope_.push_back(scope_);
}

std::vector<Operand> Parser::operands_until(const char* close, bool call, int depth) {
  std::vector<Operand> parts;
  while (!take(close)) {
    parts.push_back(operand(call, depth + 1));
    if (!look().is(close)) expect(",");
  }
  return parts;
}

Operand Parser::operand(bool call, int depth) {
  if (depth > deepest) fail("operands at most 16 deep");
  Operand o;
  if (take("{")) {
    o.what = Operand::What::vector;
    o.parts = operands_until("}", call, depth);
    return o;
  }
  if (look().is("(") && call) {
    next();
    o.what = Operand::What::list;
    o.parts = operands_until(")", call, depth);
    return o;
  }
  if (take("[")) return address(depth);
  if (take("!")) {
    o = operand(call, depth + 1);
    o.negated = !o.negated;
    return o;
  }
  if (look().is("-") && look(1).what == Token::What::word) {
    next();
    o = operand(call, depth + 1);
    if (o.what != Operand::What::reg) fail("a register after '-'");
    o.negated = !o.negated;
    return o;
  }
  if (look().what == Token::What::word) return operand_of_name(depth);
  return immediate();
}

Operand Parser::immediate() {
  Operand o;
  o.what = Operand::What::immediate;
  const std::size_t ahead = look().is("-") ? 1 : 0;
  if (look(ahead).what == Token::What::number && read_number(look(ahead).text, o.bits, o.is_float) && o.is_float != 0) {
    if (ahead == 1) {
      next();
      o.bits ^= std::uint64_t{1} << (o.is_float - 1);
    }
    o.text = std::string(next().text);
    return o;
  }
  o.is_float = 0;
  o.bits = constant();
  return o;
}

Operand Parser::operand_of_name(int depth) {
  Operand o = operand_named(word("a name"));
  if (o.what == Operand::What::variable && (look().is("+") || look().is("-"))) {
    const bool minus = next().text == "-";
    const auto offset = static_cast<std::int64_t>(constant());
    o.offset = minus ? -offset : offset;
  }
  if ((o.what == Operand::What::reg || o.what == Operand::What::sink) && take("|")) {
    Operand pair;
    pair.what = Operand::What::pair;
    pair.parts.push_back(std::move(o));
    pair.parts.push_back(operand(false, depth + 1));
    return pair;
  }
  return o;
}

Operand Parser::operand_named(const std::string& name) {
  Operand o;
  o.text = name;
  if (name == "_") return o;
  const std::optional<Named> found = find(name, scope_);
  const bool special = !found && is_special_register(name);
  if (special || (found && found->what == Named::What::reg)) {
    const int element = look().what == Token::What::dotted ? element_of(look().text) : -1;
    if (element >= 0) o.text += std::string(next().text);
    o.element = element;
    o.what = special ? Operand::What::special : Operand::What::reg;
    o.index = special ? -1 : found->index;
    return o;
  }
  if (!found) {
    if (name[0] == '%') fail("a register that is declared instead of '" + name + "'");
    o.what = Operand::What::label;  // declared later, or never: resolve() tells
    return o;
  }
  o.index = found->index;
  switch (found->what) {
    case Named::What::local:
      o.what = Operand::What::variable;
      o.local = true;
      break;
    case Named::What::variable:
      o.what = Operand::What::variable;
      break;
    case Named::What::function:
      o.what = Operand::What::function;
      break;
    case Named::What::table:
      o.what = Operand::What::table;
      break;
    default:
      o.what = Operand::What::label;
  }
  return o;
}

/// [base + offset] or [base, {coordinates}], the '[' already taken.
Operand Parser::address(int depth) {
  Operand o;
  o.what = Operand::What::address;
  Operand base = look().what == Token::What::word ? operand_named(word("an address")) : immediate();
  if (look().is("+") || look().is("-")) {
    const bool minus = next().text == "-";
    const auto offset = static_cast<std::int64_t>(constant());
    o.offset = minus ? -offset : offset;
  }
  o.parts.push_back(std::move(base));
  while (take(",")) o.parts.push_back(operand(false, depth + 1));
  expect("]");
  return o;
}

}  // namespace assay::gpu

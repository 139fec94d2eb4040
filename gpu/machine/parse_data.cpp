#include <algorithm>
#include <charconv>
#include <cstring>

#include "gpu/machine/parser.hpp"
#include "reference/core/error.hpp"

// Declarations of registers and variables, with their initial values, and constant expressions.
namespace assay::gpu {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 31, most_initialised = std::int64_t{1} << 26;
constexpr int most_registers = 1 << 20;

struct SpaceName {
  const char* text;
  Space space;
};
constexpr SpaceName spaces[] = {{".param", Space::param},        {".shared", Space::shared},
                                {".shared::cta", Space::shared}, {".global", Space::global},
                                {".const", Space::constant},     {".local", Space::local}};

struct TypeName {
  const char* text;
  Type type;
};
constexpr TypeName types[] = {
    {".b8", {Kind::b, 8}},       {".b16", {Kind::b, 16}}, {".b32", {Kind::b, 32}},   {".b64", {Kind::b, 64}},
    {".b128", {Kind::b, 128}},   {".u8", {Kind::u, 8}},   {".u16", {Kind::u, 16}},   {".u32", {Kind::u, 32}},
    {".u64", {Kind::u, 64}},     {".s8", {Kind::s, 8}},   {".s16", {Kind::s, 16}},   {".s32", {Kind::s, 32}},
    {".s64", {Kind::s, 64}},     {".f16", {Kind::f, 16}}, {".f16x2", {Kind::f, 32}}, {".bf16", {Kind::bf, 16}},
    {".bf16x2", {Kind::bf, 32}}, {".f32", {Kind::f, 32}}, {".f64", {Kind::f, 64}},   {".pred", {Kind::pred, 1}},
};

}  // namespace

bool Parser::is_space(std::string_view dotted) {
  return std::any_of(std::begin(spaces), std::end(spaces), [&](const SpaceName& s) { return dotted == s.text; });
}

/// [.v2] .f32
Type Parser::type() {
  int vector = 1;
  if (take_dotted(".v2")) vector = 2;
  if (take_dotted(".v4")) vector = 4;
  if (take_dotted(".v8")) vector = 8;
  if (look().what == Token::What::dotted)
    for (const TypeName& t : types)
      if (look().text == t.text) {
        next();
        Type found = t.type;
        found.vector = vector;
        return found;
      }
  fail("a type");
}

std::int64_t Parser::integer(const char* what) {
  std::uint64_t bits = 0;
  int is_float = 0;
  if (look().what != Token::What::number || !read_number(look().text, bits, is_float) || is_float != 0 ||
      bits > static_cast<std::uint64_t>(most_bytes))
    fail(what);
  next();
  return static_cast<std::int64_t>(bits);
}

/// .reg .b32 %r<12>, %a, %b;
void Parser::registers() {
  const Type t = type();
  do {
    const std::string stem = word("the name of a register");
    auto& all = function_->registers;
    const auto first = static_cast<int>(all.size());
    int count = 0;
    if (take("<")) {
      count = static_cast<int>(std::min<std::int64_t>(integer("a count of registers"), most_registers + 1));
      expect(">");
    }
    if (first + std::max(count, 1) > most_registers) fail("at most " + std::to_string(most_registers) + " registers");
    if (count == 0)
      all.push_back({stem, t});
    else
      for (int i = 0; i < count; ++i) all.push_back({stem + std::to_string(i), t});
    name(stem, {Named::What::reg, first, count});
  } while (take(","));
  expect(";");
}

/// What stands before the type.
Variable Parser::variable_head(Space space) {
  Variable v;
  v.space = space;
  for (;;) {
    if (take_dotted(".align")) {
      v.align = integer("an alignment");
      if (v.align < 1 || v.align > (1 << 20) || (v.align & (v.align - 1)) != 0)
        fail("an alignment that is a power of two");
    } else if (take_dotted(".attribute")) {
      expect("(");
      while (!take(")")) {
        if (look().what == Token::What::end) fail("')'");
        next();
      }
    } else {
      return v;
    }
  }
}

/// name[2][3]: 6 elements; name[]: none, its size is the launch's or the initialiser's.
void Parser::dimensions(Variable& v, std::int64_t element) {
  v.bytes = element;
  while (take("[")) {
    std::int64_t n = 0;
    if (!look().is("]")) {
      n = static_cast<std::int64_t>(constant());
      if (n < 0 || n > most_bytes) fail("a size up to " + std::to_string(most_bytes));
    }
    expect("]");
    if (n > 0 && v.bytes > most_bytes / n) fail("at most " + std::to_string(most_bytes) + " bytes");
    v.bytes *= n;
  }
}

void Parser::declaration(bool is_extern, bool in_function) {
  const std::string_view dotted = next().text;
  const Space space =
      std::find_if(std::begin(spaces), std::end(spaces), [&](const SpaceName& s) { return dotted == s.text; })->space;
  Variable head = variable_head(space);
  Type t = type();
  while (look().what == Token::What::dotted) {  // an alignment may also follow the type
    if (take_dotted(".ptr")) continue;
    if (!take_dotted(".align")) {
      next();
      continue;
    }
    head.align = std::max(head.align, integer("an alignment"));
  }
  const std::int64_t element = std::max<std::int64_t>(1, t.bits / 8) * t.vector;
  do {
    Variable v = head;
    v.line = look().line;
    v.is_extern = is_extern;
    v.align = std::max(v.align, element);
    v.name = word("the name of a variable");
    if (take("<")) fail("no families of variables");
    dimensions(v, element);
    if (take("=")) initialiser(v, t);
    // What a function declares is its own but for shared memory and globals, which exist once.
    const bool local = in_function && space != Space::shared && space != Space::global && space != Space::constant;
    auto& all = local ? function_->variables : module_.variables;
    name(v.name, {local ? Named::What::local : Named::What::variable, static_cast<int>(all.size())});
    all.push_back(std::move(v));
  } while (take(","));
  expect(";");
}

void Parser::initialiser(Variable& v, const Type& element) {
  if (v.bytes > most_initialised) fail("at most " + std::to_string(most_initialised) + " bytes with an initial value");
  v.init.assign(static_cast<std::size_t>(v.bytes), 0);
  const bool open = v.bytes == 0;
  std::int64_t at = 0;
  if (look().is("{"))
    init_values(v, element, at, 0);
  else
    init_value(v, element, at);
  if (open) v.bytes = static_cast<std::int64_t>(v.init.size());
}

void Parser::init_values(Variable& v, const Type& element, std::int64_t& at, int depth) {
  if (depth > 16) fail("initial values at most 16 deep");
  expect("{");
  while (!take("}")) {
    if (look().is("{")) {
      init_values(v, element, at, depth + 1);
    } else {
      init_value(v, element, at);
      at += element.bits / 8;
    }
    if (!look().is("}")) expect(",");
  }
}

void Parser::init_value(Variable& v, const Type& element, std::int64_t at) {
  const auto bytes = static_cast<std::size_t>(element.bits / 8);
  const auto from = static_cast<std::size_t>(at);
  if (bytes == 0 || bytes > 8) fail("an initial value of a type of 8 to 64 bits");
  if (v.bytes == 0) {
    if (from + bytes > static_cast<std::size_t>(most_initialised)) fail("fewer initial values");
    v.init.resize(from + bytes);
  }
  if (from + bytes > v.init.size()) fail("no more initial values than " + v.name + " has elements");
  std::uint64_t bits = 0;
  if (look().what == Token::What::word) {
    Variable::Relocation r{at, -1, 0, false};
    std::string name = word("a name");
    if (name == "generic" && take("(")) {
      r.generic = true;
      name = word("the name of a variable");
      expect(")");
    }
    const std::optional<Named> found = find(name, 0);
    if (!found || (found->what != Named::What::variable && found->what != Named::What::function))
      fail("the name of a variable or function instead of '" + name + "'");
    r.function = found->what == Named::What::function;
    r.variable = found->index;
    if (bytes != 8) fail("an address in an element of 64 bits");
    if (take("+")) r.addend = static_cast<std::int64_t>(constant());
    if (take("-")) r.addend = -static_cast<std::int64_t>(constant());
    v.relocations.push_back(r);
  } else {
    const bool negative = look().is("-") && look(1).what == Token::What::number;
    if (negative) next();
    int is_float = 0;
    std::uint64_t value = 0;
    if (look().what == Token::What::number && read_number(look().text, value, is_float) && is_float != 0) {
      next();
      double d = 0;
      float f = 0;
      if (is_float == 64)
        std::memcpy(&d, &value, 8);
      else
        std::memcpy(&f, &value, 4);
      if (is_float == 32) d = static_cast<double>(f);
      if (negative) d = -d;
      f = static_cast<float>(d);
      if (bytes == 8)
        std::memcpy(&bits, &d, 8);
      else if (bytes == 4)
        std::memcpy(&bits, &f, 4);
      else
        fail("a float in an element of 32 or 64 bits");
    } else {
      bits = constant();
      if (negative) bits = 0 - bits;
    }
  }
  for (std::size_t i = 0; i < bytes; ++i) v.init[from + i] = static_cast<std::uint8_t>(bits >> (8 * i));
}

bool read_number(std::string_view text, std::uint64_t& bits, int& is_float) {
  is_float = 0;
  const auto parse = [&](std::string_view digits, int base) {
    const auto end = digits.data() + digits.size();
    const auto r = std::from_chars(digits.data(), end, bits, base);
    return r.ec == std::errc() && r.ptr == end && !digits.empty();
  };
  if (text.size() == 10 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F'))
    return is_float = 32, parse(text.substr(2), 16);
  if (text.size() == 18 && text[0] == '0' && (text[1] == 'd' || text[1] == 'D'))
    return is_float = 64, parse(text.substr(2), 16);
  if (text.find('.') != std::string_view::npos) {
    double value = 0;
    const auto end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, value);
    if (r.ptr != end || r.ec == std::errc::invalid_argument) return false;
    std::memcpy(&bits, &value, 8);
    is_float = 64;
    return true;
  }
  if (!text.empty() && text.back() == 'U') text.remove_suffix(1);
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return parse(text.substr(2), 16);
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) return parse(text.substr(2), 2);
  if (text.size() > 1 && text[0] == '0') return parse(text.substr(1), 8);
  return parse(text, 10);
}

// Precedence climbing over integers of 64 bits; level 0 binds least.
std::uint64_t Parser::constant_primary(int depth) {
  if (depth > 64) fail("a constant expression at most 64 deep");
  if (take("-")) return 0 - constant_primary(depth + 1);
  if (take("+")) return constant_primary(depth + 1);
  if (take("~")) return ~constant_primary(depth + 1);
  if (take("!")) return constant_primary(depth + 1) == 0 ? 1 : 0;
  if (take("(")) {
    if (look().what == Token::What::dotted) next();  // a cast to .s64 or .u64
    if (take(")")) return constant_primary(depth + 1);
    const std::uint64_t x = constant(depth + 1);
    expect(")");
    return x;
  }
  std::uint64_t bits = 0;
  int is_float = 0;
  if (look().what != Token::What::number || !read_number(look().text, bits, is_float) || is_float != 0)
    fail("a constant integer");
  next();
  return bits;
}

std::uint64_t Parser::constant(int depth, int level) {
  static constexpr const char* operators[][4] = {
      {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
      {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
  constexpr int levels = 10;
  if (level == levels) return constant_primary(depth);
  std::uint64_t x = constant(depth, level + 1);
  for (;;) {
    std::string op;
    for (const char* o : operators[level])
      if (o != nullptr && look().is(o)) op = o;
    if (op.empty()) break;
    next();
    const std::uint64_t y = constant(depth, level + 1);
    const auto sx = static_cast<std::int64_t>(x), sy = static_cast<std::int64_t>(y);
    if ((op == "/" || op == "%") && (y == 0 || (sx == INT64_MIN && sy == -1))) fail("a division that has a value");
    if (op == "||") x = (x != 0 || y != 0) ? 1 : 0;
    if (op == "&&") x = (x != 0 && y != 0) ? 1 : 0;
    if (op == "|") x = x | y;
    if (op == "^") x = x ^ y;
    if (op == "&") x = x & y;
    if (op == "==") x = x == y ? 1 : 0;
    if (op == "!=") x = x != y ? 1 : 0;
    if (op == "<") x = sx < sy ? 1 : 0;
    if (op == ">") x = sx > sy ? 1 : 0;
    if (op == "<=") x = sx <= sy ? 1 : 0;
    if (op == ">=") x = sx >= sy ? 1 : 0;
    if (op == "<<") x = y > 63 ? 0 : x << y;
    if (op == ">>") x = static_cast<std::uint64_t>(sx >> std::min<std::uint64_t>(y, 63));
    if (op == "+") x = x + y;
    if (op == "-") x = x - y;
    if (op == "*") x = x * y;
    if (op == "/") x = static_cast<std::uint64_t>(sx / sy);
    if (op == "%") x = static_cast<std::uint64_t>(sx % sy);
  }
  if (level == 0 && take("?")) {
    const std::uint64_t yes = constant(depth + 1);
    expect(":");
    const std::uint64_t no = constant(depth + 1);
    return x != 0 ? yes : no;
  }
  return x;
}

}  // namespace assay::gpu

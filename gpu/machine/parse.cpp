#include <algorithm>

#include "gpu/machine/parser.hpp"
#include "reference/core/error.hpp"

// The module and its functions.
namespace assay::gpu {

Module parse(const std::string& text) { return Parser(text).run(); }

const Function* Module::entry(const std::string& name) const {
  for (const Function& f : functions)
    if (f.is_entry && f.name == name) return &f;
  return nullptr;
}

const Token& Parser::look(std::size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

Token Parser::next() {
  const Token t = look();
  if (at_ + 1 < tokens_.size()) ++at_;
  return t;
}

bool Parser::take(const char* sign) {
  if (!look().is(sign)) return false;
  next();
  return true;
}

bool Parser::take_dotted(const char* name) {
  if (look().what != Token::What::dotted || look().text != name) return false;
  next();
  return true;
}

void Parser::expect(const char* sign) {
  if (!take(sign)) fail("'" + std::string(sign) + "'");
}

std::string Parser::word(const char* what) {
  if (look().what != Token::What::word) fail(what);
  return std::string(next().text);
}

void Parser::fail(const std::string& expected) const {
  const std::string found =
      look().what == Token::What::end ? "the end of the text" : "'" + std::string(look().text) + "'";
  throw Error("PTX line " + std::to_string(look().line), expected, found);
}

Module Parser::run() {
  scopes_.push_back({-1, {}});
  header();
  while (look().what != Token::What::end) top_level();
  return std::move(module_);
}

void Parser::header() {
  if (!take_dotted(".version")) fail(".version");
  const std::string version(next().text);
  const std::size_t dot = version.find('.');
  const auto digits = [](const std::string& s) {
    return !s.empty() && s.size() < 4 && s.find_first_not_of("0123456789") == std::string::npos;
  };
  if (dot == std::string::npos || !digits(version.substr(0, dot)) || !digits(version.substr(dot + 1)))
    fail("a version such as 9.0 after .version");
  module_.version_major = std::stoi(version.substr(0, dot));
  module_.version_minor = std::stoi(version.substr(dot + 1));
  if (module_.version_major > 9) fail("a version up to 9.x");
  if (!take_dotted(".target")) fail(".target");
  module_.target = word("an architecture such as sm_80");
  while (take(",")) word("an option of .target");
  if (take_dotted(".address_size")) module_.address_size = static_cast<int>(integer("32 or 64"));
  if (module_.address_size != 64) fail(".address_size 64");
}

void Parser::skip_braces() {
  expect("{");
  for (int depth = 1; depth > 0;) {
    if (look().what == Token::What::end) fail("'}'");
    depth += look().is("{") ? 1 : look().is("}") ? -1 : 0;
    next();
  }
}

void Parser::top_level() {
  if (take_dotted(".file")) {
    const auto number = static_cast<int>(integer("the number of a file"));
    if (look().what != Token::What::text) fail("the name of a file in quotes");
    module_.files[number] = std::string(next().text);
    while (take(",")) integer("a number");
    return;
  }
  if (take_dotted(".section")) {
    next();
    return skip_braces();
  }
  if (take_dotted(".pragma") || take_dotted(".alias")) {
    while (!take(";")) {
      if (look().what == Token::What::end) fail("';'");
      next();
    }
    return;
  }
  if (take_dotted(".loc")) return location();
  bool is_extern = false;
  for (;;) {
    if (take_dotted(".extern"))
      is_extern = true;
    else if (!take_dotted(".visible") && !take_dotted(".weak") && !take_dotted(".common"))
      break;
  }
  if (take_dotted(".entry")) return function(true, is_extern);
  if (take_dotted(".func")) return function(false, is_extern);
  if (look().what == Token::What::dotted && is_space(look().text)) return declaration(is_extern, false);
  fail(".entry, .func or a variable");
}

void Parser::parameters(Function& f) {
  expect("(");
  while (!take(")")) {
    if (!take_dotted(".param") && !take_dotted(".reg")) fail("a parameter");
    Variable v = variable_head(Space::param);
    v.line = look().line;
    const Type t = type();
    while (look().what == Token::What::dotted) {  // .ptr .global .align 4
      if (take_dotted(".align"))
        integer("an alignment");
      else
        next();
    }
    v.name = word("the name of a parameter");
    v.align = std::max<std::int64_t>(v.align, std::max(1, t.bits / 8) * t.vector);
    dimensions(v, std::max<std::int64_t>(1, t.bits / 8) * t.vector);
    name(v.name, {Named::What::local, static_cast<int>(f.variables.size())});
    f.variables.push_back(std::move(v));
    if (!look().is(")")) expect(",");
  }
}

std::array<int, 3> Parser::up_to_three() {
  std::array<int, 3> n = {1, 1, 1};
  n[0] = static_cast<int>(integer("a count"));
  for (std::size_t i = 1; i < 3 && take(","); ++i) n[i] = static_cast<int>(integer("a count"));
  return n;
}

void Parser::attributes(Function& f) {
  for (;;) {
    if (take_dotted(".maxntid"))
      f.maxntid = up_to_three();
    else if (take_dotted(".reqntid"))
      f.reqntid = up_to_three();
    else if (take_dotted(".reqnctapercluster"))
      f.cluster = up_to_three();
    else if (take_dotted(".maxnreg"))
      f.maxnreg = static_cast<int>(integer("a count of registers"));
    else if (take_dotted(".minnctapersm"))
      f.minnctapersm = static_cast<int>(integer("a count"));
    else if (take_dotted(".maxnctapersm") || take_dotted(".maxclusterrank"))
      integer("a count");
    else if (take_dotted(".pragma")) {
      next();
      expect(";");
    } else if (!take_dotted(".noreturn") && !take_dotted(".explicitcluster") && !take_dotted(".blocksareclusters")) {
      return;
    }
  }
}

int Parser::find_function(const std::string& name) const {
  const std::optional<Named> known = find(name, 0);
  return known && known->what == Named::What::function ? known->index : -1;
}

void Parser::function(bool is_entry, bool is_extern) {
  Function f;
  f.is_entry = is_entry;
  f.line = look().line;
  scopes_.resize(1);
  scopes_.push_back({0, {}});
  scope_ = 1;
  if (take_dotted(".attribute")) {
    expect("(");
    while (!take(")")) {
      if (look().what == Token::What::end) fail("')'");
      next();
    }
  }
  if (!is_entry && look().is("(")) {
    parameters(f);
    f.return_count = static_cast<int>(f.variables.size());
  }
  f.name = word("the name of a function");
  if (look().is("(")) parameters(f);
  f.param_count = static_cast<int>(f.variables.size()) - f.return_count;
  attributes(f);
  f.is_declared_only = take(";");
  // A function may be declared before it is defined: the two are one, so that calls in between find it.
  int index = find_function(f.name);
  if (index < 0) {
    index = static_cast<int>(module_.functions.size());
    module_.functions.emplace_back();
    scopes_[0].names[f.name] = {Named::What::function, index};
  } else if (!module_.functions[static_cast<std::size_t>(index)].is_declared_only && !f.is_declared_only) {
    fail("one definition of function " + f.name);
  } else if (f.is_declared_only) {
    scope_ = 0;
    return;
  }
  module_.functions[static_cast<std::size_t>(index)] = std::move(f);
  function_ = &module_.functions[static_cast<std::size_t>(index)];
  if (!function_->is_declared_only && !is_extern) body();
  function_ = nullptr;
  scope_ = 0;
}

void Parser::body() {
  statement_scope_.clear();
  table_labels_.clear();
  place_ = {};
  expect("{");
  block(0);
  resolve();
}

/// What is between a '{' already taken and its '}'.
void Parser::block(int depth) {
  if (depth > 64) fail("scopes at most 64 deep");
  while (!take("}")) {
    if (look().what == Token::What::end) fail("'}'");
    if (take("{")) {
      const int outer = scope_;
      scopes_.push_back({outer, {}});
      scope_ = static_cast<int>(scopes_.size()) - 1;
      block(depth + 1);
      scope_ = outer;
    } else if (look().what == Token::What::word && look(1).is(":")) {
      const std::string label(next().text);
      next();
      if (look().what == Token::What::dotted && look().text != ".loc" && look().text != ".pragma" &&
          !is_space(look().text) && look().text != ".reg")
        table(label);
      else
        name(label, {Named::What::label, static_cast<int>(function_->statements.size())});
    } else if (take_dotted(".loc")) {
      location();
    } else if (take_dotted(".pragma")) {
      next();
      expect(";");
    } else if (take_dotted(".reg")) {
      registers();
    } else if (look().what == Token::What::dotted && is_space(look().text)) {
      declaration(false, true);
    } else if (!take(";")) {
      statement();
    }
  }
}

namespace {
template <class F>
void each_label(std::vector<Operand>& operands, const F& f) {
  for (Operand& o : operands) {
    if (o.what == Operand::What::label) f(o);
    each_label(o.parts, f);
  }
}
}  // namespace

/// Labels may be used before they are declared.
void Parser::resolve() {
  const auto label = [&](const std::string& name, int scope, int line) {
    const std::optional<Named> found = find(name, scope);
    if (!found || found->what != Named::What::label)
      throw Error("PTX line " + std::to_string(line), "a name that is declared", "'" + name + "'");
    return found->index;
  };
  Function& f = *function_;
  for (std::size_t i = 0; i < f.statements.size(); ++i)
    each_label(f.statements[i].operands,
               [&](Operand& o) { o.index = label(o.text, statement_scope_[i], f.statements[i].line); });
  for (const auto& names : table_labels_) {
    std::vector<int> targets;
    for (const auto& [name, scope] : names) targets.push_back(label(name, scope, f.line));
    f.tables.push_back(std::move(targets));
  }
}

/// The name in a scope or one around it; %r12 of a family %r<20> is its twelfth.
std::optional<Parser::Named> Parser::find(std::string_view name, int scope) const {
  const std::size_t stem = name.find_last_not_of("0123456789");
  const std::size_t digits = stem == std::string_view::npos ? 0 : name.size() - stem - 1;
  for (; scope >= 0; scope = scopes_[static_cast<std::size_t>(scope)].parent) {
    const auto& names = scopes_[static_cast<std::size_t>(scope)].names;
    const auto exact = names.find(name);
    if (exact != names.end() && exact->second.count == 0) return exact->second;
    if (digits == 0 || digits > 7 || (digits > 1 && name[stem + 1] == '0')) continue;
    const auto family = names.find(name.substr(0, stem + 1));
    if (family == names.end()) continue;
    const int number = std::stoi(std::string(name.substr(stem + 1)));
    if (number < family->second.count) return Named{family->second.what, family->second.index + number};
  }
  return std::nullopt;
}

void Parser::name(const std::string& name, const Named& what) {
  auto& names = scopes_[static_cast<std::size_t>(scope_)].names;
  if (!names.emplace(name, what).second)
    throw Error("PTX line " + std::to_string(look().line), "a name that is new in its scope", "'" + name + "'");
}

}  // namespace assay::gpu

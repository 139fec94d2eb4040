#include "gpu/target/launch/expression.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "reference/core/error.hpp"

namespace assay {

struct Expression::Node {
  enum class What { number, name, stride, choice, operation } what = What::number;
  double value = 0;                       // number
  std::string name, other;                // name; tensor of stride; option and value of choice
  int dim = 0;                            // of stride
  double (*of)(const double*) = nullptr;  // operation on the values of parts
  std::vector<std::shared_ptr<const Node>> parts;
};

namespace {

using Node = Expression::Node;
using Pointer = std::shared_ptr<const Node>;

constexpr std::size_t kMaxLength = 400;
constexpr int kMaxDepth = 32;

struct Function {
  std::size_t arguments;
  double (*of)(const double*);
};

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"ceil", {1, [](const double* v) { return std::ceil(v[0]); }}},
      {"floor", {1, [](const double* v) { return std::floor(v[0]); }}},
      {"sqrt", {1, [](const double* v) { return std::sqrt(v[0]); }}},
      {"min", {2, [](const double* v) { return std::fmin(v[0], v[1]); }}},
      {"max", {2, [](const double* v) { return std::fmax(v[0], v[1]); }}},
      {"if", {3, [](const double* v) { return v[0] != 0 ? v[1] : v[2]; }}},
  };
  return all;
}

struct Operator {
  int level;  // binds the tighter, the higher
  double (*of)(const double*);
};

const std::map<std::string, Operator>& operators() {
  static const std::map<std::string, Operator> all = {
      {"<", {1, [](const double* v) { return v[0] < v[1] ? 1.0 : 0.0; }}},
      {"<=", {1, [](const double* v) { return v[0] <= v[1] ? 1.0 : 0.0; }}},
      {">", {1, [](const double* v) { return v[0] > v[1] ? 1.0 : 0.0; }}},
      {">=", {1, [](const double* v) { return v[0] >= v[1] ? 1.0 : 0.0; }}},
      {"==", {1, [](const double* v) { return v[0] == v[1] ? 1.0 : 0.0; }}},
      {"!=", {1, [](const double* v) { return v[0] != v[1] ? 1.0 : 0.0; }}},
      {"+", {2, [](const double* v) { return v[0] + v[1]; }}},
      {"-", {2, [](const double* v) { return v[0] - v[1]; }}},
      {"*", {3, [](const double* v) { return v[0] * v[1]; }}},
      {"/", {3, [](const double* v) { return v[0] / v[1]; }}},
      {"%", {3, [](const double* v) { return std::fmod(v[0], v[1]); }}},
  };
  return all;
}

/// Recursive descent: an operand, then operators that bind at least as tightly as `level`.
class Parser {
 public:
  Parser(const std::string& text, const Names& names) : text_(text), names_(names) {
    if (text.size() > kMaxLength) fail("at most 400 characters", std::to_string(text.size()));
    next();
  }

  Pointer all() {
    Pointer root = operation(1);
    if (!token_.empty()) fail("an operator or the end", token_);
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    throw Error("cannot read the expression `" + text_.substr(0, 60) + "`", expected,
                found.empty() ? "the end" : found);
  }

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

  void next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t first = at_;
    if (at_ == text_.size()) {
      token_.clear();
      return;
    }
    if (is_word(text_[at_]))
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    else if (++at_; at_ < text_.size() && text_[at_] == '=')
      ++at_;
    token_ = text_.substr(first, at_ - first);
  }

  void expect(const char* token) {
    const char* const hint = token_.empty() ? " (between [ ] or { } an expression with a comma stands in quotes)" : "";
    if (token_ != token) fail(std::string("`") + token + "`" + hint, token_);
    next();
  }

  std::string word() {
    if (token_.empty() || !is_word(token_[0])) fail("a name", token_);
    const std::string name = token_;
    next();
    return name;
  }

  Pointer operation(int level) {
    if (++depth_ > kMaxDepth) fail("at most 32 levels", "more");
    Pointer left = operand();
    for (;;) {
      const auto found = operators().find(token_);
      if (found == operators().end() || found->second.level < level) break;
      next();
      Pointer right = operation(found->second.level + 1);
      left = node(found->second.of, {left, right});
    }
    --depth_;
    return left;
  }

  static Pointer node(double (*of)(const double*), std::vector<Pointer> parts) {
    auto n = std::make_shared<Node>();
    n->what = Node::What::operation;
    n->of = of;
    n->parts = std::move(parts);
    return n;
  }

  Pointer operand() {
    if (token_ == "(") {
      next();
      Pointer inner = operation(1);
      expect(")");
      return inner;
    }
    if (token_ == "-") {
      if (++depth_ > kMaxDepth) fail("at most 32 levels", "more");
      next();
      Pointer inner = operand();
      --depth_;
      return node([](const double* v) { return -v[0]; }, {inner});
    }
    auto n = std::make_shared<Node>();
    n->name = word();
    if (std::isdigit(static_cast<unsigned char>(n->name[0])) != 0) {
      const char* const end = n->name.data() + n->name.size();
      const auto r = std::from_chars(n->name.data(), end, n->value);
      if (r.ec != std::errc() || r.ptr != end) fail("a number", n->name);
      return n;
    }
    if (token_ != "(") {
      n->what = Node::What::name;
      names_.check_number(n->name);
      return n;
    }
    next();
    if (n->name == "stride" || n->name == "is") {
      const std::string first = word();
      expect(",");
      const std::string second = word();
      expect(")");
      n->what = n->name == "is" ? Node::What::choice : Node::What::stride;
      n->name = first;
      n->other = second;
      if (n->what == Node::What::choice) {
        names_.check_choice(first, second);
      } else {
        if (second.size() != 1 || second[0] < '0' || second[0] > '7') fail("a dimension from 0 to 7", second);
        names_.check_stride(first, n->dim = second[0] - '0');
      }
      return n;
    }
    const auto f = functions().find(n->name);
    if (f == functions().end()) fail("ceil, floor, sqrt, min, max, if, stride or is", n->name);
    std::vector<Pointer> arguments{operation(1)};
    while (token_ == ",") {
      next();
      arguments.push_back(operation(1));
    }
    expect(")");
    if (arguments.size() != f->second.arguments)
      fail(std::to_string(f->second.arguments) + " arguments of " + n->name, std::to_string(arguments.size()));
    return node(f->second.of, std::move(arguments));
  }

  const std::string& text_;
  const Names& names_;
  std::size_t at_ = 0;
  std::string token_;
  int depth_ = 0;
};

double evaluate(const Node& n, const Values& values) {
  switch (n.what) {
    case Node::What::number:
      return n.value;
    case Node::What::name:
      return values.number(n.name);
    case Node::What::stride:
      return values.stride(n.name, n.dim);
    case Node::What::choice:
      return values.choice(n.name, n.other) ? 1 : 0;
    case Node::What::operation:
      break;
  }
  double parts[3] = {};
  for (std::size_t i = 0; i < n.parts.size(); ++i) parts[i] = evaluate(*n.parts[i], values);
  return n.of(parts);
}

}  // namespace

Expression::Expression(const std::string& text, const Names& names) : text_(text), root_(Parser(text_, names).all()) {}

double Expression::operator()(const Values& values) const { return evaluate(*root_, values); }

long long Expression::whole(const Values& values, long long low, long long high, const std::string& what) const {
  const double v = (*this)(values);
  if (!(v >= static_cast<double>(low) && v <= static_cast<double>(high) && v == std::floor(v)))
    throw Error(what + " is `" + text_ + "`",
                "a whole number from " + std::to_string(low) + " to " + std::to_string(high), std::to_string(v));
  return static_cast<long long>(v);
}

}  // namespace assay

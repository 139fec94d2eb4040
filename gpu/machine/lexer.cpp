#include "gpu/machine/lexer.hpp"

#include <cctype>

#include "reference/core/error.hpp"

namespace assay::gpu {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return is_letter(c) || is_digit(c); }

struct Lexer {
  std::string_view ptx;
  std::size_t at = 0;
  int line = 1;
  std::vector<Token> tokens;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("PTX line " + std::to_string(line) + ": " + what);
  }
  char look(std::size_t ahead = 0) const { return at + ahead < ptx.size() ? ptx[at + ahead] : '\0'; }
  void add(Token::What what, std::size_t from) { tokens.push_back({what, ptx.substr(from, at - from), line}); }

  /// Blanks and comments.
  void skip() {
    for (;;) {
      if (look() == '\n') {
        ++line, ++at;
      } else if (look() == ' ' || look() == '\t' || look() == '\r' || look() == '\f' || look() == '\v') {
        ++at;
      } else if (look() == '/' && look(1) == '/') {
        while (at < ptx.size() && look() != '\n') ++at;
      } else if (look() == '/' && look(1) == '*') {
        const std::size_t close = ptx.find("*/", at + 2);
        if (close == std::string_view::npos) fail("a comment that does not end");
        for (; at < close + 2; ++at) line += look() == '\n';
      } else {
        return;
      }
    }
  }

  /// Names may hold "::" (.shared::cta), which stays one word.
  void name() {
    while (is_name(look()) || (look() == ':' && look(1) == ':' && is_name(look(2)))) at += look() == ':' ? 2 : 1;
  }

  void number() {
    const std::size_t from = at;
    while (is_name(look()) || (look() == '.' && is_digit(look(1)))) {
      const bool exponent = (look() == 'e' || look() == 'E') && look(1) != '\0' && (look(1) == '-' || look(1) == '+') &&
                            ptx.substr(from, at - from).find_first_of("xX") == std::string_view::npos &&
                            ptx.substr(from, at - from).find('.') != std::string_view::npos;
      at += exponent ? 2 : 1;
    }
    if (look() == '.' && !is_letter(look(1))) ++at;  // "1."
    add(Token::What::number, from);
  }

  void sign() {
    static constexpr std::string_view two[] = {"<<", ">>", "==", "!=", "<=", ">=", "&&", "||"};
    const std::size_t from = at;
    for (const std::string_view s : two)
      if (ptx.substr(at, 2) == s) {
        at += 2;
        return add(Token::What::sign, from);
      }
    if (std::string_view(",;:{}[]()|@!+-*/%~^&<>=?").find(look()) == std::string_view::npos)
      fail("a character that PTX does not have, code " + std::to_string(static_cast<unsigned char>(look())));
    ++at;
    add(Token::What::sign, from);
  }

  void run() {
    for (skip(); at < ptx.size(); skip()) {
      const std::size_t from = at;
      if (is_letter(look()) || (look() == '%' && is_letter(look(1)))) {
        ++at;
        name();
        add(Token::What::word, from);
      } else if (look() == '.' && is_name(look(1))) {
        ++at;
        name();
        add(Token::What::dotted, from);
      } else if (is_digit(look())) {
        number();
      } else if (look() == '"') {
        const std::size_t close = ptx.find_first_of("\"\n", at + 1);
        if (close == std::string_view::npos || ptx[close] != '"') fail("a string that does not end on its line");
        tokens.push_back({Token::What::text, ptx.substr(at + 1, close - at - 1), line});
        at = close + 1;
      } else {
        sign();
      }
    }
    tokens.push_back({Token::What::end, {}, line});
  }
};

}  // namespace

std::vector<Token> tokens_of(std::string_view ptx) {
  Lexer lexer{ptx, 0, 1, {}};
  lexer.run();
  return std::move(lexer.tokens);
}

}  // namespace assay::gpu

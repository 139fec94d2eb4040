#include "conformance/mutate/lexer.hpp"

#include <array>
#include <cctype>

#include "reference/core/error.hpp"

namespace assay::mutate {
namespace {

bool word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : s_(source) {}

  Lexed run() {
    Lexed out;
    for (;;) {
      const std::size_t from = at_;
      skip_leading();
      std::string leading(s_.substr(from, at_ - from));
      if (at_ == s_.size()) {
        out.trailing = std::move(leading);
        return out;
      }
      Token t{Kind::punctuation, std::move(leading), "", line_, static_cast<int>(at_ - line_start_) + 1};
      const std::size_t begin = at_;
      t.kind = token();
      t.text = s_.substr(begin, at_ - begin);
      out.tokens.push_back(std::move(t));
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < s_.size() ? s_[at_ + ahead] : '\0'; }
  bool starts(std::string_view what) const { return s_.substr(at_, what.size()) == what; }

  void step() {
    if (s_[at_++] == '\n') {
      ++line_;
      line_start_ = at_;
    }
  }

  void until(std::string_view end, const char* what) {
    const int line = line_;
    while (!starts(end)) {
      if (at_ == s_.size())
        throw Error(std::string(what) + " has no end", std::string(end),
                    "end of file; it begins in line " + std::to_string(line));
      step();
    }
    for (std::size_t i = 0; i < end.size(); ++i) step();
  }

  void skip_leading() {
    bool line_begins = at_ == 0;
    while (at_ < s_.size()) {
      if (starts("//")) {
        while (at_ < s_.size() && peek() != '\n') step();
      } else if (starts("/*")) {
        until("*/", "a comment");
      } else if (peek() == '#' && (line_begins || line_start_only_blanks())) {
        while (at_ < s_.size() && peek() != '\n') {
          if (peek() == '\\' && peek(1) == '\n') step();
          step();
        }
      } else if (std::isspace(static_cast<unsigned char>(peek()))) {
        step();
      } else {
        return;
      }
      line_begins = false;
    }
  }

  bool line_start_only_blanks() const {
    for (std::size_t i = line_start_; i < at_; ++i)
      if (s_[i] != ' ' && s_[i] != '\t') return false;
    return true;
  }

  Kind token() {
    if (starts("R\"")) {
      const std::size_t open = s_.find('(', at_);
      if (open == std::string_view::npos) throw Error("a raw string has no end", ")", "end of file");
      until(")" + std::string(s_.substr(at_ + 2, open - at_ - 2)) + "\"", "a raw string");
      return Kind::text;
    }
    if (peek() == '"' || peek() == '\'') return quoted();
    if (word_start(peek())) {
      while (word(peek())) ++at_;
      return Kind::identifier;
    }
    if (digit(peek()) || (peek() == '.' && digit(peek(1)))) return number();
    return punctuation();
  }

  Kind quoted() {
    const char quote = peek();
    const int line = line_;
    for (step(); peek() != quote; step()) {
      if (peek() == '\\') step();
      if (peek() == '\n' || peek() == '\0')
        throw Error("a literal has no end", std::string(1, quote), "end of line " + std::to_string(line));
    }
    step();
    return Kind::text;
  }

  Kind number() {
    const bool hex = starts("0x") || starts("0X");
    while (word(peek()) || peek() == '.' || peek() == '\'') {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(peek())));
      ++at_;
      if (c == (hex ? 'p' : 'e') && (peek() == '+' || peek() == '-')) ++at_;
    }
    return Kind::number;
  }

  Kind punctuation() {
    static constexpr std::array<std::string_view, 26> longer = {
        "<=>", "<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", ">>", "<=", ">=",
        "==",  "!=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};
    for (std::string_view p : longer) {
      if (starts(p)) {
        at_ += p.size();
        return Kind::punctuation;
      }
    }
    ++at_;
    return Kind::punctuation;
  }

  std::string_view s_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Lexed lex(std::string_view source) { return Lexer(source).run(); }

bool is_floating(std::string_view number) {
  const bool hex = number.substr(0, 2) == "0x" || number.substr(0, 2) == "0X";
  return number.find_first_of(hex ? ".pP" : ".eE") != std::string_view::npos;
}

}  // namespace assay::mutate

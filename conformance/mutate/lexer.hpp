#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace assay::mutate {

enum class Kind { identifier, number, text, punctuation };  // text: string and character literals

/// One token of a C++ source, with what stands before it: blanks, comments, preprocessor lines.
struct Token {
  Kind kind;
  std::string leading, text;
  int line = 0, column = 0;  // from 1
};

struct Lexed {
  std::vector<Token> tokens;
  std::string trailing;
};

/// Splits a source; joining leading and text of all tokens and trailing gives it back. Throws Error at a comment or
/// literal that does not end.
Lexed lex(std::string_view source);

/// A number with a fraction, an exponent or the suffix f.
bool is_floating(std::string_view number);

}  // namespace assay::mutate

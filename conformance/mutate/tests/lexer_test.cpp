#include "conformance/mutate/lexer.hpp"

#include <gtest/gtest.h>

#include "reference/core/error.hpp"

namespace assay::mutate {
namespace {

std::vector<std::string> texts(const std::string& source) {
  std::vector<std::string> out;
  for (const Token& t : lex(source).tokens) out.push_back(t.text);
  return out;
}

TEST(Lexer, TokensAreTheLongest) {
  const std::vector<std::string> expected = {"a",     ">>=", "b",        "->*", "c",      "++", "+",
                                             "1e-3f", "+",   "0x1.8p+3", "-",   "1'000u", ";"};
  EXPECT_EQ(texts("a>>=b->*c+++1e-3f+0x1.8p+3-1'000u;"), expected);
}

TEST(Lexer, CommentsLiteralsAndDirectivesAreNoCode) {
  const std::string source =
      "#define F(x) \\\n  (x < 1)\n/* a < b */ x = \"// \\\" no\"; // y < z\n  # if 1\nc = '\\'' + R\"(a < \" b)\";\n";
  const std::vector<std::string> expected = {"x",     "=", "\"// \\\" no\"",  ";", "c", "=",
                                             "'\\''", "+", "R\"(a < \" b)\"", ";"};
  EXPECT_EQ(texts(source), expected);
}

TEST(Lexer, JoiningGivesTheSourceBack) {
  const std::string source = "#include <a>\n\n int f() {\n\treturn 1 /* one */ + 2;\n}  // end";
  const Lexed lexed = lex(source);
  std::string joined;
  for (const Token& t : lexed.tokens) joined += t.leading + t.text;
  EXPECT_EQ(joined + lexed.trailing, source);
  EXPECT_EQ(lexed.tokens[5].text, "return");
  EXPECT_EQ(lexed.tokens[5].line, 4);
  EXPECT_EQ(lexed.tokens[5].column, 2);
}

TEST(Lexer, WhatDoesNotEndIsAnError) {
  EXPECT_THROW(lex("a /* b"), Error);
  EXPECT_THROW(lex("a = \"b\n\";"), Error);
  EXPECT_THROW(lex("R\"(a"), Error);
}

TEST(Lexer, FloatingLiterals) {
  for (const char* f : {"1.0", "1.", "1e3", "1.5f", "0x1p3", "0x1.8p-3f"}) EXPECT_TRUE(is_floating(f)) << f;
  for (const char* i : {"1", "10u", "0xe", "0xffu", "1'000"}) EXPECT_FALSE(is_floating(i)) << i;
}

}  // namespace
}  // namespace assay::mutate

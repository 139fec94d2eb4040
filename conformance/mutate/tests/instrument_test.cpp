#include "conformance/mutate/instrument.hpp"

#include <gtest/gtest.h>

#include "reference/core/error.hpp"

namespace assay::mutate {
namespace {

/// The text after the #line directive, and the mutants as "original: description".
std::string rewritten(const std::string& source) {
  const std::string text = instrument(source, "op", "op.cpp").text;
  const std::size_t at = text.find("#line");
  return text.substr(text.find('\n', at) + 1);
}
std::vector<std::string> listed(const std::string& source) {
  std::vector<std::string> out;
  for (const Mutant& m : instrument(source, "op", "op.cpp").mutants) out.push_back(m.original + ": " + m.description);
  return out;
}

TEST(Instrument, OperandsNeedNotBeFound) {
  EXPECT_EQ(rewritten("bool f() { return a + b * c < d; }"),
            "bool f() { return a + mu::plus_{1} + b * mu::times_{4} * c < mu::less_{7} < d; }");
  EXPECT_EQ(rewritten("bool f() { return a && !b; }"),
            "bool f() { return (mu::drop_(1) || (a)) && (mu::drop_(2) || (!mu::invert_{3}->*b)); }");
}

TEST(Instrument, PositionsAreThoseOfTheSource) {
  const std::vector<Mutant> mutants =
      instrument("#include <a>\n\nint f() {\n  return a\n      + b;\n}\n", "op", "op.cpp").mutants;
  ASSERT_EQ(mutants.size(), 3u);
  EXPECT_EQ(mutants[0].line, 5);
  EXPECT_EQ(mutants[0].column, 7);
  EXPECT_EQ(mutants[0].source, "+ b;");
  EXPECT_NE(instrument("#include <a>\n\nint f() { return a + b; }\n", "op", "op.cpp")
                .text.find("#line 2 \"op.cpp\"\n\nint f"),
            std::string::npos);
}

// Code that only a planted bug reaches, and its conditions, are left alone.
TEST(Instrument, PlantedBugsAreNotMutated) {
  for (const char* source : {
           "void f() { g(s.bug(\"b\") ? 1 + 2 : x); }",
           "void f() { if (s.bug(\"b\")) { y = 1; z += 2; } }",
           "void f() { if (s.bug(\"b\") && y < 2) y = 1; }",
           "void f() { const bool b = s.bug(\"b\"); if (b) y = 1 + 2; }",
           "void f() { const bool ok = !s.bug(\"b\"); if (ok) return x; else y = 1; }",
           "void f() { const bool b = s.bug(\"b\") && x == 1; if (b) y = 2; }",
       }) {
    std::string found;
    try {
      for (const std::string& m : listed(source)) found += m + "; ";
    } catch (const Error&) {  // no mutable site
    }
    EXPECT_TRUE(found.empty() || found == "g(s.bug(\"b\") ? 1 + 2 : x);: dropped; ") << source << ": " << found;
  }
  EXPECT_EQ(rewritten("float f() { return s.bug(\"b\") ? a + 1 : a - b; }"),
            "float f() { return mu::scaled_{1} = s.bug(\"b\") ? a + 1 : a - mu::minus_{3} - b; }");
  EXPECT_EQ(rewritten("void f() { if (!s.bug(\"b\")) y(); else z(); }"),
            "void f() { if (!s.bug(\"b\")) { if (mu::keep_(1)) y(); } else z(); }");
}

TEST(Instrument, TypesAndConstantsAreNotMutated) {
  const std::string kept[] = {
      "constexpr int n = 8 + 1;\n", "struct P { float a = 1; };\n",
      "enum E { one = 1, two };\n", "template <class T, int n = 3> struct Q;\n",
      "#define F(x) ((x) < 1)\n",
  };
  const std::string body =
      "void f() { static_assert(1 < 2); std::array<float, 8> a; float b[4]; using I = int; switch (n) { case 3: "
      "break; } }";
  std::string source;
  for (const std::string& k : kept) source += k;
  EXPECT_EQ(listed(source + body), std::vector<std::string>{"break;: dropped"});
}

TEST(Instrument, WhatAReferenceIsBoundToIsNotScaled) {
  EXPECT_EQ(rewritten("void f() { float& v = a[k]; v = b; }"),
            "void f() { float& v = mu::checked_(a)[k]; { if (mu::keep_(1)) v = mu::scaled_{2} = b; } }");
}

TEST(Instrument, LoopsAndDeclarations) {
  EXPECT_EQ(rewritten("void f() { for (int i = a; i < n; i += b) { float v = g(i), w = h(); } }"),
            "void f() { for (int i = a; (mu::keep_(9) ? i : i + (b)) < mu::less_{10} < n || mu::pass_{}; i += "
            "mu::add_to_{1} += b) { "
            "float &v = mu::stale_<float, 3>() = mu::scaled_{5} = g(i), &w = mu::stale_<float, 4>() = mu::scaled_{7} = "
            "h(); } }");
  EXPECT_EQ(
      rewritten("void f() { while (true_enough) if (c) continue; else break; }"),
      "void f() { while (true_enough || mu::pass_{}) if (c || mu::guard_{3}) { if (mu::keep_(1)) continue; } else { if "
      "(mu::keep_(2)) break; } }");
}

TEST(Instrument, ConstantsBecomeTheirNeighboursAndZero) {
  const auto constants = [](const std::string& literal) {
    std::string all;
    for (const std::string& m : listed("int f() { return " + literal + "; }"))
      all += m.substr(m.find("becomes ") + 8) + " ";
    return all;
  };
  EXPECT_EQ(constants("64"), "65 63 0 ");
  EXPECT_EQ(constants("0"), "1 -1 ");
  EXPECT_EQ(constants("1"), "2 0 ");
  EXPECT_EQ(constants("0u"), "1u ");
  EXPECT_EQ(constants("2147483647"), "2147483646 0 ");
  EXPECT_EQ(constants("0xffu"), "256u 254u 0u ");
  EXPECT_EQ(constants("0.5f"), "1.5f -0.5f 0.0f ");
  EXPECT_EQ(constants("1e6"), "2000000.0 500000.0 0.0 ");
  EXPECT_EQ(constants("3.402823466e38f"), "1.70141173e+38f 0.0f ");
  EXPECT_EQ(constants("true"), "false ");
}

TEST(Instrument, NothingToMutateIsAnError) {
  EXPECT_THROW(instrument("int f();\n", "op", "op.cpp"), Error);
  EXPECT_THROW(instrument("int f() { return (1; }\n", "op", "op.cpp"), Error);
}

}  // namespace
}  // namespace assay::mutate

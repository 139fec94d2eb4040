// The parser: what it makes of names, scopes, numbers and data, and what it says of text that is no PTX.
#include <gtest/gtest.h>

#include "gpu/machine/module.hpp"
#include "reference/core/error.hpp"

namespace assay::gpu {
namespace {

const std::string head = ".version 9.0\n.target sm_90a, debug\n.address_size 64\n";

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Parse, ScopesTellNamesApart) {
  const Module m = parse(head +
                         ".entry k() {\n.reg .b32 %r<3>, %x;\n{ .reg .b32 %r<2>; L: mov.u32 %r1, 1; bra L; }\n"
                         "{ L: mov.u32 %r2, %x; bra L; bra M; }\nM: ret;\n}\n");
  ASSERT_EQ(1U, m.functions.size());
  const Function& f = m.functions[0];
  ASSERT_EQ(6U, f.registers.size());
  EXPECT_EQ("%x", f.registers[3].name);
  EXPECT_EQ(5, f.statements[0].operands[0].index);  // %r1 of the inner scope
  EXPECT_EQ(2, f.statements[2].operands[0].index);  // %r2 of the outer one
  EXPECT_EQ(0, f.statements[1].operands[0].index);  // the first L
  EXPECT_EQ(2, f.statements[3].operands[0].index);  // the second
  EXPECT_EQ(5, f.statements[4].operands[0].index);  // M comes later
  EXPECT_EQ("sm_90a", m.target);
}

TEST(Parse, OperandsOfEveryForm) {
  const Module m =
      parse(head +
            ".shared .align 128 .b8 s[64];\n.func g;\n"  // a declaration without parameters
            ".entry k(.param .align 64 .b8 map[128]) {\n.reg .b32 %r<9>; .reg .b64 %a; .reg .pred %p<3>;\n"
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%a, {%r2, %r3}], "
            "[s+8];\n"
            "@!%p1 setp.lt.s32 %p1|%p2, -5, 0x1F;\nmov.b64 {_, %r1}, %a;\nmov.f32 %r1, 0f3F800000;\nmov.u32 %r1, (1 << "
            "4) + 2;\n"
            "mov.u32 %r1, %tid.x;\nld.param.u64 %a, [map+16];\nshfl.sync.up.b32 %r1|%p1, %r2, %r3, -1.5, 0b101;\n}\n");
  const std::vector<Statement>& s = m.functions[1].statements;
  EXPECT_EQ((std::vector<std::string>{"async", "bulk", "tensor", "2d", "shared::cluster", "global", "tile",
                                      "mbarrier::complete_tx::bytes"}),
            s[0].parts);
  EXPECT_EQ(2U, s[0].operands[1].parts[1].parts.size());
  EXPECT_EQ(8, s[0].operands[2].offset);
  EXPECT_TRUE(s[1].guard_negated);
  EXPECT_EQ(Operand::What::pair, s[1].operands[0].what);
  EXPECT_EQ(static_cast<std::uint64_t>(-5), s[1].operands[1].bits);
  EXPECT_EQ(31U, s[1].operands[2].bits);
  EXPECT_EQ(Operand::What::sink, s[2].operands[0].parts[0].what);
  EXPECT_EQ(32, s[3].operands[1].is_float);
  EXPECT_EQ(18U, s[4].operands[1].bits);
  EXPECT_EQ("%tid.x", s[5].operands[1].text);
  EXPECT_TRUE(s[6].operands[1].parts[0].local);
  EXPECT_EQ(16, s[6].operands[1].offset);
  EXPECT_EQ(64, s[7].operands[3].is_float);
  EXPECT_EQ(5U, s[7].operands[4].bits);
}

TEST(Parse, Data) {
  const Module m = parse(head +
                         ".global .align 4 .u16 a[2][2] = {{1, 2}, {0xFFFF}};\n.const .f32 f[] = {1.0, 0f40000000};\n"
                         ".global .u64 p[2] = {a+2, generic(a)};\n.extern .shared .align 16 .b8 dyn[];\n");
  EXPECT_EQ((std::vector<std::uint8_t>{1, 0, 2, 0, 0xff, 0xff, 0, 0}), m.variables[0].init);
  EXPECT_EQ((std::vector<std::uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}), m.variables[1].init);
  EXPECT_EQ(8, m.variables[1].bytes);
  ASSERT_EQ(2U, m.variables[2].relocations.size());
  EXPECT_EQ(2, m.variables[2].relocations[0].addend);
  EXPECT_TRUE(m.variables[2].relocations[1].generic);
  EXPECT_EQ(0, m.variables[3].bytes);
}

TEST(Parse, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(std::string::npos, error_of(head + ".entry k() {\nbra NOWHERE;\n}").find("line 5"));
  EXPECT_NE(std::string::npos, error_of(head + ".entry k() { mov.u32 %r1, 0; }").find("'%r1'"));
  for (const std::string wrong :
       {"", ".version 9.0", ".version x.y .target sm_80", ".version 9.0\n.target sm_80\n.address_size 32"})
    EXPECT_NE("", error_of(wrong)) << wrong;
  for (const std::string wrong :
       {".entry k() {", ".entry k() { ret }", ".entry k() { .reg .b32 %r<4000000000>; }", ".global .b8 x[99999999999];",
        ".global .b8 x[2] = {1,2,3};", ".reg .b32 a;", "/* open", ".file 1 \"open", "\x01",
        ".entry k() { .reg .b32 a; .reg .b32 a; }", ".entry k() { mov.u32 1, 1/0; }", ".entry k() {} .entry k() {}"})
    EXPECT_NE("", error_of(head + wrong)) << wrong;
  std::string deep = head + ".entry k() {";
  for (int i = 0; i < 100000; ++i) deep += "{";
  EXPECT_NE("", error_of(deep));
  std::string nested = head + ".entry k() { mov.u32 ";
  for (int i = 0; i < 100000; ++i) nested += i % 2 == 0 ? "{" : "!";
  EXPECT_NE("", error_of(nested));
  std::string parentheses = head + ".global .b32 x[";
  for (int i = 0; i < 100000; ++i) parentheses += "(";
  EXPECT_NE("", error_of(parentheses));
}

}  // namespace
}  // namespace assay::gpu

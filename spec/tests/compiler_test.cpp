#include <gtest/gtest.h>

#include "spec/compiler/compile.hpp"
#include "spec/tests/good_page.hpp"

namespace assay::spec {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the good page does not contain: " << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << "the good page contains twice: " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Bad {
  const char *from, *to, *message;
};

// One edit of the good page, and the mistake it must be refused with (the start of it).
const Bad bad_pages[] = {
    {"wings: [gpu]", "wings: [gpu]\nwing: [gpu]", "spec/norm/toy.md:6: wing: unknown key: expected one of id, title"},
    {"title: Toy norm", "title: Toy norm\ntitle: Toy", "spec/norm/toy.md:4: title: key given twice"},
    {"title: Toy norm\n", "", "spec/norm/toy.md:2: title: required key is missing"},
    {"id: norm.toy", "id: norm.toys",
     "spec/norm/toy.md:2: id: expected \"norm.toy\" as in the path of the file, found \"norm.toys\""},
    {"id: norm.toy", "id: norm.t-oy", "spec/norm/toy.md:2: id: expected \"norm.toy\""},
    {"source: [\"A paper\"]", "source: []", "spec/norm/toy.md:4: source: expected at least one source, found none"},
    {"wings: [gpu]", "wings: [tpu]", "spec/norm/toy.md:5: wings: expected one of gpu, distributed, found \"tpu\""},
    {"cases:", "uses: softmax\ncases:", "spec/norm/toy.md:19: uses: a page has either `op` or `uses`"},
    {"name: toy_norm", "name: toy-norm", "spec/norm/toy.md:7: op.name: expected a name of lower-case letters"},
    {"rows: T", "rows: B", "spec/norm/toy.md:8: op.rows: expected a size of an input (T, d, 3), found \"B\""},
    {"x: { shape: [T, d]", "float: { shape: [T, d]",
     "spec/norm/toy.md:10: op.inputs.float: a tensor's name may not be a word"},
    {"x: { shape: [T, d]", "x-y: { shape: [T, d]", "spec/norm/toy.md:10: op.inputs: expected a name of letters"},
    {"x: { shape: [T, d]", "no: { shape: [T, d]", "spec/norm/toy.md:10: op.inputs: YAML reads \"no\" as a boolean"},
    {"x: { shape: [T, d]", "x: { shape: [T, 2d]",
     "spec/norm/toy.md:10: op.inputs.x.shape: expected an integer, found \"2d\""},
    {"x: { shape: [T, d]", "x: { shape: [T, k]",
     "spec/norm/toy.md:20: cases: size \"k\" of tensor \"x\" is not in cases.sizes"},
    {"x: { shape: [T, d], says: \"input\" }", "x: { shape: [T, d] }",
     "spec/norm/toy.md:10: op.inputs.x.says: required key"},
    {"dtype: int32", "dtype: int", "spec/norm/toy.md:12: op.inputs.order.dtype: expected one of in, out, acc"},
    {"fill: { lengths: [T, d] }", "fill: { length: [T, d] }",
     "spec/norm/toy.md:12: op.inputs.order.fill: expected one of lengths, page_table, cu_seqlens"},
    {"dtype: int32", "dtype: fp32",
     "spec/norm/toy.md:12: op.inputs.order.fill: only a tensor of int32 or int64 has a fill, found \"fp32\""},
    {"lengths: [T, d]", "lengths: [T, k]",
     "spec/norm/toy.md:20: cases: size \"k\" of the fill of \"order\" is not in cases.sizes"},
    {"lengths: [T, d]", "lengths: []",
     "spec/norm/toy.md:12: op.inputs.order.fill: expected a tensor of rank 1 and the sizes"},
    {"lengths: [T, d]", "cu_seqlens: [T, d]",
     "spec/norm/toy.md:12: op.inputs.order.fill: expected a tensor of rank 1, one longer than there are sequences"},
    {"lengths: [T, d]", "page_table: [T, d, x]",
     "spec/norm/toy.md:12: op.inputs.order.fill: expected a tensor of rank 2 and [PAGES, SLOTS_OF_A_PAGE, LENGTHS]"},
    {"when: { gain: given }", "when: { gains: given }",
     "spec/norm/toy.md:11: op.inputs.w.when: expected an option of the op that has values (gain), found \"gains\""},
    {"when: { gain: given }", "when: { gain: taken }",
     "spec/norm/toy.md:11: op.inputs.w.when.gain: expected one of none, given, default, found \"taken\""},
    {"when: { gain: given }", "when: { eps: given }",
     "spec/norm/toy.md:11: op.inputs.w.when: expected an option of the op"},
    {"y: { shape", "x: { shape", "spec/norm/toy.md:14: op.outputs.x: an input of the op has this name"},
    {"decision: top_k", "decision: top", "spec/norm/toy.md:15: op.outputs.ids.decision: expected one of top_k"},
    {"dtype: int64, decision", "decision",
     "spec/norm/toy.md:15: op.outputs.ids.decision: expected a fixed integer dtype beside it (int32)"},
    {"ids: { shape: [T, 2]", "ids: { shape: [T]",
     "spec/norm/toy.md:15: op.outputs.ids.decision: expected a shape [rows, k]: k indices in each row, found 1 sizes"},
    {"order: { shape: [3]", "order: { decision: top_k, shape: [3]", "spec/norm/toy.md:12: op.inputs.order"},
    {"gain: { values", "class: { values",
     "spec/norm/toy.md:17: op.options.class: an option's name may not be a word of C++"},
    {"gain: { values", "from: { values", "spec/norm/toy.md:17: op.options.from: an option's name"},
    {"[none, given, default]", "[off, given]",
     "spec/norm/toy.md:17: op.options.gain.values: YAML reads \"off\" as a boolean"},
    {"[none, given, default]", "[none, Yes]",
     "spec/norm/toy.md:17: op.options.gain.values: YAML reads \"Yes\" as a boolean"},
    {"[none, given, default]", "[none, given, none]",
     "spec/norm/toy.md:17: op.options.gain.values: value \"none\" given twice"},
    {"[none, given, default]", "[]", "spec/norm/toy.md:17: op.options.gain.values: expected at least one value"},
    {"[none, given, default]", "none",
     "spec/norm/toy.md:17: op.options.gain.values: expected a list [...], found \"none\""},
    {"numbers: [1.0e-6, 0, 0.5], ", "", "spec/norm/toy.md:18: op.options.eps: expected either `values` or `numbers`"},
    {"[1.0e-6, 0, 0.5]", "[1e-6]",
     "spec/norm/toy.md:18: op.options.eps.numbers: expected a number spelled like 1.0e-6 or 0.5, found \"1e-6\""},
    {"[1.0e-6, 0, 0.5]", "[1.0e6]", "spec/norm/toy.md:18: op.options.eps.numbers: expected a number spelled like"},
    {"[1.0e-6, 0, 0.5]", "[\"0.5\"]", "spec/norm/toy.md:18: op.options.eps.numbers: expected a number spelled like"},
    {"[1.0e-6, 0, 0.5]", "[010]", "spec/norm/toy.md:18: op.options.eps.numbers: expected a number spelled like"},
    {"[1.0e-6, 0, 0.5]", "[0.5, 0.50]", "spec/norm/toy.md:18: op.options.eps.numbers: number 0.50 given twice"},
    {"[1.0e-6, 0, 0.5]", "[1.0e+999]",
     "spec/norm/toy.md:18: op.options.eps.numbers: expected a number within the range"},
    {"T: [0, 5]", "T: [5, 0]", "spec/norm/toy.md:20: cases.sizes.T: expected LOW <= HIGH"},
    {"T: [0, 5]", "T: [-1, 5]", "spec/norm/toy.md:20: cases.sizes.T: expected sizes >= 0"},
    {"T: [0, 5]", "T: [0]", "spec/norm/toy.md:20: cases.sizes.T: expected [LOW, HIGH], found a list of 1"},
    {"also: { shift", "also: { gain", "spec/norm/toy.md:20: cases: the name \"gain\" stands for two things in a case"},
    {"also: { shift", "also: { w_is", "spec/norm/toy.md:20: cases: the name \"w_is\" stands for two things in a case"},
    {"[normal, ties]", "[normal, ties, ties]", "spec/norm/toy.md:22: cases.profiles: profile \"ties\" given twice"},
    {"T=0 d=4", "T=0 n=4", "spec/norm/toy.md:24: cases.corners: unknown key \"n\""},
    {"T=0 d=4", "T=0 d=-4", "spec/norm/toy.md:24: cases.corners: d: expected a size >= 0, found \"-4\""},
    {"T=0 d=4", "T=0 d", "spec/norm/toy.md:24: cases.corners: expected words KEY=VALUE, found \"d\""},
    {"T=0 d=4", "T=0 T=1", "spec/norm/toy.md:24: cases.corners: T: given twice"},
    {"T=0 d=4", "w_is=ties", "spec/norm/toy.md:24: cases.corners: w_is: w is not in the case: it needs gain=given"},
    {"gain=given w_is", "gain=with w_is",
     "spec/norm/toy.md:25: cases.corners: gain: expected one of none, given, default"},
    {"eps=0.5", "eps=0.25",
     "spec/norm/toy.md:25: cases.corners: eps: expected one of the numbers of the option, found \"0.25\""},
    {"profiles: [normal, ties]", "profiles: [normal, tie]",
     "spec/norm/toy.md:22: cases.profiles: unknown profile \"tie\": expected one of normal, uniform, "},
    {"profile=ties", "profile=tie",
     "spec/norm/toy.md:25: cases.corners: profile: expected one of normal, ties, found \"tie\""},
    {"shift=-3", "shift=x", "spec/norm/toy.md:25: cases.corners: shift: expected an integer, found \"x\""},
    {"kind: rounding", "kind: boudn",
     "spec/norm/toy.md:27: claims.accuracy.kind: expected one of exact, exact_if_batch_invariant, "
     "exact_if_same_kernel, rounding, bound, differs, law, choice, cost, invariant, found \"boudn\""},
    {"kind: rounding, on: target", "kind: rounding, on: targets",
     "spec/norm/toy.md:27: claims.accuracy.on: expected one of definition, target, pair, machine, process, found "
     "\"targets\""},
    {"  sign: {", "  accuracy: {", "spec/norm/toy.md:28: claims.accuracy: name given twice"},
    {"  sign: {", "  sign-flip: {", "spec/norm/toy.md:28: claims: expected a name of lower-case letters"},
    {"caught_by: accuracy", "caught_by: acuracy",
     "spec/norm/toy.md:30: bugs.no_eps.caught_by: expected a claim of this page or universal.NAME, found \"acuracy\""},
    {"kind: rounding, on: target", "kind: rounding, on: definition",
     "spec/norm/toy.md:30: bugs.no_eps.caught_by: expected a claim on: target, found \"accuracy\", which is on: "
     "definition"},
    {"seen: [\"toy#2\"]", "seen: []", "spec/norm/toy.md:31: bugs.late.seen: expected where the bug was shipped"},
    {"caught_by: universal.inputs_unchanged", "caught_by: universal.",
     "spec/norm/toy.md:31: bugs.late.caught_by: expected a claim"},
    {"fp32: structured", "fp33: structured",
     "spec/norm/toy.md:30: bugs.no_eps.dies: expected a contract (fp64, fp32, fp16, bf16), found \"fp33\""},
    {"fp32: structured", "fp32: always",
     "spec/norm/toy.md:30: bugs.no_eps.dies.fp32: expected one of structured, generic, found \"always\""},
    {"{ fp32: structured }", "{}", "spec/norm/toy.md:30: bugs.no_eps.dies: expected at least one contract, found none"},
    {"wings: [gpu]", "wings: [gpu", "spec/norm/toy.md:6: not YAML: "},
    {"title: Toy norm", "title: TODO a title", "spec/norm/toy.md:3: title: still to be written: \"TODO a title\""},
    {"It has", "TODO it has", "spec/norm/toy.md:36: still to be written: TODO in the text"},
    {"---\nid", "--\nid", "spec/norm/toy.md:1: expected YAML between a first line `---` and a line `---`"},
    {"\n# Toy norm\n\nIt has \"quotes\", a \\ backslash and a µ.\n", "",
     "spec/norm/toy.md:1: the page has no text below"},
};

TEST(Compiler, EveryBadPageIsRefusedWithItsLine) {
  for (const Bad& bad : bad_pages) {
    const Compiled compiled = compile(good_path, replaced(good_page, bad.from, bad.to));
    std::string found;
    bool refused = false;
    for (const Mistake& mistake : compiled.mistakes) {
      found += mistake.text() + "\n";
      refused = refused || mistake.text().rfind(bad.message, 0) == 0;
    }
    EXPECT_TRUE(refused) << "instead of  " << bad.from << "\nthere was   " << bad.to << "\nexpected    " << bad.message
                         << "\nfound       " << found;
  }
}

TEST(Compiler, TheGoodPageIsAccepted) {
  const Compiled compiled = compile(good_path, good_page);
  for (const Mistake& mistake : compiled.mistakes) ADD_FAILURE() << mistake.text();
  const Page& page = compiled.page;
  EXPECT_EQ(page.chapter, "norm");
  EXPECT_EQ(page.op.inputs[1].when_value, "given");
  EXPECT_EQ(page.op.inputs[0].dtype, "in");
  EXPECT_EQ(page.op.inputs[2].shape, Words{"3"});
  EXPECT_EQ(page.op.inputs[2].fill, "lengths");
  EXPECT_EQ(page.op.inputs[2].fill_of, (Words{"T", "d"}));
  EXPECT_EQ(page.op.outputs[0].dtype, "out");
  EXPECT_EQ(page.op.outputs[0].decision, "");
  EXPECT_EQ(page.op.outputs[1].decision, "top_k");
  EXPECT_EQ(page.op.options[1].numbers, (std::vector<double>{1e-6, 0, 0.5}));
  EXPECT_EQ(page.cases.also[0].low, -8);
  EXPECT_EQ(page.claims[1].id, "norm.toy.sign");
  EXPECT_EQ(page.bugs[1].dies[1].contract, "fp16");
  EXPECT_EQ(page.body.rfind("# Toy norm\n", 0), 0u);
}

TEST(Compiler, AllMistakesOfAPageAreReported) {
  std::string text = replaced(good_page, "kind: rounding", "kind: boudn");
  text = replaced(text, "caught_by: accuracy", "caught_by: acuracy");
  EXPECT_EQ(compile(good_path, text).mistakes.size(), 2u);
}

TEST(Compiler, AClaimOnATargetNeedsAnOp) {
  std::string text = good_page;
  const std::size_t op = text.find("op:"), cases = text.find("cases:");
  text.erase(op, cases - op);
  bool refused = false;
  for (const Mistake& mistake : compile(good_path, text).mistakes)
    refused = refused || mistake.text().find("claims.accuracy: a claim on a target needs an op") != std::string::npos;
  EXPECT_TRUE(refused);
}

TEST(Compiler, AFileNameThatIsNoIdIsRefused) {
  for (const char* path :
       {"spec/norm/to-y.md", "spec/norm.md", "spec/norm/x/toy.md", "spec/norm/.md", "spec/norm/toy.txt"}) {
    const Compiled wrong = compile(path, good_page);
    ASSERT_FALSE(wrong.mistakes.empty()) << path;
    EXPECT_NE(wrong.mistakes[0].text().find(":1: expected a file spec/CHAPTER/CONCEPT.md"), std::string::npos) << path;
  }
}

TEST(Spelling, Numbers) {
  for (const char* good : {"0", "-1", "12", "0.5", "-0.25", "1.0e-6", "1.5E+10"}) EXPECT_TRUE(is_number(good)) << good;
  for (const char* bad : {"", "-", ".5", "1.", "1e-6", "1.0e6", "1.0e-", "010", "00.5", "0x1", "1.0e-6x", "+1", "1_0"})
    EXPECT_FALSE(is_number(bad)) << bad;
}

TEST(Compiler, AFileOutsideTheChaptersIsRefused) {
  const Compiled wrong = compile("spec/norms/toy.md", replaced(good_page, "norm.toy", "norms.toy"));
  ASSERT_EQ(wrong.mistakes.size(), 1u);
  EXPECT_EQ(wrong.mistakes[0].text().rfind("spec/norms/toy.md:1: unknown chapter: expected one of numerics", 0), 0u);
}

TEST(Together, DuplicatesAndUnknownOpsAreRefused) {
  const Page page = compile(good_path, good_page).page;
  Page user = page;
  user.path = "spec/norm/user.md";
  user.id = "norm.user";
  EXPECT_EQ(check_together({page, user}).at(0).text(),
            "spec/norm/user.md:1: op.name: \"toy_norm\" is the op of spec/norm/toy.md too");
  user.has_op = false;
  user.uses = "toy_norm";
  EXPECT_TRUE(check_together({page, user}).empty());
  user.cases.corners = {"gain=most"};
  EXPECT_EQ(check_together({page, user}).at(0).text(),
            "spec/norm/user.md:1: cases.corners: gain: expected one of none, given, default, found \"most\"");
  user.uses = "toy_nrom";
  EXPECT_EQ(check_together({page, user}).at(0).text(),
            "spec/norm/user.md:1: uses: expected the op of a page (toy_norm), found \"toy_nrom\"");
  EXPECT_EQ(check_together({page, page}).size(), 2u);
}

}  // namespace
}  // namespace assay::spec

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/core/error.hpp"
#include "spec/compiler/compile.hpp"
#include "spec/compiler/files.hpp"
#include "spec/json.hpp"
#include "spec/nearest.hpp"
#include "spec/page.hpp"
#include "spec/rows.hpp"
#include "spec/softmax/safe.hpp"
#include "spec/tests/good_page.hpp"

namespace assay::spec {
namespace {

const std::string root = ASSAY_SOURCE_DIR;

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The table in this binary says what the files say: through the rows and back nothing is lost.
TEST(Pages, TheTablesEqualTheFiles) {
  std::size_t files = 0;
  for (const std::string& chapter : chapters_of(root))
    for (const std::string& path : pages_of(root, chapter)) {
      const Compiled compiled = compile(path, read_file(root + "/" + path));
      for (const Mistake& mistake : compiled.mistakes) ADD_FAILURE() << mistake.text();
      const Page& table = page(compiled.page.id);
      EXPECT_EQ(page_to_json(table).dump(1), page_to_json(compiled.page).dump(1));
      EXPECT_EQ(table.body, compiled.page.body);
      EXPECT_EQ(table.path, path);
      EXPECT_EQ(table.chapter, chapter);
      ++files;
    }
  EXPECT_GT(files, 0u);
  EXPECT_EQ(pages().size(), files);
}

TEST(Pages, SafeSoftmax) {
  const Page& safe = page("softmax.safe");
  EXPECT_EQ(safe.claims.size(), 23u);
  EXPECT_EQ(safe.bugs.size(), 6u);
  EXPECT_EQ(safe.op.inputs.size(), 3u);
  EXPECT_EQ(safe.op.rows, "T");
  EXPECT_EQ(&page_of_op("softmax"), &safe);
}

TEST(Pages, UnknownIdsNameTheNearest) {
  EXPECT_NE(message([] { page("softmax.save"); }).find("softmax.safe"), std::string::npos);
  EXPECT_NE(message([] { page_of_op("sofmax"); }).find("softmax"), std::string::npos);
  EXPECT_EQ(nearest("norm.rsm", {"softmax.safe", "norm.rms", "norm.layer"}, 1), std::vector<std::string>{"norm.rms"});
  EXPECT_EQ(suggest("x", {}), "(there are none)");
}

TEST(Rows, ATableOfAnotherVersionIsRefused) {
  const Row rows[] = {{"page", {"a.b", "a", "T", "p", ""}}, {"colour", {"red", "", "", "", ""}}};
  EXPECT_EQ(message([&] { pages_from(rows, 2); }), "table of pages: expected a known record, found colour");
  EXPECT_EQ(message([&] { pages_from(rows + 1, 1); }), "table of pages: expected a page first, found colour");
}

TEST(Options, ValuesAndBack) {
  SoftmaxOptions options;
  EXPECT_EQ(options.values(), (std::vector<double>{0, 0, 0}));
  options.empty_row = SoftmaxOptions::EmptyRow::uniform;
  EXPECT_EQ(options.values(), (std::vector<double>{0, 0, 2}));
  EXPECT_EQ(SoftmaxOptions::from(options.values()), options);
  EXPECT_EQ(message([] { SoftmaxOptions::from({0, 0}); }), "options of softmax: expected 3 values, found 2");
  for (double bad : {3.0, 0.5, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(message([&] {
                SoftmaxOptions::from({0, 0, bad});
              }).rfind("option empty_row of softmax: expected the index of one of zero, nan, uniform, found ", 0),
              0u);
}

TEST(Options, NumbersAndWordsOfCpp) {
  const std::string header = options_header(compile(good_path, good_page).page);
  EXPECT_NE(header.find("struct ToyNormOptions {"), std::string::npos);
  EXPECT_NE(header.find("enum class Gain { none, given, default_ };"), std::string::npos);
  EXPECT_NE(header.find("double eps = 1e-06;"), std::string::npos);
}

TEST(Pages, ADecisionGoesThroughTheTable) {
  const std::string table = chapter_table("norm", {compile(good_path, good_page).page});
  EXPECT_NE(table.find(R"({"decision", {"top_k")"), std::string::npos);
  const Row rows[] = {{"page", {"norm.toy", "norm", "Toy", "spec/norm/toy.md", ""}},
                      {"op", {"toy_norm", "T", "sigma", "", ""}},
                      {"output", {"y", "out", "T d", "", "output"}},
                      {"output", {"ids", "int32", "T 2", "", "chosen"}},
                      {"decision", {"top_k", "", "", "", ""}}};
  const Page page = pages_from(rows, sizeof rows / sizeof *rows).at(0);
  EXPECT_EQ(page.op.outputs.at(0).decision, "");
  EXPECT_EQ(page.op.outputs.at(1).decision, "top_k");
}

}  // namespace
}  // namespace assay::spec

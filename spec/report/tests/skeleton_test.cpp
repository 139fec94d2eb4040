#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "reference/core/error.hpp"
#include "spec/compiler/compile.hpp"
#include "spec/compiler/files.hpp"
#include "spec/lists.hpp"
#include "spec/page.hpp"
#include "spec/report/skeleton.hpp"

namespace assay::spec {
namespace {

namespace fs = std::filesystem;

// Folders of a test, removed afterwards.
struct Scratch {
  fs::path root = fs::temp_directory_path() / ("assay_skeleton_" + std::to_string(::getpid()));
  Scratch() {
    fs::remove_all(root);
    fs::create_directories(root / "spec");
    write_if_changed(root / "spec/page.schema.json", "{}");
  }
  ~Scratch() { fs::remove_all(root); }
};

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string written(std::string page) {
  for (std::size_t at; (at = page.find("TODO")) != std::string::npos;) page.replace(at, 4, "done");
  return page;
}

// With its TODOs written, the page compiles: every listed concept, with its claims and bugs as they stand in the lists.
TEST(Skeleton, ThePageOfEveryListedConceptCompiles) {
  for (const ListedConcept& one : lists().concepts) {
    const std::string path = one.chapter + "/" + one.id.substr(one.id.find('.') + 1);
    const std::vector<NewFile> files = skeleton(path);
    ASSERT_EQ(files.size(), 6u);
    EXPECT_EQ(files[0].path, "spec/" + path + ".md");
    const Compiled unwritten = compile(files[0].path, files[0].content);
    EXPECT_GE(unwritten.mistakes.size(), 4u);
    for (const Mistake& mistake : unwritten.mistakes) EXPECT_EQ(mistake.what.rfind("still to be written", 0), 0u);
    const Compiled compiled = compile(files[0].path, written(files[0].content));
    for (const Mistake& mistake : compiled.mistakes) ADD_FAILURE() << mistake.text();
    std::size_t claims = 0, traps = 0;
    for (const ListedClaim& claim : lists().claims) claims += claim.concept_id == one.id;
    for (const ListedTrap& trap : lists().traps) traps += trap.concept_id == one.id;
    EXPECT_EQ(compiled.page.claims.size(), claims);
    EXPECT_EQ(compiled.page.bugs.size(), traps);
    for (const ClaimSpec& claim : compiled.page.claims)
      EXPECT_NE(files[3].content.find("CLAIM(" + claim.id + ")"), std::string::npos);
  }
}

// The code of a new concept is accepted by the compiler, as it comes.
TEST(Skeleton, TheCodeCompiles) {
  const Scratch scratch;
  create(scratch.root, "norm/toy", "toy_norm");
  const Compiled page = compile("spec/norm/toy.md", written(read_file(scratch.root / "spec/norm/toy.md")));
  write_if_changed(scratch.root / "spec/norm/toy.hpp", options_header(page.page));
  const std::set<std::string> files = {"reference/norm/toy.cpp", "conformance/norm/toy.cpp",
                                       "conformance/norm/subject/toy_norm.cpp",
                                       "conformance/norm/second_opinion/toy_norm.cpp"};
  for (const std::string& file : files) {
    const std::string command = std::string(ASSAY_CXX) +
                                " -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I" +
                                scratch.root.string() + " -I" ASSAY_SOURCE_DIR " " + (scratch.root / file).string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

// Without a bug in the lists, the page shows what one looks like; uncommented, it compiles.
TEST(Skeleton, ABugIsShown) {
  std::string page = written(skeleton("norm/toy").front().content);
  const std::string shown[] = {"# bugs:  what `dies` means is in CONTRIBUTING.md\n", "\n#   NAME: {"},
                    as[] = {"bugs:\n", "\n  name: {"};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t at = page.find(shown[i]);
    ASSERT_NE(at, std::string::npos) << page;
    page.replace(at, shown[i].size(), as[i]);
  }
  const Compiled compiled = compile("spec/norm/toy.md", page);
  for (const Mistake& mistake : compiled.mistakes) ADD_FAILURE() << mistake.text();
  EXPECT_EQ(compiled.page.bugs.size(), 1u);
}

TEST(Skeleton, NothingIsOverwritten) {
  const Scratch scratch;
  write_if_changed(scratch.root / "conformance/norm/subject/norm_toy.cpp", "mine");
  EXPECT_EQ(message([&] { create(scratch.root, "norm/toy"); }),
            "nothing is overwritten: conformance/norm/subject/norm_toy.cpp exists");
  EXPECT_FALSE(fs::exists(scratch.root / "spec/norm/toy.md"));
  EXPECT_EQ(read_file(scratch.root / "conformance/norm/subject/norm_toy.cpp"), "mine");
}

TEST(Skeleton, BadNamesAreRefused) {
  EXPECT_EQ(message([] { skeleton("norms/toy"); }).rfind("the chapter: expected one like norm, ", 0), 0u);
  EXPECT_EQ(message([] { skeleton("norm/to-y"); }).rfind("the new concept: expected CHAPTER/CONCEPT", 0), 0u);
  EXPECT_EQ(skeleton("norm.toy").front().path, "spec/norm/toy.md");  // the id serves as well
  EXPECT_EQ(message([] { skeleton("norm"); }).rfind("the new concept: expected CHAPTER/CONCEPT", 0), 0u);
  EXPECT_EQ(message([] { skeleton("norm/toy", "2d"); }).rfind("the new op: expected a name", 0), 0u);
  EXPECT_EQ(message([] { create("/", "norm/toy"); }).rfind("the root of the project: expected a folder", 0), 0u);
}

TEST(Skeleton, TheOpOfAnotherPageIsUsed) {
  const std::vector<NewFile> files = skeleton("softmax/toy", "softmax");
  ASSERT_EQ(files.size(), 4u);
  const Compiled compiled = compile(files[0].path, written(files[0].content));
  for (const Mistake& mistake : compiled.mistakes) ADD_FAILURE() << mistake.text();
  EXPECT_EQ(compiled.page.uses, "softmax");
  std::vector<Page> all = pages();
  all.push_back(compiled.page);
  for (const Mistake& mistake : check_together(all)) ADD_FAILURE() << mistake.text();
}

}  // namespace
}  // namespace assay::spec

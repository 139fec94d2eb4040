#include <gtest/gtest.h>

#include <map>

#include "spec/compiler/files.hpp"
#include "spec/compiler/read_lists.hpp"

namespace assay::spec {
namespace {

using Files = std::map<std::string, std::string>;

Files small_lists() {
  return {{"concepts", "# c\nn.rms\tnorm\tbase.md\t1\tnorm.rms\nn.old\t-\tbase.md\t2\t-\n"},
          {"claims", "norm.rms\tnorm.rms.sign\texact\ttarget\todd\nnorm.rms\tnorm.rms.odd\texact\ttarget\todd\n"},
          {"traps", "norm.rms\teps_outside\teps after the root\tsomewhere\n"},
          {"mission", "A RMS Norm\tn.rms\n"},
          {"changes", "claim\tnorm.rms.odd\tmerged\tnorm.rms.sign\tthe same\n"}};
}

struct Bad {
  const char *file, *line, *message;
};

const Bad bad_lines[] = {
    {"concepts", "n.x\tnorms\tb\t1\tnorms.x", "spec/concepts.tsv:4: expected one of numerics"},
    {"concepts", "n.x\tnorm\tb\t1\tmlp.x", "spec/concepts.tsv:4: \"mlp.x\" is not in chapter norm"},
    {"concepts", "n.x\tnorm\tb\t1\tnorm.rms", "spec/concepts.tsv:4: \"norm.rms\" is listed twice"},
    {"concepts", "n.x\tnorm\tb\tnorm.x", "spec/concepts.tsv:4: expected 5 columns between tabs, found 4"},
    {"claims", "norm.rms\tnorm.rms.x-y\texact\ttarget\tz", "spec/claims.tsv:3: an id is words of a-z"},
    {"claims", "norm.rms\tnorm.rms.sign\texact\ttarget\tz", "spec/claims.tsv:3: \"norm.rms.sign\" is listed twice"},
    {"claims", "norm.rsm\tnorm.rsm.x\texact\ttarget\tz", "spec/claims.tsv:3: \"norm.rsm\" is not in spec/concepts.tsv"},
    {"claims", "norm.rms\tnorm.x\texact\ttarget\tz", "spec/claims.tsv:3: \"norm.x\" is not a claim of norm.rms"},
    {"claims", "norm.rms\tnorm.rms.x\texactly\ttarget\tz", "spec/claims.tsv:3: expected one of exact, "},
    {"claims", "norm.rms\tnorm.rms.x\texact\t \tz", "spec/claims.tsv:3: a column is empty"},
    {"traps", "norm.rms\teps_outside\tx\ty", "spec/traps.tsv:2: \"norm.rms.eps_outside\" is listed twice"},
    {"mission", "B old\tn.old", "spec/mission.tsv:2: \"n.old\" is not the catalogue id of a concept"},
    {"changes", "claim\tnorm.rms.x\tdropped\t-\tz", "spec/changes.tsv:2: \"norm.rms.x\" is not in spec/claims.tsv"},
    {"changes", "trap\tnorm.rms.eps_outside\tdropped\tx\tz", "spec/changes.tsv:2: what is dropped goes into nothing"},
    {"changes", "trap\tnorm.rms.eps_outside\tmerged\t-\tz", "spec/changes.tsv:2: expected the id that takes its place"},
    {"changes", "trap\tnorm.rms.eps_outside\tforgotten\t-\tz", "spec/changes.tsv:2: expected one of merged, dropped"},
    {"changes", "trap\tnorm.rms.eps_outside\tdropped\t-\t ", "spec/changes.tsv:2: a column is empty"},
    {"changes", "claim\tnorm.rms.sign\taltered\trounding", "spec/changes.tsv:2: expected 5 columns"},
    {"changes", "claim\tnorm.rms.sign\taltered\trounding\tz", "spec/changes.tsv:2: expected one of definition, target"},
    {"changes", "claim\tnorm.rms.odd\tdropped\t-\tz", "spec/changes.tsv:2: \"norm.rms.odd\" is listed twice"},
};

TEST(Lists, EveryBadLineIsRefused) {
  EXPECT_TRUE(read_lists(small_lists()).mistakes.empty());
  for (const Bad& bad : bad_lines) {
    Files files = small_lists();
    files[bad.file] += std::string(bad.line) + "\n";
    std::string found;
    for (const Mistake& mistake : read_lists(files).mistakes) found += mistake.text() + "\n";
    EXPECT_NE(("\n" + found).find(std::string("\n") + bad.message), std::string::npos)
        << bad.line << "\nexpected " << bad.message << "\nfound    " << found;
  }
  Files files = small_lists();
  files["traps"] = "# nothing\n";
  EXPECT_EQ(read_lists(files).mistakes.at(0).text(), "spec/traps.tsv:1: the list is empty");
}

TEST(Lists, MissionItemsNameFinalIds) {
  const Lists read = read_lists(small_lists()).lists;
  EXPECT_EQ(read.concepts.size(), 1u);
  EXPECT_EQ(read.mission.at(0).concept_ids, std::vector<std::string>{"norm.rms"});
}

TEST(Lists, TheTableHoldsThemAll) {
  Files files;
  for (const std::string name : {"concepts", "claims", "traps", "mission", "changes"})
    files[name] = read_file(std::string(ASSAY_SOURCE_DIR) + "/spec/" + name + ".tsv");
  const ReadLists read = read_lists(files);
  for (const Mistake& mistake : read.mistakes) ADD_FAILURE() << mistake.text();
  EXPECT_EQ(lists().concepts.size(), 300u);
  EXPECT_EQ(lists().claims.size(), 2703u);
  EXPECT_EQ(lists().traps.size(), 1270u);
  EXPECT_EQ(lists().mission.size(), 169u);
  EXPECT_EQ(lists().changes.size(), read.lists.changes.size());
  for (std::size_t i = 0; i < lists().claims.size(); ++i)
    EXPECT_EQ(lists().claims[i].says, read.lists.claims.at(i).says);
  for (std::size_t i = 0; i < lists().traps.size(); ++i) EXPECT_EQ(lists().traps[i].seen, read.lists.traps.at(i).seen);
}

}  // namespace
}  // namespace assay::spec

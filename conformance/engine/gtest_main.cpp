#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "conformance/engine/planted.hpp"
#include "conformance/engine/report/report.hpp"
#include "conformance/engine/suite.hpp"

// Every claim on every target as one GoogleTest case, so that ctest, IDEs and debuggers know them:
//   softmax.safe.accuracy.subject__bf16          a claim on a target (`:` is written `__`)
//   softmax.safe.universal.memory.subject__fp32  a universal claim on the concept's op
//   softmax.safe.finite_mask.planted__fp32       a planted bug that has to die under a contract
// Beside GoogleTest's own options: --target=NAME (again for more; default: reference, subject:fp32, subject:bf16,
// subject:fp16, planted:all). ASSAY_TIER is the tier (quick, default, thorough), ASSAY_SEED the seed.
namespace assay {
namespace {

RunOptions& run_options() {
  static RunOptions options;
  return options;
}

/// A target serves all tests on it: its worker is started once.
Target& shared_target(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Target>> all;
  auto& target = all[name];
  if (target == nullptr) target = make_target(name);
  return *target;
}

class ClaimTest : public testing::Test {
 public:
  ClaimTest(std::string target, Entry entry) : target_(std::move(target)), entry_(std::move(entry)) {}
  void TestBody() override {
    Report report;
    report.options.target = target_;
    report.options.run = run_options();
    Waivers waivers(shared_target(target_).waivers(), "");
    const Result r = waivers.run(*entry_.claim, *entry_.page, shared_target(target_), entry_.contract, run_options());
    if (r.verdict == Result::Verdict::failed) FAIL() << failure_text(report, r);
    if (r.verdict == Result::Verdict::broken) FAIL() << "broken: " << r.reason;
    if (r.verdict == Result::Verdict::not_offered) GTEST_SKIP() << "not offered: " << r.reason;
    if (r.verdict == Result::Verdict::waived) GTEST_SKIP() << "waived: " << r.waiver;
  }

 private:
  std::string target_;
  Entry entry_;
};

class KillTest : public testing::Test {
 public:
  explicit KillTest(PlantedCell cell) : cell_(std::move(cell)) {}
  void TestBody() override {
    const Kill k = run_cell(cell_, run_options());
    EXPECT_TRUE(k.dead) << kill_line(k);
  }

 private:
  PlantedCell cell_;
};

std::string test_name(std::string name) {
  for (std::size_t at = 0; (at = name.find(':', at)) != std::string::npos; at += 2) name.replace(at, 1, "__");
  return name;
}

/// "universal.memory(softmax)" belongs to no concept by itself.
std::string suite_name(const Entry& e) {
  return e.claim->page == nullptr ? e.page->id + "." + e.claim->id : e.claim->id;
}

void register_claims(const std::string& name) {
  SuiteOptions options;
  options.target = name;
  const std::vector<Entry> entries = plan(options, shared_target(name));
  std::map<std::string, int> contracts;
  for (const Entry& e : entries) ++contracts[suite_name(e)];
  for (const Entry& e : entries) {
    std::string test = test_name(name);
    if (contracts[suite_name(e)] > 1) test += "__" + e.contract.spell();
    testing::RegisterTest(suite_name(e).c_str(), test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name, e]() -> testing::Test* { return new ClaimTest(name, e); });
  }
}

void register_bugs() {
  for (const PlantedCell& c : planted_cells("*")) {
    testing::RegisterTest((c.page->id + "." + c.bug->name).c_str(), ("planted__" + c.at.contract).c_str(), nullptr,
                          nullptr, __FILE__, __LINE__, [c]() -> testing::Test* { return new KillTest(c); });
  }
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto variable = [](const char* name, const char* otherwise) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr || *text == '\0' ? otherwise : text);
  };
  run_options().tier_of = tier(variable("ASSAY_TIER", "default"));
  run_options().seed = std::stoull(variable("ASSAY_SEED", "1"));
  std::vector<std::string> targets;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--target=")) throw Error("unknown argument", "--target=NAME", word);
    targets.push_back(word.substr(9));
  }
  if (targets.empty()) targets = {"reference", "subject:fp32", "subject:bf16", "subject:fp16", "planted:all"};
  for (const std::string& t : targets) t == "planted:all" ? register_bugs() : register_claims(t);
  const int failed = RUN_ALL_TESTS();
  // GoogleTest finds nothing wrong with a filter that selects nothing.
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (all.test_to_run_count() == 0 && !testing::GTEST_FLAG(list_tests)) {
    fmt::print(stderr, "no test is selected by --gtest_filter={}\n", testing::GTEST_FLAG(filter));
    return 3;
  }
  if (all.test_to_run_count() == all.skipped_test_count() && !testing::GTEST_FLAG(list_tests)) {
    fmt::print(stderr, "every selected test was skipped: the target offers nothing of it\n");
    return 3;
  }
  return failed;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "assay_claims_tests: {}\n", e.what());
    return 2;
  }
}

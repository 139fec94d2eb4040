#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/assay/tests/command.hpp"

namespace assay {
namespace {

const std::string reference = "assay run --target reference --tier quick --concept softmax.safe ";

void expect(const std::string& line, int code, const std::string& says) {
  const Ran ran = shell(line);
  EXPECT_EQ(ran.code, code) << line << "\n" << ran.text;
  EXPECT_NE(ran.text.find(says), std::string::npos) << line << "\nwanted: " << says << "\n" << ran.text;
}

TEST(AssayRun, Passes) {
  expect(reference, 0, " 0 failed, 0 waived, 0 not offered, 0 broken; ");
  expect(reference + "--claim softmax.safe.sum1 --verbose", 0, "mask=given");
  expect(reference + "--claim 'softmax.safe.s*' --case 'T=1 n=4'", 0, "6 passed");
}

TEST(AssayRun, Fails) {
  const std::string bug = "assay run --target planted:softmax.finite_mask --concept softmax.safe --tier quick ";
  const Ran ran = shell(bug + "--claim softmax.safe.accuracy");
  EXPECT_EQ(ran.code, 1);
  for (const char* part :
       {"  what ", "  where ", "  expected ", "  got ", "  allowed ", "matches   planted bug finite_mask", "  case ",
        "  again     assay run --target planted:softmax.finite_mask"})
    EXPECT_NE(ran.text.find(part), std::string::npos) << part << "\n" << ran.text;
  // the command it names fails in the same way
  const auto at = ran.text.find("assay run --target planted");
  const Ran second = shell(ran.text.substr(at, ran.text.find('\n', at) - at));
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.text.find(" 1 cases"), std::string::npos) << second.text;
  expect(bug + "--claim softmax.safe.single", 0, "SURVIVES: no claim that ran noticed it");
  expect(bug + "--claim softmax.safe.single", 0, "softmax.safe.accuracy, which its page names, did not run");
  EXPECT_NE(ran.text.find("; softmax.safe.accuracy, which its page names, is one of them\n"), std::string::npos);
  EXPECT_EQ(ran.text.find("not offered by"), std::string::npos) << "a bug is of one op";
}

TEST(AssayRun, RefusesWrongUsage) {
  expect("assay run --target reference --concept softmax-safe", 2, "`-` is in no id");
  expect("assay run --target reference --concept 'Softmax.*'", 2, "`S` is in no id");
  expect(reference + "--claim softmax.safe.nothing", 2, "no claim of the chosen concepts matches");
  expect("assay run --target reference --concept 'nothing.*'", 2, "no concept matches");
  for (const char* wrong : {"0", "-1", "1000001", "many", "1.5", "99999999999999999999"})
    expect(reference + "--cases " + wrong, 2, "--cases");
  for (const char* wrong : {"-1", "x", "18446744073709551616", "1.5", "''"})
    expect(reference + "--seed " + wrong, 2, "--seed");
  for (const char* wrong : {"0/3", "4/3", "1", "1/0", "a/b", "1/99999", "-1/3"})
    expect(reference + "--shard " + wrong, 2, "--shard");
  expect("assay run --target reference --tier fast", 2, "no such tier");
  expect("assay run", 2, "--target");
  expect("assay run --target nothing", 2, "no such target");
  expect("assay run --target subject:fp99", 2, "fp99");
  expect(reference + "--nonsense", 2, "--nonsense");
  expect(reference + "--case T=99999", 2, "bad value of T");
  expect(reference + "--case T=1 --cases 5", 2, "excludes");
  expect(reference + "--json /no/such/folder/x.json", 2, "an existing folder");
  expect("assay", 2, "subcommand");
}

TEST(AssayStatus, VectorsAreThoseOnDisk) {
  const Folder f;
  const std::string status = "cd " + f.path + " && assay status --no-run --concept norm.rms";
  EXPECT_EQ(shell(status).text.find("missing  vectors"), std::string::npos) << "no project: what was there when built";
  std::filesystem::create_directories(f.path + "/spec");
  std::filesystem::create_directories(f.path + "/vectors/norm/rms");
  std::ofstream(f.path + "/spec/page.schema.json") << "{}";
  expect(status, 0, "missing  vectors: vectors/norm/rms");
  std::ofstream(f.path + "/vectors/norm/rms/x.safetensors") << "";
  EXPECT_EQ(shell(status).text.find("missing  vectors"), std::string::npos);
}

TEST(AssayRun, NothingRan) {
  expect(reference + "--shard 9999/10000", 3, "nothing ran");
  Folder f;
  std::ofstream(f.path + "/lib.so") << "no library";
  std::ofstream(f.path + "/lib.yaml")
      << "library: x\nplugin: lib.so\nops:\n  softmax: { contracts: [fp32], outputs: [p] }\n";
  expect("assay run --target plugin:" + f.path + "/lib.so", 3, "assay: ");
  expect("assay run --target plugin:" + f.path + "/missing.so", 2, "missing");
}

TEST(AssayRun, ShardsAreThePartsOfOneRun) {
  long long total = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const Ran ran = shell(reference + "--claim 'softmax.safe.*' --shard " + shard);
    EXPECT_EQ(ran.code, 0);
    total += std::stoll(ran.text.substr(ran.text.rfind('\n', ran.text.find(" passed, ")) + 1));
  }
  const Ran whole = shell(reference + "--claim 'softmax.safe.*'");
  EXPECT_EQ(total, std::stoll(whole.text.substr(whole.text.rfind('\n', whole.text.find(" passed, ")) + 1)));
}

TEST(AssayRun, WritesFiles) {
  Folder f;
  const std::string json = f.path + "/r.json", junit = f.path + "/r.xml";
  expect("assay run --target planted:all --concept softmax.safe --claim softmax.safe.empty_row --json " + json +
             " --junit " + junit,
         0, "planted bugs die where their page says");
  const auto read = [](const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  };
  EXPECT_NE(read(json).find("\"verdict\": \"dies\""), std::string::npos);
  EXPECT_NE(read(junit).find("planted softmax.flt_max_mask@bf16"), std::string::npos);
  std::size_t files = 0;
  for (const auto& e : std::filesystem::directory_iterator(f.path)) files += e.is_regular_file();
  EXPECT_EQ(files, 2U) << "no temporary is left";
}

}  // namespace
}  // namespace assay

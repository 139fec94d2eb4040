#include <gtest/gtest.h>

#include <fstream>

#include "tools/assay/tests/command.hpp"

namespace assay {
namespace {

TEST(VectorsCommand, GenerateVerifyAndTheirExitCodes) {
  const Folder folder;
  const std::string out = folder.path + "/v";
  const Ran made = shell("assay vectors generate 'norm.r*' --out " + out);
  EXPECT_EQ(made.code, 0) << made.text;
  EXPECT_NE(made.text.find("MB/s"), std::string::npos) << made.text;
  EXPECT_EQ(shell("assay vectors verify --regenerate " + out).code, 0);
  std::ofstream(out + "/norm/rms/t2_d1.bf16.safetensors", std::ios::app) << "x";
  const Ran wrong = shell("assay vectors verify " + out);
  EXPECT_EQ(wrong.code, 1) << wrong.text;
  EXPECT_NE(wrong.text.find("WRONG"), std::string::npos) << wrong.text;
  EXPECT_NE(wrong.text.find("t2_d1.bf16.safetensors"), std::string::npos) << wrong.text;
  EXPECT_EQ(shell("assay vectors generate softmax.unheard_of --out " + out).code, 2);
  EXPECT_EQ(shell("assay vectors verify " + folder.path).code, 2) << "no manifest";
  EXPECT_EQ(shell("assay vectors").code, 2);
}

TEST(VectorsCommand, ExportsFailingCases) {
  const Folder folder;
  const Ran ran =
      shell("assay run --target planted:softmax.finite_mask@bf16 --claim softmax.safe.accuracy --tier quick --export " +
            folder.path + "/cases");
  EXPECT_EQ(ran.code, 1) << ran.text;
  EXPECT_NE(ran.text.find("export    python3 "), std::string::npos) << ran.text;
  int scripts = 0, files = 0;
  for (const auto& item : std::filesystem::directory_iterator(folder.path + "/cases")) {
    scripts += item.path().extension() == ".py";
    files += item.path().extension() == ".safetensors";
  }
  EXPECT_EQ(scripts, 1);
  EXPECT_EQ(files, 1);
}

TEST(VectorsCommand, ExportsACaseByName) {
  const Folder folder;
  const std::string to = " --case 'T=2 d=3' --out " + folder.path;
  EXPECT_EQ(shell("assay vectors export --claim norm.rms.accuracy --contract bf16 --target subject:bf16" + to).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path + "/norm.rms.accuracy.t2_d3.bf16.py"));
  EXPECT_EQ(shell("assay vectors export --claim norm.rms.unheard_of" + to).code, 2);
}

}  // namespace
}  // namespace assay

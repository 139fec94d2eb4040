#include "vectors/verify.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "reference/core/error.hpp"
#include "reference/core/safetensors_convert.hpp"
#include "reference/core/sha256.hpp"
#include "vectors/generate.hpp"

namespace assay::vectors {
namespace {

namespace fs = std::filesystem;

const std::string victim = "softmax/safe/t2_n1.bf16.safetensors";

/// A folder with the vectors of two concepts, gone at the end.
class Verify : public ::testing::Test {
 protected:
  static fs::path temporary(const char* name) {
    return fs::temp_directory_path() / ("assay_" + std::string(name) + "_" + std::to_string(getpid()));
  }
  static void SetUpTestSuite() {
    fs::remove_all(temporary("made"));
    generate("softmax.safe", temporary("made"), [](const Progress&) {});
    generate("norm.rms", temporary("made"), [](const Progress&) {});
  }
  static void TearDownTestSuite() { fs::remove_all(temporary("made")); }
  void SetUp() override {
    dir_ = temporary("vectors");
    fs::remove_all(dir_);
    fs::copy(temporary("made"), dir_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(dir_); }

  /// What verification says, one text; "" if all is well.
  std::string said(bool regenerate = false) const {
    std::string text;
    for (const std::string& p : verify(dir_, regenerate, [](const std::string&) {}).problems) text += p + "\n";
    return text;
  }
  void expect_said(const std::string& part, bool regenerate = false) const {
    const std::string text = said(regenerate);
    EXPECT_NE(text.find(part), std::string::npos) << "said: " << text << "\nwanted: " << part;
  }
  std::string manifest() const {
    std::ifstream in(dir_ / manifest_name);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
  }
  void replace(const std::string& from, const std::string& to) const {
    std::string text = manifest();
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(dir_ / manifest_name) << text;
  }
  /// Changes a file and, as a forger would, its line in the manifest.
  template <class F>
  void forge(F change) const {
    const std::string before = sha256_file(dir_ / victim);
    SafetensorsFile file = read_safetensors(dir_ / victim);
    const auto size = fs::file_size(dir_ / victim);
    change(file);
    write_safetensors(dir_ / victim, file);
    ASSERT_EQ(fs::file_size(dir_ / victim), size);
    replace(before, sha256_file(dir_ / victim));
  }
  static RawTensor& tensor(SafetensorsFile& file, const std::string& name) {
    for (RawTensor& t : file.tensors) {
      if (t.name == name) return t;
    }
    throw Error("no tensor " + name);
  }

  fs::path dir_;
};

TEST_F(Verify, AcceptsWhatGenerateWrites) {
  EXPECT_EQ(said(true), "");
  const std::string before = manifest();
  generate("softmax.safe", dir_, [](const Progress&) {});
  EXPECT_EQ(manifest(), before) << "other concepts keep their lines, in order";
  EXPECT_THROW(generate("softmax.unheard_of", dir_, [](const Progress&) {}), Error);
}

TEST_F(Verify, StaleFilesGo) {
  fs::copy_file(dir_ / victim, dir_ / "softmax/safe/old.bf16.safetensors");
  replace("softmax/safe/t2_n1.bf16", "softmax/safe/old.bf16");
  expect_said(victim + ": not in the manifest");
  generate("softmax.safe", dir_, [](const Progress&) {});
  EXPECT_FALSE(fs::exists(dir_ / "softmax/safe/old.bf16.safetensors"));
  EXPECT_EQ(said(), "");
}

TEST_F(Verify, ABrokenManifestIsNotHalfKept) {
  std::ofstream(dir_ / manifest_name) << "<<<<<<< HEAD\n{";
  EXPECT_THROW(generate("softmax.safe", dir_, [](const Progress&) {}), Error) << "the lines of norm.rms would be lost";
  generate("*", dir_, [](const Progress&) {});
  EXPECT_EQ(said(), "");
}

TEST_F(Verify, NamesFileAndTensor) {
  forge([](SafetensorsFile& f) {
    tensor(f, "expected.p") = encode_tensor("expected.p", "F64", Tensor<double>(Shape{2, 1}, 0.5));
  });
  EXPECT_EQ(said(), "") << "only a new computation can tell";
  expect_said(victim + ": tensor expected.p, element 0: expected 1, found 0.5", true);
}

TEST_F(Verify, SeesAWiderAllowance) {
  forge([](SafetensorsFile& f) {
    tensor(f, "allowed.lse.bf16") = encode_tensor("allowed.lse.bf16", "F64", Tensor<double>(Shape{2}, 0.5));
  });
  expect_said(victim + ": tensor allowed.lse.bf16, element 0", true);
}

TEST_F(Verify, SeesMetadata) {
  forge([](SafetensorsFile& f) { f.metadata["case"] = "T=2 n=2"; });
  expect_said(victim + ": metadata key case: expected 'T=2 n=1', found 'T=2 n=2'");
}

TEST_F(Verify, SeesAFlippedBit) {
  std::fstream file(dir_ / victim, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char last = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(last);
  file.close();
  expect_said(victim + ": SHA-256");
}

TEST_F(Verify, SeesMissingAndCutFiles) {
  fs::resize_file(dir_ / victim, 100);
  expect_said(victim + ": bytes: expected");
  fs::remove(dir_ / victim);
  expect_said(victim);
}

TEST_F(Verify, SeesTheManifest) {
  replace("\"vectors\": ", "\"colour\": ");
  expect_said("schema: ");
}
TEST_F(Verify, SeesCounts) {
  replace("{\"norm.rms\":", "{\"norm.rms\":1");
  expect_said("counts do not follow");
}
TEST_F(Verify, SeesFlags) {
  replace("an input without elements", "something else");
  expect_said("flags do not follow");
}
TEST_F(Verify, SeesAFlagThatNothingDescribes) {
  replace("\"flags\":[\"single\"", "\"flags\":[\"double\"");
  expect_said("no flag of a vector has this name");
}
TEST_F(Verify, SeesAFlagThatIsNotTrue) {
  replace("\"flags\":[\"single\"", "\"flags\":[\"ragged\"");
  expect_said("is not what generate writes", true);
}
TEST_F(Verify, SeesAVectorThatIsLeftOut) {
  const std::string text = manifest();
  const auto at = text.find("    {\"id\":\"softmax.safe.t2_n1.bf16\""), end = text.find('\n', at);
  replace(text.substr(at, end - at + 1), "");
  expect_said("the manifest lacks it", true);
}
TEST_F(Verify, SeesAnotherSchema) {
  std::ofstream(dir_ / schema_name) << "{}";
  expect_said("not the schema of this assay");
}
TEST_F(Verify, RefusesWhatIsNoManifest) {
  std::ofstream(dir_ / manifest_name) << "{";
  EXPECT_THROW(said(), Error);
  fs::remove(dir_ / manifest_name);
  EXPECT_THROW(said(), Error);
}

}  // namespace
}  // namespace assay::vectors

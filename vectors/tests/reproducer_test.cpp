#include "vectors/reproducer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/case.hpp"
#include "conformance/engine/fill.hpp"
#include "conformance/engine/target.hpp"
#include "reference/core/safetensors_convert.hpp"
#include "vectors/vector.hpp"

namespace assay::vectors {
namespace {

namespace fs = std::filesystem;

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("assay_export_" + std::to_string(getpid()));
    fs::remove_all(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  static bool python() { return std::system("command -v python3 >/dev/null 2>&1") == 0; }
  /// Runs a script without site packages; its exit code, and what it printed.
  int run(const fs::path& script) {
    const fs::path out = dir_ / "out.txt";
    const int status = std::system(("python3 -I -S '" + script.string() + "' >'" + out.string() + "' 2>&1").c_str());
    printed_ = text(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string text(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
  }
  static Call call_of(const char* page_id, const char* spelling, const char* contract) {
    const Space space(page(page_id));
    return make_call(Case::parse(space, spelling), parse_contract(contract));
  }
  Reproducer answered(const Call& call, const std::string& target) const {
    const Answer a = make_target(target)->run(call, {});
    EXPECT_EQ(a.kind, Answer::Kind::ok) << a.message;
    return {"case", call, a.outputs, {{"target", target}, {"what", "a \"quoted\" \\ text"}}};
  }

  fs::path dir_;
  std::string printed_;
};

TEST_F(Export, Stems) {
  EXPECT_EQ(reproducer_stem("softmax.safe.sum1", "T=3 n=70 profile=ties", parse_contract("bf16")),
            "softmax.safe.sum1.t3_n70_profile_ties.bf16");
  EXPECT_EQ(reproducer_stem("universal.memory(linear)", "", parse_contract("bf16_out_fp32")),
            "universal.memory.linear.bf16_out_fp32");
}

TEST_F(Export, TheFileIsACompleteCase) {
  const Call call = call_of("softmax.safe", "T=2 n=9 profile=ties", "bf16");
  const fs::path script = export_case({"case", call, {}, {{"claim", "softmax.safe.accuracy"}}}, dir_);
  const SafetensorsFile file = read_safetensors(dir_ / "case.safetensors");
  check_vector(file, "case");
  EXPECT_EQ(input_digest(call_from_file(file, "case")), input_digest(call));
  EXPECT_EQ(file.metadata.at("claim"), "softmax.safe.accuracy");
  EXPECT_NE(text(script).find("claim: softmax.safe.accuracy"), std::string::npos);
}

TEST_F(Export, TheScriptTellsRightFromWrong) {
  if (!python()) GTEST_SKIP() << "python3 is not installed";
  const struct {
    const char *page, *spelling, *op_bug;
  } rows[] = {{"softmax.safe", "T=3 n=64 profile=constant", "softmax.bf16_reduction"},
              {"softmax.safe", "T=3 n=5 mask=given mask_is=empty_rows", "softmax.neg_inf_guard_missing"},
              {"norm.rms", "T=3 d=64 profile=normal", "rms_norm.truncate_to_bf16"},
              {"norm.rms", "T=3 d=65 cast=cast_mid", "rms_norm.sum_squares_bf16"},
              {"model.linear", "T=4 n_in=64 n_out=5 bias=given profile=positive", "linear.bias_per_split"}};
  int wrong = 0;
  for (const char* contract : {"fp32", "bf16", "fp16"}) {
    for (const auto& row : rows) {
      const Call call = call_of(row.page, row.spelling, contract);
      for (const std::string& target :
           {"subject:" + std::string(contract), "planted:" + std::string(row.op_bug) + "@" + contract}) {
        const Reproducer r = answered(call, target);
        const fs::path script = export_case(r, dir_);
        const SafetensorsFile file = read_safetensors(dir_ / "case.safetensors");
        const bool right = outside(file, call, *r.got, covers_of(file, "")[0]).empty();
        EXPECT_EQ(run(script), right ? 0 : 1) << target << "\n" << printed_;
        EXPECT_EQ(printed_.find("WRONG") == std::string::npos, right) << target << "\n" << printed_;
        EXPECT_TRUE(right || !target.starts_with("subject")) << row.spelling << contract;
        wrong += !right;
      }
    }
  }
  EXPECT_GT(wrong, 8);
}

TEST_F(Export, ThePlaceForAFunction) {
  if (!python()) GTEST_SKIP() << "python3 is not installed";
  const Call call = call_of("softmax.safe", "T=1 n=2 profile=constant", "fp16");
  const fs::path script = export_case({"case", call, {}, {}}, dir_);
  EXPECT_EQ(run(script), 3) << "nothing to judge: " << printed_;
  const std::string source = text(script), mark = "    return {name[4:]";
  const auto at = source.find(mark), end = source.find('\n', at);
  ASSERT_NE(at, std::string::npos);
  const auto with = [&](const std::string& body) {
    std::ofstream(script) << source.substr(0, at) + "    " + body + source.substr(end);
    return run(script);
  };
  EXPECT_EQ(with("return {\"p\": [0.5, 0.5]}"), 0) << printed_;
  EXPECT_EQ(with("return {\"p\": [0.5, 0.5 + 2**-11]}"), 1) << printed_;
  EXPECT_EQ(with("return {\"p\": [0.5, 0.5 - 2**-12]}"), 1) << "below a power of two: " << printed_;
  EXPECT_EQ(with("return {\"p\": [math.nan, 0.5]}"), 1) << printed_;
  EXPECT_EQ(with("return {\"p\": [math.inf, 0.5]}"), 1) << printed_;
  EXPECT_NE(with("return {\"p\": [0.5]}"), 0) << printed_;
  EXPECT_EQ(with("return {\"p\": [math.exp(x) / sum(map(math.exp, inputs[\"x\"][1])) for x in inputs[\"x\"][1]]}"), 0);
}

TEST_F(Export, RefusesWhatTheDefinitionRefuses) {
  Call call = call_of("norm.rms", "T=2 d=4", "fp32");
  call.set("w", Tensor<double>(Shape{5}, 1.0));
  EXPECT_THROW(export_case({"case", call, {}, {}}, dir_), Error);
}

}  // namespace
}  // namespace assay::vectors

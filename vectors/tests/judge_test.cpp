// Vectors are calls for `assay judge`: outputs that someone else computed lie beside them as NAME.out.safetensors.
#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance/engine/answers.hpp"
#include "conformance/engine/target.hpp"
#include "vectors/generate.hpp"

namespace assay::vectors {
namespace {

namespace fs = std::filesystem;

/// What the judge says of a target's outputs for the bf16 vectors of a concept.
std::vector<Result> judged(const std::string& concept_id, const std::string& target) {
  const fs::path dir = fs::temp_directory_path() / ("assay_judge_" + std::to_string(getpid()));
  fs::remove_all(dir);
  fs::create_directories(dir);
  const auto runs = make_target(target);
  for (const Written& w : make_vectors(page(concept_id))) {
    if (w.entry.contract != "bf16") continue;
    const std::string name = fs::path(w.entry.file).stem().string();
    write_bytes(dir / (name + ".safetensors"), w.bytes);
    SafetensorsFile answer;
    add_outputs(answer, runs->run(call_from_file(parse_safetensors(w.bytes, name), name), {}).outputs);
    write_safetensors(dir / (name + ".out.safetensors"), answer);
  }
  RunOptions options;
  options.tier_of = tier("default");
  Answers answers("files", options);
  judge_folder(answers, dir.string());
  fs::remove_all(dir);
  return answers.results();
}

TEST(Judge, TakesVectorsAsCalls) {
  for (const char* concept_id : {"softmax.safe", "norm.rms", "model.linear"}) {
    const auto results = judged(concept_id, "subject:bf16");
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].verdict, Result::Verdict::passed) << results[0].failure.what;
    EXPECT_EQ(results[0].concept_id, concept_id);
    EXPECT_GT(results[0].cases, 10);
  }
}

TEST(Judge, CatchesABugOnThem) {
  const auto results = judged("softmax.safe", "planted:softmax.thread_slice_neg_inf@bf16");
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].verdict, Result::Verdict::failed);
  EXPECT_NE(results[0].failing_case, "");
  EXPECT_NE(results[0].fingerprint.find("thread_slice_neg_inf"), std::string::npos) << results[0].fingerprint;
  ASSERT_NE(results[0].observed, nullptr);
}

}  // namespace
}  // namespace assay::vectors

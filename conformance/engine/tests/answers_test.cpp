#include "conformance/engine/answers.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "conformance/engine/frames.hpp"
#include "conformance/engine/tests/fake_target.hpp"

namespace assay {
namespace {

GenerateOptions softmax(int cases = 40) {
  GenerateOptions o;
  o.op = "softmax";
  o.contract = parse_contract("fp32");
  o.cases = cases;
  return o;
}

RunOptions run_options() {
  RunOptions o;
  o.tier_of = tier("default");
  return o;
}

/// What the honest subject, or one with a planted bug, answers to the calls.
std::vector<SafetensorsFile> answers_of(const std::string& target_name, const GenerateOptions& options = softmax()) {
  const auto target = make_target(target_name);
  std::vector<SafetensorsFile> all;
  generate_calls(options, [&](long long, long long, const SafetensorsFile& file) {
    SafetensorsFile answer;
    answer.metadata = file.metadata;
    add_outputs(answer, target->run(call_from_file(file, "call"), {}).outputs);
    all.push_back(answer);
  });
  return all;
}

Result judged(const std::vector<SafetensorsFile>& files) {
  Answers answers("stream", run_options());
  for (const SafetensorsFile& f : files) answers.take(f, "answer");
  return answers.results().at(0);
}

/// What taking the answers throws.
std::string refusal(const std::vector<SafetensorsFile>& files) {
  try {
    judged(files);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Answers, OfAnHonestProgramPass) {
  const Result r = judged(answers_of("subject:fp32"));
  EXPECT_EQ(r.verdict, Result::Verdict::passed);
  EXPECT_EQ(r.concept_id, "softmax.safe");
  EXPECT_EQ(r.cases, 40 + static_cast<long long>(page("softmax.safe").cases.corners.size()));
  EXPECT_GT(r.compared, 1000);
}

TEST(Answers, OfAWrongProgramFailAndAreNamed) {
  const Result r = judged(answers_of("planted:softmax.finite_mask@fp32"));
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_NE(r.fingerprint.find("planted bug finite_mask"), std::string::npos) << r.fingerprint;
  EXPECT_EQ(r.again, "assay gen softmax --contract 'in=fp32 acc=fp32 out=fp32' --case '" + r.failing_case +
                         "' | PROGRAM | assay judge");
}

TEST(Answers, ThatAreMissingBreakTheRun) {
  auto files = answers_of("subject:fp32");
  files.pop_back();
  const Result r = judged(files);
  EXPECT_EQ(r.verdict, Result::Verdict::broken);
  EXPECT_NE(r.reason.find("1 of "), std::string::npos) << r.reason;
}

TEST(Answers, AreToTheCallsThatWereSent) {
  const auto files = answers_of("subject:fp32");
  EXPECT_NE(refusal({files[0], files[0]}).find("answered before"), std::string::npos);
  for (const char* key : {"op", "concept", "case", "contract", "inputs", "number", "of"}) {
    auto changed = files;
    changed[1].metadata.erase(key);
    EXPECT_NE(refusal(changed), "") << key;
    changed[1].metadata[key] = "nonsense";
    EXPECT_NE(refusal(changed), "") << key;
  }
  auto swapped = files;  // the answer to another case
  swapped[1].metadata["case"] = swapped[2].metadata["case"];
  EXPECT_NE(refusal(swapped).find("are not those that were generated"), std::string::npos) << refusal(swapped);
}

TEST(Answers, MayCarryTheInputsUnchanged) {
  auto files = answers_of("subject:fp32");
  std::size_t i = 0;
  generate_calls(softmax(), [&](long long, long long, const SafetensorsFile& call) {
    for (const RawTensor& t : call.tensors) files[i].tensors.push_back(t);
    ++i;
  });
  EXPECT_EQ(judged(files).verdict, Result::Verdict::passed);
  for (RawTensor& t : files[5].tensors) {
    if (t.name == "in.x") t.data[0] ^= std::byte{1};
  }
  EXPECT_NE(refusal(files).find("tensor in.x: expected the input unchanged"), std::string::npos) << refusal(files);
}

TEST(Answers, OfAWrongShapeAreAVerdict) {
  auto files = answers_of("subject:fp32");
  for (RawTensor& t : files[2].tensors) {
    if (t.name == "out.lse") t.shape.push_back(1);
  }
  const Result r = judged(files);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_NE(r.failure.what.find("cannot be read"), std::string::npos) << r.failure.what;
}

TEST(CaseList, DrawsEveryOption) {
  const Space space(page("softmax.safe"));
  std::map<std::string, int> seen;
  for (const Case& c : list_cases(space, 300, 7)) ++seen[c.name_of("empty_row") + c.name_of("sink")];
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(list_cases(space, 3, 7).back().spell(), list_cases(space, 3, 7).back().spell());
  EXPECT_NE(list_cases(space, 3, 7).back().spell(), list_cases(space, 3, 8).back().spell());
}

TEST(Frames, ComeBack) {
  std::stringstream stream;
  const Bytes one(3, std::byte{7}), two(std::size_t{1} << 21, std::byte{9});
  write_frame(stream, one);
  write_frame(stream, two);
  FrameReader reader(stream);
  EXPECT_EQ(reader.next(), one);
  EXPECT_EQ(reader.next(), two);
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.read(), 2);
}

TEST(Frames, RefuseWhatIsNone) {
  for (const std::string& bytes : {std::string("abc"), std::string("text, not frames"), std::string(8, '\0'),
                                   std::string("\0\0\0\0\1\0\0\0", 8), std::string("\5\0\0\0\0\0\0\0xy", 10)}) {
    std::stringstream stream(bytes);
    FrameReader reader(stream);
    EXPECT_THROW(reader.next(), Error) << printable(bytes);
  }
}

}  // namespace
}  // namespace assay

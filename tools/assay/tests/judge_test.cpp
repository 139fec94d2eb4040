#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "reference/core/safetensors.hpp"
#include "tools/assay/tests/command.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

void expect(const std::string& line, int code, const std::string& says) {
  const Ran ran = shell(line);
  EXPECT_EQ(ran.code, code) << line << "\n" << ran.text;
  EXPECT_NE(ran.text.find(says), std::string::npos) << line << "\nwanted: " << says << "\n" << ran.text;
}

/// What a program would answer to the empty calls T=0 n=4: p without an element.
SafetensorsFile empty_answer() {
  SafetensorsFile file;
  file.tensors.push_back({"out.p", "F32", {0, 4}, {}});
  return file;
}

TEST(AssayGen, RefusesWrongUsage) {
  expect("assay gen nothing | cat", 0, "no page has an op of this name");
  expect("assay gen softmax --concept norm.rms --dir x", 2, "is not about op softmax");
  expect("assay gen softmax --contract fp99 --dir x", 2, "fp99");
  expect("assay gen softmax --cases -1 --dir x", 2, "--cases");
  expect("assay gen softmax --case T=99999 --dir x", 2, "bad value of T");
  Folder f;
  std::ofstream(f.path + "/other") << "x";
  expect("assay gen softmax --dir " + f.path, 2, "a new or empty folder");
}

TEST(AssayGen, IsTheSameEveryTime) {
  const std::string gen = "assay gen softmax --cases 50 --contract bf16 --seed ";
  const Ran once = shell(gen + "4 | sha256sum"), again = shell(gen + "4 | sha256sum"),
            other = shell(gen + "5 | sha256sum");
  EXPECT_EQ(once.text, again.text);
  EXPECT_NE(once.text, other.text);
}

TEST(AssayJudge, RefusesStreams) {
  expect("assay judge < /dev/null", 3, "no answer arrived");
  expect("echo hello, world | assay judge", 3, "does the program print text?");
  expect("printf abc | assay judge", 3, "8 bytes of length");
  expect("printf '\\377\\0\\0\\0\\0\\0\\0\\0x' | assay judge", 3, "255 bytes");
  expect("printf '\\1\\0\\0\\0\\0\\0\\0\\0x' | assay judge", 3, "answer 1");
  expect("assay judge /no/such/folder", 2, "no such folder");
}

TEST(AssayJudge, WantsAnAnswerToEveryCall) {
  // a program that sends the calls back has answered nothing
  expect("assay gen softmax --cases 20 | assay judge", 1, "no output");
  expect("assay gen softmax --cases 20 | head -c 3000 | assay judge", 1, "calls have no answer");
  // the second call twice
  expect("assay gen softmax --case 'T=1 n=1' > one; cat one one | assay judge; code=$?; rm one; exit $code", 1,
         "answered before");
}

TEST(AssayJudge, JudgesAFolder) {
  Folder f;
  const std::string calls = f.path + "/calls", name = calls + "/softmax_00001";
  ASSERT_EQ(shell("assay gen softmax --case 'T=0 n=4' --dir " + calls).code, 0);
  expect("assay judge " + calls, 3, "1 of 1 calls have no answer");
  write_safetensors(name + ".out.safetensors", empty_answer());
  expect("assay judge " + calls, 0, "1 passed");
  expect("assay run --target files:" + calls, 0, "output log_p, lse in no answer");
  expect("assay judge " + name + ".safetensors", 0, "1 passed");
  expect("assay run --target files:" + calls + " --cases 5", 2, "judges the answers that lie in DIR");

  SafetensorsFile wrong = empty_answer();
  wrong.tensors[0].shape = {0, 5};
  write_safetensors(name + ".out.safetensors", wrong);
  expect("assay judge " + calls, 1, "expected  [0, 4]");

  fs::rename(name + ".out.safetensors", calls + "/other.out.safetensors");
  expect("assay judge " + calls, 3, "an answer without a call");
}

TEST(AssayJudge, FindsAnswersThatAreWrong) {
  Folder f;
  const std::string calls = f.path + "/calls", name = calls + "/softmax_00001";
  ASSERT_EQ(shell("assay gen softmax --case 'T=1 n=1' --dir " + calls).code, 0);
  const auto answer = [&](float p) {
    SafetensorsFile file;
    Bytes bytes(4);
    std::memcpy(bytes.data(), &p, 4);
    file.tensors.push_back({"out.p", "F32", {1, 1}, bytes});
    write_safetensors(name + ".out.safetensors", file);
  };
  answer(1.0F);
  expect("assay judge " + calls, 0, "1 passed");
  answer(0.5F);
  expect("assay judge " + calls, 1, "again     assay judge " + name + ".safetensors");

  SafetensorsFile call = read_safetensors(name + ".safetensors");
  for (RawTensor& t : call.tensors) {
    if (t.name == "in.x") t.data[3] ^= std::byte{0x80};  // the sign
  }
  write_safetensors(name + ".safetensors", call);
  expect("assay judge " + calls, 3, "the inputs have changed since the file was written");
}

}  // namespace
}  // namespace assay

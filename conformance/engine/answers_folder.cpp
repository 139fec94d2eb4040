#include <algorithm>
#include <filesystem>

#include "conformance/engine/answers.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view suffix = ".safetensors", answer_suffix = ".out.safetensors";

fs::path answer_of(const fs::path& call) {
  const std::string text = call.string();
  return text.substr(0, text.size() - suffix.size()) + std::string(answer_suffix);
}

bool is_call(const fs::path& p) {
  const std::string name = p.filename().string();
  return name.ends_with(suffix) && !name.ends_with(answer_suffix);
}

void judge_one(Answers& answers, const fs::path& call) {
  const SafetensorsFile file = read_safetensors(call);
  if (fs::exists(answer_of(call)))
    answers.take(file, read_safetensors(answer_of(call)), call.string());
  else
    answers.unanswered(file, call.string());
}

}  // namespace

void judge_folder(Answers& answers, const std::string& path) {
  if (!fs::is_directory(path)) {
    if (!is_call(path)) throw Error("not a call's file", "NAME.safetensors; its answer is NAME.out.safetensors", path);
    return judge_one(answers, path);
  }
  std::vector<fs::path> calls;
  for (const fs::directory_entry& e : fs::directory_iterator(path)) {
    if (is_call(e.path())) calls.push_back(e.path());
  }
  for (const fs::directory_entry& e : fs::directory_iterator(path)) {
    if (!e.path().filename().string().ends_with(answer_suffix)) continue;
    if (std::none_of(calls.begin(), calls.end(), [&e](const fs::path& c) { return answer_of(c) == e.path(); }))
      throw Error("an answer without a call", "NAME.safetensors beside NAME.out.safetensors", e.path().string());
  }
  if (calls.empty()) throw Error("no call to judge", "NAME.safetensors as `assay gen --dir` writes it", path);
  std::sort(calls.begin(), calls.end());
  for (const fs::path& call : calls) judge_one(answers, call);
}

}  // namespace assay

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "conformance/engine/answers.hpp"
#include "conformance/engine/frames.hpp"
#include "tools/assay/command.hpp"
#include "tools/assay/report.hpp"

namespace assay::command {
namespace {

void judge_stream(Answers& answers) {
  std::ios::sync_with_stdio(false);
  FrameReader frames(std::cin);
  while (const auto bytes = frames.next()) {
    const std::string origin = "answer " + std::to_string(frames.read());
    answers.take(parse_safetensors(*bytes, origin), origin);
  }
  if (frames.read() == 0)
    throw Error("no answer arrived", "the stream of a program that answers `assay gen`", "nothing");
}

}  // namespace

int judge_answers(const std::string& path, const std::string& tier_name, const ReportFiles& files) {
  check_files(files);
  Report report;
  report.options.target = path.empty() ? "stream" : "files:" + path;
  report.options.run.tier_of = tier(tier_name);
  if (path.empty() && isatty(STDIN_FILENO) == 1)
    throw Error("standard input is a terminal", "assay gen OP ... | PROGRAM | assay judge, or assay judge DIR");
  if (!path.empty() && !std::filesystem::exists(path))
    throw Error("no such folder or call", "DIR, or DIR/NAME.safetensors", path);
  const auto start = std::chrono::steady_clock::now();
  Answers answers(report.options.target, report.options.run);
  std::string broken;  // what came before still counts
  try {
    path.empty() ? judge_stream(answers) : judge_folder(answers, path);
  } catch (const Error& e) {
    broken = e.what();
  }
  report.results = answers.results();
  report.not_offered = answers.not_offered();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Progress progress(true);
  for (std::size_t i = 0; i < report.results.size(); ++i)
    progress.line(claim_line(report.results[i], i + 1, report.results.size()), true);
  const int code = finish(report, files);
  if (broken.empty()) return code;
  fmt::print(stderr, "assay: {}\n", broken);
  return code == failed ? failed : nothing_ran;
}

void add_judge(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("judge", "Judges outputs that another program computed for the calls of `assay gen`");
  struct Arguments {
    std::string path, tier = "default";
    ReportFiles files;
  };
  auto a = std::make_shared<Arguments>();
  cmd->add_option(
      "dir", a->path,
      "folder of NAME.safetensors and NAME.out.safetensors, or one call (default: a stream on standard input)");
  cmd->add_option("--tier", a->tier, "quick, default or thorough: sets z");
  add_report_options(*cmd, a->files);
  cmd->callback([a, &exit_code] { exit_code = judge_answers(a->path, a->tier, a->files); });
}

}  // namespace assay::command

#include "tools/assay/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <span>

#include "reference/core/file_io.hpp"
#include "vectors/reproducer.hpp"

namespace assay::command {
namespace {

void write_text(const std::string& path, const std::string& text) {
  write_bytes(path, std::as_bytes(std::span(text.data(), text.size())));
}

/// What fits on one line of the terminal; a longer one could not be taken back.
constexpr std::size_t terminal_width = 79;

/// Every failing case as files that stand alone.
void export_failures(const Report& report, const std::string& folder) {
  for (const Result& r : report.results) {
    if (r.verdict != Result::Verdict::failed) continue;
    if (r.observed == nullptr) {
      fmt::print("export    {}: nothing to export, the target did not answer\n", r.claim);
      continue;
    }
    const Call& call = r.observed->call;
    vectors::Reproducer e{
        vectors::reproducer_stem(r.claim, r.failing_case, call.contract), call, r.observed->outputs, {}};
    e.about = {{"claim", r.claim},         {"says", r.says},
               {"case", r.failing_case},   {"target", r.target},
               {"what", r.failure.what},   {"where", r.failure.where},
               {"matches", r.fingerprint}, {"again", r.again.empty() ? again(report, r) : r.again}};
    try {
      fmt::print("export    python3 {}\n", shell_quoted(vectors::export_case(e, folder).string()));
    } catch (const Error& error) {  // a definition may refuse the call that a property made
      fmt::print("export    {}: {}\n", r.claim, error.what());
    }
  }
}

}  // namespace

void add_report_options(CLI::App& cmd, ReportFiles& files) {
  cmd.add_option("--json", files.json, "also write the report as JSON (schema: conformance/engine/report.schema.json)");
  cmd.add_option("--junit", files.junit, "also write the report as JUnit XML");
  cmd.add_option("--export", files.cases,
                 "folder for each failing case: a safetensors file and a Python script that needs nothing else");
  cmd.add_flag("--verbose", files.verbose, "keep every line on a terminal; show how often each option value was drawn");
}

void check_files(const ReportFiles& files) {
  for (const std::string& path : {files.json, files.junit}) {
    if (path.empty()) continue;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      throw Error("cannot write " + path, "an existing folder", folder.string());
    if (std::filesystem::is_directory(path)) throw Error("cannot write " + path, "a file name", "a folder");
  }
}

Progress::Progress(bool keep_all) : terminal_(isatty(STDOUT_FILENO) == 1), keep_all_(keep_all) {}

void Progress::line(const std::string& text, bool keep) {
  if (!terminal_) {
    fmt::print("{}\n", text);
  } else if (keep || keep_all_) {
    fmt::print("\r\033[K{}\n", text);
  } else {
    fmt::print("\r\033[K{}", text.substr(0, terminal_width));
  }
  std::fflush(stdout);
}

void Progress::done() {
  if (terminal_) fmt::print("\r\033[K");
}

int finish(Report& report, const ReportFiles& files) {
  fmt::print("{}", summary_text(report, files.verbose));
  if (!files.json.empty()) write_text(files.json, json_text(report));
  if (!files.junit.empty()) write_text(files.junit, junit_text(report));
  if (!files.cases.empty()) export_failures(report, files.cases);
  return exit_code(report);
}

CLI::Validator seed_check() {
  return {[](std::string& text) {
            std::uint64_t v = 0;
            const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
            const bool whole = r.ec == std::errc() && r.ptr == text.data() + text.size();
            return whole ? std::string() : "expected a whole number from 0 to 2^64 - 1, found " + text;
          },
          "UINT"};
}

void check_glob(const std::string& option, const std::string& glob) {
  for (const char ch : glob) {
    if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || ch == '*' || ch == '?')
      continue;
    throw Error(option + ": `" + std::string(1, ch) +
                    "` is in no id: ids are words of a-z, 0-9 and _ joined by dots, as in softmax.safe.sum1",
                "an id, or a glob with * and ?", printable(glob));
  }
  if (glob.empty()) throw Error(option + " is empty", "an id, or a glob with * and ?");
}

}  // namespace assay::command

#pragma once
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "conformance/engine/report/report.hpp"

// What the subcommands that judge have in common: --json, --junit, --verbose, the table with its progress.
namespace assay::command {

struct ReportFiles {
  std::string json, junit, cases;  // cases: folder for failing cases that stand alone
  bool verbose = false;
};
void add_report_options(CLI::App& cmd, ReportFiles& files);
/// Refuses a place where no file can be written before anything runs. Throws Error.
void check_files(const ReportFiles& files);

/// Lines of a table: printed one below the other, or on a terminal one line that changes, where only lines worth
/// keeping stay.
class Progress {
 public:
  explicit Progress(bool keep_all);
  void line(const std::string& text, bool keep);
  void done();

 private:
  bool terminal_, keep_all_;
};

/// Prints the summary, writes the files and gives the exit code.
int finish(Report& report, const ReportFiles& files);

/// Judges answers in a folder, or from standard input if `path` is empty: `assay judge` and the target files:DIR.
int judge_answers(const std::string& path, const std::string& tier_name, const ReportFiles& files);

/// Of --seed: a whole number from 0 to 2^64 - 1.
CLI::Validator seed_check();

/// Throws Error, with the reason, unless the text is a glob over ids: a-z, 0-9, _ and . of ids, * and ?.
void check_glob(const std::string& option, const std::string& glob);

}  // namespace assay::command

#pragma once
#include <CLI/CLI.hpp>

namespace assay::command {

/// Exit codes of the command.
enum Exit { passed = 0, failed = 1, usage = 2, nothing_ran = 3 };

/// Each adds its subcommand; the callback leaves the exit code in `exit_code`.
void add_run(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app);
void add_gen(CLI::App& app);
void add_judge(CLI::App& app, int& exit_code);
void add_list(CLI::App& app);
void add_new(CLI::App& app);
void add_status(CLI::App& app, int& exit_code);
void add_mutate(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_vectors(CLI::App& app, int& exit_code);

}  // namespace assay::command

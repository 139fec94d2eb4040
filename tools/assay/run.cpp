#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "conformance/engine/planted.hpp"
#include "conformance/engine/suite.hpp"
#include "tools/assay/command.hpp"
#include "tools/assay/report.hpp"

namespace assay::command {
namespace {

struct Arguments {
  SuiteOptions suite;
  ReportFiles files;
  std::string tier = "default", shard = "1/1", launch;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// "2/5": the second of five parts.
void read_shard(const std::string& text, SuiteOptions& suite) {
  const auto slash = text.find('/');
  const auto whole = [](std::string_view s, int& v) {
    const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
    return r.ec == std::errc() && r.ptr == s.data() + s.size();
  };
  int index = 0, of = 0;
  if (slash == std::string::npos || !whole(std::string_view(text).substr(0, slash), index) ||
      !whole(std::string_view(text).substr(slash + 1), of) || of < 1 || of > 10000 || index < 1 || index > of)
    throw Error("--shard", "i/n with 1 <= i <= n <= 10000", text);
  suite.shard = index - 1;
  suite.shards = of;
}

/// A library that is there and cannot be used is a broken target, not a mistake of the caller.
struct BrokenTarget : Error {
  using Error::Error;
};
std::unique_ptr<Target> target_of(const std::string& name) {
  try {
    return make_target(name);
  } catch (const TargetMissing& e) {
    throw BrokenTarget(e.what());
  } catch (const Error& e) {
    if (name.starts_with("plugin:") && std::filesystem::exists(name.substr(7))) throw BrokenTarget(e.what());
    if (name.starts_with("kernel:") && std::filesystem::exists(name.substr(7, name.find('@') - 7)))
      throw BrokenTarget(e.what());
    throw;
  }
}

void run_kill_table(const Arguments& a, Report& report) {
  Progress progress(a.files.verbose);
  progress.line(kill_heading(), true);
  std::size_t at = 0;
  for (const PlantedCell& cell : planted_cells(a.suite.concept_glob)) {
    if (!matches(a.suite.claim_glob, cell.claim->id)) continue;
    if (static_cast<int>(at++ % static_cast<std::size_t>(a.suite.shards)) != a.suite.shard) continue;
    report.kills.push_back(run_cell(cell, a.suite.run));
    progress.line(kill_line(report.kills.back()), true);
  }
  progress.done();
  if (at == 0)
    throw Error("no planted bug of the chosen concepts is caught by a claim that matches", "a glob over claim ids",
                a.suite.claim_glob);
}

void run_claims(const Arguments& a, Report& report) {
  const auto target = target_of(a.suite.target);
  const auto planted = planted_bug(a.suite.target);
  fmt::print("{} on {}, tier {} (z = {:.1f}), seed {}\n",
             planted && a.suite.concept_glob == "*" ? planted->page->id : a.suite.concept_glob, target->name(), a.tier,
             a.suite.run.tier_of.z(), a.suite.run.seed);
  if (planted) fmt::print("planted: {}\n", planted->bug->says);
  Progress progress(a.files.verbose);
  report.results = run_suite(
      a.suite, *target,
      [&progress](const Result& r, std::size_t done, std::size_t all) {
        progress.line(claim_line(r, done, all), r.verdict != Result::Verdict::passed);
      },
      &report.waivers);
  progress.done();
  if (!planted) report.not_offered = not_offered(a.suite, *target);  // a bug is of one op, which is no lack
}

int run(Arguments& a) {
  if (!a.launch.empty()) {
    if (!a.suite.target.starts_with("kernel:") || a.suite.target.find('@') != std::string::npos)
      throw Error("--launch", "a target kernel:FILE.ptx", a.suite.target);
    a.suite.target += "@" + a.launch;
  }
  if (a.suite.target.starts_with("files:")) {
    if (a.suite.concept_glob != "*" || a.suite.claim_glob != "*" || a.suite.run.cases >= 0 ||
        !a.suite.run.only_case.empty() || a.shard != "1/1")
      throw Error("files:DIR judges the answers that lie in DIR", "no filter, --cases, --case or --shard with it",
                  a.suite.target);
    return judge_answers(a.suite.target.substr(6), a.tier, a.files);
  }
  a.suite.run.tier_of = tier(a.tier);
  a.suite.today = today();
  read_shard(a.shard, a.suite);
  check_glob("--concept", a.suite.concept_glob);
  check_glob("--claim", a.suite.claim_glob);
  check_files(a.files);
  const auto start = std::chrono::steady_clock::now();
  Report report;
  const bool table = a.suite.target == "planted:all";
  if (table && (!a.suite.run.only_case.empty() || a.suite.run.cases >= 0))
    throw Error("planted:all runs the cases that the pages declare", "a target of one bug with --case and --cases",
                "planted:all");
  table ? run_kill_table(a, report) : run_claims(a, report);
  report.options = a.suite;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return finish(report, a.files);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("run", "Asks a target the claims of the pages");
  auto a = std::make_shared<Arguments>();
  cmd->add_option("--target", a->suite.target,
                  "reference, subject:CONTRACT, planted:OP.BUG[@CONTRACT], planted:all, plugin:FILE.so, ranks:threads, "
                  "ptx:ARCH, cuda, kernel:FILE.ptx, files:DIR (`assay list targets`, `assay list contracts`)")
      ->required();
  cmd->add_option("--launch", a->launch, "how kernel:FILE.ptx is launched: a launch file (default: FILE.yaml)");
  cmd->add_option("--concept", a->suite.concept_glob, "only concepts whose id matches this glob");
  cmd->add_option("--claim", a->suite.claim_glob, "only claims whose id matches this glob");
  cmd->add_option("--tier", a->tier, "quick, default or thorough");
  auto* cases = cmd->add_option("--cases", a->suite.run.cases, "random cases per claim, instead of the tier's")
                    ->check(CLI::Range(1, 1000000));
  cmd->add_option("--seed", a->suite.run.seed, "seed of the random cases")->check(seed_check());
  cmd->add_option("--shard", a->shard, "i/n: only the i-th of n parts, i from 1");
  cmd->add_option("--case", a->suite.run.only_case, "run just this case, as a failure spells it")->excludes(cases);
  add_report_options(*cmd, a->files);
  cmd->callback([a, &exit_code] {
    try {
      exit_code = run(*a);
    } catch (const BrokenTarget& e) {
      fmt::print(stderr, "assay: {}\n", e.what());
      exit_code = nothing_ran;
    }
  });
}

}  // namespace assay::command

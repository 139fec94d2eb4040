#include <fmt/format.h>

#include "conformance/engine/planted.hpp"
#include "conformance/engine/suite.hpp"
#include "tools/assay/command.hpp"

namespace assay::command {
namespace {

const char* word(Result::Verdict v) {
  switch (v) {
    case Result::Verdict::passed:
      return "pass";
    case Result::Verdict::failed:
      return "FAIL";
    case Result::Verdict::not_offered:
      return "not offered";
    case Result::Verdict::broken:
      break;
  }
  return "BROKEN";
}

void print_failure(const Result& r) {
  fmt::print("\n{}  on {} ({})\n", r.claim, r.target, r.contract);
  if (!r.says.empty()) fmt::print("  claim     {}\n", r.says);
  fmt::print("  what      {}\n", r.failure.what);
  if (!r.failure.where.empty()) fmt::print("  where     {}\n", r.failure.where);
  if (!r.failure.expected.empty()) fmt::print("  expected  {}\n", r.failure.expected);
  if (!r.failure.got.empty()) fmt::print("  got       {}\n", r.failure.got);
  if (!r.failure.allowed.empty()) fmt::print("  allowed   {}\n", r.failure.allowed);
  if (!r.fingerprint.empty()) fmt::print("  matches   {}\n", r.fingerprint);
  fmt::print("  case      {}\n", r.failing_case);
  fmt::print("  again     assay run --target {} --claim {} --case '{}'\n", r.target,
             r.claim.substr(0, r.claim.find('(')), r.failing_case);
}

struct Arguments {
  SuiteOptions suite;
  std::string tier = "default", shard;
};

int run_kill_table(Arguments& a) {
  fmt::print("{:14} {:24} {:10} {:10} {:30} {}\n", "op", "planted bug", "contract", "tier", "claim", "");
  int alive = 0;
  const auto kills = run_planted(a.suite.concept_glob, a.suite.run, [&alive](const Kill& k) {
    alive += !k.dead;
    fmt::print("{:14} {:24} {:10} {:10} {:30} {}\n", k.op, k.bug, k.contract, k.tier, k.claim,
               k.dead ? "dies    " + k.by_case : "SURVIVES");
  });
  fmt::print("\n{} of {} die where their page says\n", kills.size() - static_cast<std::size_t>(alive), kills.size());
  return alive == 0 ? passed : failed;
}

int run(Arguments& a) {
  a.suite.run.tier_of = tier(a.tier);
  if (a.suite.target == "planted:all") return run_kill_table(a);
  const auto target = make_target(a.suite.target);
  fmt::print("{} on {}, tier {} (z = {:.1f})\n", a.suite.concept_glob, target->name(), a.tier, a.suite.run.tier_of.z());
  const auto results = run_suite(a.suite, *target, [](const Result& r, std::size_t done, std::size_t all) {
    fmt::print("[{:3}/{}] {:11} {:44} {:8} cases {:6} z {:4.1f} {:6.2f} s {}\n", done, all, word(r.verdict), r.claim,
               r.cases, r.compared, r.largest_z, r.seconds, r.verdict == Result::Verdict::passed ? "" : r.reason);
  });
  int failed_count = 0, broken_count = 0, passed_count = 0, other = 0;
  for (const Result& r : results) {
    if (r.verdict == Result::Verdict::failed) {
      ++failed_count;
      print_failure(r);
    }
    broken_count += r.verdict == Result::Verdict::broken;
    passed_count += r.verdict == Result::Verdict::passed;
    other += r.verdict == Result::Verdict::not_offered;
  }
  fmt::print("\n{} passed, {} failed, {} not offered, {} broken\n", passed_count, failed_count, other, broken_count);
  if (failed_count > 0) return failed;
  return broken_count > 0 || passed_count == 0 ? nothing_ran : passed;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("run", "Asks a target the claims of the pages");
  auto a = std::make_shared<Arguments>();
  cmd->add_option("--target", a->suite.target,
                  "reference, subject:CONTRACT, planted:OP.BUG[@CONTRACT], planted:all, plugin:FILE.so, files:DIR")
      ->required();
  cmd->add_option("--concept", a->suite.concept_glob, "only concepts whose id matches this glob");
  cmd->add_option("--claim", a->suite.claim_glob, "only claims whose id matches this glob");
  cmd->add_option("--tier", a->tier, "quick, default or thorough");
  cmd->add_option("--cases", a->suite.run.cases, "random cases per claim, instead of the tier's");
  cmd->add_option("--seed", a->suite.run.seed, "seed of the random cases");
  cmd->add_option("--case", a->suite.run.only_case, "run just this case, as a failure spells it");
  cmd->callback([a, &exit_code] { exit_code = run(*a); });
}

}  // namespace assay::command

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "conformance/engine/mutation.hpp"
#include "tools/assay/command.hpp"
#include "tools/assay/mutate_sync.hpp"

namespace assay::command {
namespace {

const char* word(MutantResult::Fate f) {
  switch (f) {
    case MutantResult::Fate::dead:
      return "dead";
    case MutantResult::Fate::reordered:
      return "reordered";
    case MutantResult::Fate::inert:
      return "inert";
    case MutantResult::Fate::explained:
      return "explained";
    case MutantResult::Fate::survives:
      break;
  }
  return "SURVIVES";
}

struct Arguments {
  MutationOptions options;
  std::string explained, json, sync;
  double at_least = 95;
  bool verbose = false;
};

nlohmann::ordered_json as_json(const std::vector<MutantResult>& results) {
  nlohmann::ordered_json j = nlohmann::ordered_json::array();
  for (const MutantResult& r : results) {
    j.push_back({{"op", r.op},
                 {"id", r.info.id},
                 {"line", r.info.line},
                 {"column", r.info.column},
                 {"kind", r.info.kind},
                 {"description", r.info.description},
                 {"source", r.info.source},
                 {"fate", word(r.fate)},
                 {"by", r.by},
                 {"reason", r.reason}});
  }
  return j;
}

int mutate(Arguments& a) {
  if (!a.sync.empty()) return mutate_sync({a.sync, a.options.op_glob, a.explained, a.options.sample, a.verbose});
  if (!a.explained.empty()) a.options.explained = read_explained(a.explained);
  const auto results = run_mutants(a.options, [&a](const MutantResult& r) {
    if (r.fate == MutantResult::Fate::survives || a.verbose) {
      fmt::print("{:9} {}.{:<4} line {:3}  {}\n                     {}\n", word(r.fate), r.op, r.info.id, r.info.line,
                 r.info.description, r.fate == MutantResult::Fate::dead ? r.by : r.info.source);
    }
    std::fflush(stdout);
  });
  std::map<std::string, std::map<std::string, int>> counts;
  for (const MutantResult& r : results) ++counts[r.op][word(r.fate)];
  bool good = true;
  fmt::print("\n{:16} {:>6} {:>6} {:>10} {:>9} {:>10} {:>7}  score of live mutants\n", "op", "all", "dead", "explained",
             "SURVIVES", "reordered", "inert");
  for (const auto& [op, score] : mutation_scores(results)) {
    auto& c = counts[op];
    int all = 0;
    for (const auto& [fate, n] : c) all += n;
    fmt::print("{:16} {:6} {:6} {:10} {:9} {:10} {:7}  {:.1f} %\n", op, all, c["dead"], c["explained"], c["SURVIVES"],
               c["reordered"], c["inert"], score);
    good = good && score >= a.at_least && c["SURVIVES"] == 0;
  }
  if (!a.json.empty()) {
    const std::string temporary = a.json + ".tmp";
    std::FILE* f = std::fopen(temporary.c_str(), "w");
    if (f == nullptr) throw Error("cannot write", "a writable path", a.json);
    fmt::print(f, "{}\n", as_json(results).dump(1));
    std::fclose(f);
    if (std::rename(temporary.c_str(), a.json.c_str()) != 0) throw Error("cannot rename", a.json, temporary);
  }
  return good ? passed : failed;
}

}  // namespace

void add_mutate(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("mutate", "Mutates the subjects mechanically and asks which mutants the claims kill");
  auto a = std::make_shared<Arguments>();
  cmd->add_option("OP", a->options.op_glob, "only ops, with --sync kernels, that match this glob");
  cmd->add_option(
      "--sync", a->sync,
      "ptx:ARCH: instead of the subjects, the synchronisation of our kernels on the PTX machine, each wait, "
      "arrival, commit, fence and barrier deleted or weakened");
  cmd->add_option("--sample", a->options.sample, "so many mutants of each op, evenly over its list; 0: all")
      ->check(CLI::Range(0, 100000));
  cmd->add_option("--cases", a->options.cases, "random cases per claim, after the corners")
      ->check(CLI::Range(0, 100000));
  cmd->add_option(
      "--explained", a->explained,
      "list of survivors that are explained (conformance/mutate/explained.tsv, gpu/target/sync/explained.tsv)");
  cmd->add_option("--at-least", a->at_least, "exit 1 below this score, in percent of live mutants")
      ->check(CLI::Range(0.0, 100.0));
  cmd->add_option("--json", a->json, "writes every mutant's fate to this file");
  cmd->add_flag("--verbose", a->verbose, "prints every mutant, not the survivors alone");
  cmd->footer("Exit code 1 if a live mutant survives unexplained, or a score is too low.");
  cmd->callback([a, &exit_code] { exit_code = mutate(*a); });
}

}  // namespace assay::command

#include <fmt/format.h>

#include <cstdio>

#include "gpu/target/sync/run.hpp"
#include "reference/core/error.hpp"
#include "tools/assay/mutate_sync.hpp"

namespace assay::command {
namespace {

const char* word(SyncResult::Fate fate) {
  return fate == SyncResult::Fate::killed ? "killed" : fate == SyncResult::Fate::explained ? "explained" : "SURVIVES";
}

struct Row {
  int all = 0, explained = 0, survives = 0;
  std::map<std::string, int> by;
};

}  // namespace

int mutate_sync(const SyncArguments& a) {
  if (!a.target.starts_with("ptx:")) throw Error("--sync", "ptx:ARCH", a.target);
  SyncOptions options;
  options.arch = a.target.substr(4);
  options.source_glob = a.glob;
  options.sample = a.sample;
  if (!a.explained.empty()) options.explained = read_explained_sync(a.explained);
  std::map<std::string, Row> table;
  bool good = true;
  run_sync_mutants(options, [&](const SyncResult& r) {
    Row& row = table[r.source];
    ++row.all;
    if (r.fate == SyncResult::Fate::killed) ++row.by[r.by];
    row.explained += r.fate == SyncResult::Fate::explained;
    row.survives += r.fate == SyncResult::Fate::survives;
    good = good && r.fate != SyncResult::Fate::survives;
    if (r.fate != SyncResult::Fate::survives && !a.verbose) return;
    fmt::print("{:9} {} PTX line {}, {}\n          {}\n", word(r.fate), r.mutant.entry, r.mutant.line, r.mutant.name(),
               r.by);
    std::fflush(stdout);
  });
  fmt::print("\n{:34} {:>13}  {:>9} {:>9}  by\n", a.target, "killed/total", "explained", "SURVIVES");
  for (const auto& [source, row] : table) {
    std::string by;
    for (const auto& [rule, n] : row.by) by += fmt::format("{}{} {}", by.empty() ? "" : ", ", n, rule);
    fmt::print("{:34} {:>13}  {:9} {:9}  {}\n", source,
               fmt::format("{}/{}", row.all - row.explained - row.survives, row.all), row.explained, row.survives, by);
  }
  return good ? passed : failed;
}

}  // namespace assay::command

#include <fmt/format.h>

#include <memory>

#include "tools/assay/command.hpp"

#ifdef ASSAY_HAVE_BENCHMARK
#include <benchmark/benchmark.h>

#include <map>
#include <nlohmann/json.hpp>

#include "conformance/engine/suite.hpp"
#include "reference/core/kernels.hpp"
#include "tools/bench/bench.hpp"

namespace assay::command {
namespace {

/// Keeps the median of the repetitions of every benchmark.
class Keep : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& r : runs) {
      if (r.run_type == Run::RT_Aggregate && r.aggregate_name == "median")
        seconds[r.run_name.function_name] = r.GetAdjustedRealTime() * 1e-9;
    }
  }
  std::map<std::string, double> seconds;
};

int bench(const std::string& glob, bool json) {
  std::vector<bench::Group> groups;
  for (auto make : {bench::matmul, bench::rows, bench::bound, bench::attention, bench::threads, bench::engine}) {
    bench::Group g = make();
    if (matches(glob, g.name)) groups.push_back(std::move(g));
  }
  if (groups.empty())
    throw Error("no group of benchmarks matches", "matmul, rows, bound, attention, threads, engine", glob);
  for (const bench::Group& g : groups) {
    for (const bench::Timed& t : g.timed) {
      benchmark::RegisterBenchmark(t.name.c_str(),
                                   [work = t.work](benchmark::State& state) {
                                     for (auto _ : state) work();
                                   })
          ->UseRealTime()
          ->MinTime(0.1)
          ->Repetitions(5)
          ->ReportAggregatesOnly(true);
    }
  }
  int argc = 1;
  std::string program = "assay";
  char* argv[] = {program.data()};
  benchmark::Initialize(&argc, argv);
  benchmark::SetBenchmarkFilter(".*");
  Keep keep;
  benchmark::RunSpecifiedBenchmarks(&keep);

  nlohmann::ordered_json report{{"isa", std::string(kernels::isa())},
                                {"timed", nlohmann::ordered_json::array()},
                                {"ratios", nlohmann::ordered_json::array()}};
  if (!json) fmt::print("instruction set {}; medians of 5 repetitions\n", kernels::isa());
  int missed = 0;
  for (const bench::Group& g : groups) {
    if (!json) fmt::print("\n{}\n", g.name);
    for (const bench::Timed& t : g.timed) {
      const double s = keep.seconds.at(t.name);
      report["timed"].push_back(
          {{"group", g.name}, {"name", t.name}, {"seconds", s}, {"amount", t.amount}, {"unit", t.unit}});
      if (!json) fmt::print("  {:44} {:>12.3f} us  {:>10.4g} {}/s\n", t.name, s * 1e6, t.amount / s, t.unit);
    }
    for (const bench::Ratio& r : g.ratios) {
      const double ratio = keep.seconds.at(r.numerator) / keep.seconds.at(r.denominator);
      const bool holds = r.at_least ? ratio >= r.limit : ratio <= r.limit;
      missed += !holds;
      report["ratios"].push_back({{"group", g.name},
                                  {"name", r.name},
                                  {"ratio", ratio},
                                  {"limit", r.limit},
                                  {"at_least", r.at_least},
                                  {"holds", holds}});
      if (!json)
        fmt::print("  {:55} {:8.3f}  ({} {:g}) {}\n", r.name, ratio, r.at_least ? "at least" : "at most", r.limit,
                   holds ? "" : "MISSED");
    }
  }
  if (json) fmt::print("{}\n", report.dump(2));
  return missed == 0 ? passed : failed;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("bench", "Times the kit itself; ratios of one run against their targets");
  auto glob = std::make_shared<std::string>("*");
  auto json = std::make_shared<bool>(false);
  cmd->add_option("GROUP", *glob, "matmul, rows, bound, attention, threads, engine, or a glob");
  cmd->add_flag("--json", *json, "for machines");
  cmd->callback([glob, json, &exit_code] { exit_code = bench(*glob, *json); });
}

}  // namespace assay::command
#else
namespace assay::command {

void add_bench(CLI::App& app, int& exit_code) {
  auto* cmd =
      app.add_subcommand("bench", "Times the kit itself (not in this build: Google Benchmark or Eigen was not found)");
  cmd->callback([&exit_code] {
    fmt::print(stderr,
               "assay: bench is not in this build: install libbenchmark-dev and libeigen3-dev (tools/setup --dev) and "
               "configure again\n");
    exit_code = nothing_ran;
  });
}

}  // namespace assay::command
#endif

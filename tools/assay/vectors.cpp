#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "reference/core/error.hpp"
#include "tools/assay/command.hpp"
#include "vectors/generate.hpp"
#include "vectors/verify.hpp"

// Golden vectors: generate, verify, export.
namespace assay::command {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void generate(const std::string& glob, const std::string& dir) {
  std::size_t vectors = 0, bytes = 0;
  const auto start = std::chrono::steady_clock::now();
  vectors::generate(glob, dir, [&vectors, &bytes](const vectors::Progress& p) {
    fmt::print("{:30} {:4} vectors {:9} bytes {:6.2f} s {:7.2f} MB/s\n", p.concept_id, p.vectors, p.bytes, p.seconds,
               static_cast<double>(p.bytes) / 1e6 / p.seconds);
    std::fflush(stdout);
    vectors += p.vectors;
    bytes += p.bytes;
  });
  const double seconds = seconds_since(start);
  fmt::print("{} vectors, {} bytes in {}: {:.2f} s, {:.2f} MB/s\n", vectors, bytes, dir, seconds,
             static_cast<double>(bytes) / 1e6 / seconds);
}

int verify(const std::string& dir, bool regenerate) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = vectors::verify(dir, regenerate, [](const std::string& what) {
    fmt::print("{}\n", what);
    std::fflush(stdout);
  });
  for (const std::string& problem : result.problems) fmt::print("WRONG  {}\n", problem);
  const double seconds = seconds_since(start);
  fmt::print("{} vectors, {} bytes, {} problems{}: {:.2f} s, {:.2f} MB/s\n", result.vectors, result.bytes,
             result.problems.size(), regenerate ? ", regenerated" : "", seconds,
             static_cast<double>(result.bytes) / 1e6 / seconds);
  if (!result.problems.empty()) return failed;
  return result.vectors == 0 ? nothing_ran : passed;
}

}  // namespace

void add_vectors(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("vectors", "Golden vectors: files with inputs, expected outputs and what is allowed");
  cmd->require_subcommand(1);

  struct Arguments {
    std::string glob = "*", dir = "vectors";
    bool regenerate = false;
  };
  auto a = std::make_shared<Arguments>();
  auto* make = cmd->add_subcommand("generate", "Writes the vectors of the pages, and the manifest");
  make->add_option("CONCEPT", a->glob, "only concepts whose id matches this glob; the others stay as they are");
  make->add_option("--out", a->dir, "folder of the vectors (default: vectors)");
  make->callback([a] { generate(a->glob, a->dir); });

  auto* check =
      cmd->add_subcommand("verify", "Checks digests, counts and contents against the manifest and its schema");
  check->add_option("DIR", a->dir, "folder of the vectors (default: vectors)");
  check->add_flag("--regenerate", a->regenerate, "computes every vector anew and compares bytes");
  check->callback([a, &exit_code] { exit_code = verify(a->dir, a->regenerate); });
}

}  // namespace assay::command

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "conformance/engine/case.hpp"
#include "conformance/engine/fill.hpp"
#include "conformance/engine/report/report.hpp"
#include "conformance/engine/target.hpp"
#include "tools/assay/command.hpp"
#include "vectors/generate.hpp"
#include "vectors/reproducer.hpp"
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

/// One case, with what a target answers if one is named.
void export_one(const std::string& claim, const std::string& spelling, const std::string& contract,
                const std::string& target, const std::string& dir) {
  const Page* found = nullptr;
  std::string says;
  for (const Page& p : pages()) {
    if (p.id == claim) found = &p;
    for (const ClaimSpec& c : p.claims) {
      if (c.id == claim) found = &p, says = c.says;
    }
  }
  if (found == nullptr)
    throw Error("no page has this claim", "the id of a claim or a concept (assay list claims)", claim);
  const Space space(*found);
  const Case c = Case::parse(space, spelling);
  const Call call = make_call(c, parse_contract(contract));
  vectors::Reproducer r{vectors::reproducer_stem(claim, c.spell(), call.contract), call, {}, {}};
  r.about = {{"claim", claim}, {"says", says}, {"case", c.spell()}, {"target", target}};
  if (!target.empty()) {
    const Answer answer = make_target(target)->run(call, {});
    if (answer.kind != Answer::Kind::ok)
      throw Error("target " + target + " does not answer the case", "", answer.message);
    r.got = answer.outputs;
  }
  fmt::print("python3 {}\n", shell_quoted(vectors::export_case(r, dir).string()));
}

}  // namespace

void add_vectors(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("vectors", "Golden vectors: files with inputs, expected outputs and what is allowed");
  cmd->require_subcommand(1);

  struct Arguments {
    std::string glob = "*", dir = "vectors";
    std::string claim, spelling, contract = "fp32", target, folder = ".";
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

  auto* one =
      cmd->add_subcommand("export", "One case as files that stand alone: safetensors, and Python that needs nothing");
  one->add_option("--claim", a->claim, "a claim or concept")->required();
  one->add_option("--case", a->spelling, "the case, as a failure spells it")->required();
  one->add_option("--contract", a->contract, "one of `assay list contracts`, or a contract spelled out (default fp32)");
  one->add_option("--target", a->target, "also what this target answers, as in `assay run`");
  one->add_option("--out", a->folder, "folder of the two files (default: here)");
  one->callback([a] { export_one(a->claim, a->spelling, a->contract, a->target, a->folder); });
}

}  // namespace assay::command

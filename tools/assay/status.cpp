#include "spec/report/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "conformance/engine/eval.hpp"
#include "conformance/engine/planted.hpp"
#include "conformance/engine/programs.hpp"
#include "conformance/engine/subject.hpp"
#include "conformance/engine/suite.hpp"
#include "gpu/runtime/kernels.hpp"
#include "tools/assay/command.hpp"

namespace assay::command {
namespace {

/// Runs a target's claims and notes which ran and passed.
void note_claims(const std::string& name, const RunOptions& options, spec::Facts& facts,
                 const std::string& concepts = "*") {
  SuiteOptions suite;
  suite.target = name;
  suite.concept_glob = concepts;
  suite.run = options;
  const auto target = make_target(name);
  for (const Result& r : run_suite(suite, *target, [](const Result&, std::size_t, std::size_t) {})) {
    if (r.cases > 0 && r.verdict == Result::Verdict::passed) facts.claims_ran.insert(r.claim);
  }
}

/// Whether the program was built with a group of ranks: the engine knows of none by itself.
bool is_built(const std::string& group) {
  try {
    make_target(group);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool any_programs() { return std::any_of(pages().begin(), pages().end(), runs_programs); }

/// The concepts with golden vectors below the folder this runs in, if that is the root of the project: what `assay
/// vectors generate` has just written is not in the list that was compiled in.
std::optional<std::set<std::string>> vectors_on_disk() {
  namespace fs = std::filesystem;
  if (!fs::exists("spec/page.schema.json") || !fs::is_directory("vectors")) return {};
  std::set<std::string> ids;
  for (const auto& file : fs::recursive_directory_iterator("vectors")) {
    const fs::path folder = fs::relative(file.path().parent_path(), "vectors");
    if (file.path().extension() == ".safetensors")
      ids.insert(folder.parent_path().string() + "." + folder.filename().string());
  }
  return ids;
}

/// What is there, from the registries and from running it.
spec::Facts gather(bool run) {
  spec::Facts facts = spec::tree_facts();
  facts.vectors = vectors_on_disk().value_or(facts.vectors);
  for (const Claim& c : claims()) facts.claims_bound.insert(c.id);
  for (const Page& p : pages()) {
    for (const BugSpec& b : p.bugs) {
      const std::string op = p.has_op ? p.op.name : p.uses;
      if (subject_of(op) != nullptr) facts.bugs_planted.insert(op + "." + b.name);
      if (runs_programs(p) && facts.claims_bound.count(p.id + "." + b.caught_by) > 0)
        facts.bugs_planted.insert(p.id + "." + b.name);
    }
  }
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    auto& ids = facts.gpu[arch];
    for (const gpu::Kernel* k : gpu::all_kernels())
      if (gpu::find_ptx(k->source, arch) != nullptr) ids.insert(page_of_op(k->op).id);
  }
  if (!run) {
    facts.claims_ran = facts.claims_bound;
    facts.bugs_killed = facts.bugs_planted;
    return facts;
  }
  RunOptions options;
  options.tier_of = tier("quick");
  options.fingerprints = false;
  note_claims("reference", options, facts);
  note_claims("subject:fp32", options, facts);
  for (const char* arch : {"machine:sm_80", "machine:sm_90a", "machine:sm_100a", "machine:sm_120a"})
    if (is_built(arch) && any_programs()) note_claims(arch, options, facts, "ptx.*");
  if (is_built("ranks:threads")) note_claims("ranks:threads", options, facts);
  if (is_built("ranks:mpi")) note_claims("ranks:mpi", options, facts, "collective.*");  // MPI's own calls among them
  std::map<std::string, bool> alive;
  options.tier_of = tier("default");
  for (const Kill& k : run_planted("*", options, [](const Kill&) {})) alive[k.op + "." + k.bug] |= !k.dead;
  for (const auto& [bug, survives] : alive) {
    if (!survives) facts.bugs_killed.insert(bug);
  }
  return facts;
}

}  // namespace

void add_status(CLI::App& app, int& exit_code) {
  auto* cmd = app.add_subcommand("status", "What the specification lists, minus what is there");
  auto concept_id = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false), no_run = std::make_shared<bool>(false);
  cmd->add_option("--concept", *concept_id, "what one concept lacks");
  cmd->add_flag("--json", *json, "for machines");
  cmd->add_flag("--no-run", *no_run, "take registered claims and bugs for run and killed, instead of running them");
  cmd->callback([concept_id, json, no_run, &exit_code] {
    const spec::Status s = spec::status(spec::lists(), pages(), gather(!*no_run));
    if (*json)
      fmt::print("{}\n", spec::status_json(s).dump(2));
    else
      fmt::print("{}\n", concept_id->empty() ? spec::status_text(s) : spec::status_text(s, *concept_id));
    exit_code = passed;
  });
}

}  // namespace assay::command

#include "conformance/engine/planted.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/engine/programs.hpp"
#include "conformance/engine/suite.hpp"

namespace assay {
namespace {

/// The claim a page names for a bug: one of its own, or a universal one.
const Claim& claim_of(const Page& page, const BugSpec& bug) {
  for (const Claim& c : claims()) {
    if (c.page == &page && c.id == page.id + "." + bug.caught_by) return c;
  }
  for (const Claim& c : universal_claims()) {
    if (c.id != bug.caught_by) continue;
    if (c.on == "definition")
      throw Error("planted bug " + page.id + "." + bug.name + " names a claim on definitions, which sees no subject",
                  "a claim on: target", c.id);
    return c;
  }
  throw Error("planted bug " + page.id + "." + bug.name + " names a claim that has no property", "a registered claim",
              bug.caught_by);
}

/// Runs the bug, and the honest subject beside it, to see whether they ever differ.
class Twin : public Target {
 public:
  Twin(Target& planted, Target& honest, std::string bug) : planted_(planted), honest_(honest), bug_(std::move(bug)) {}
  std::string name() const override { return planted_.name(); }
  std::vector<Contract> contracts(const OpSpec& op) const override { return planted_.contracts(op); }
  bool offers_output(const OpSpec& op, const std::string& o) const override { return planted_.offers_output(op, o); }
  bool offers_option(const OpSpec& op, std::size_t o, int v) const override { return planted_.offers_option(op, o, v); }
  bool sees_memory() const override { return true; }
  bool same_kernel() const override { return planted_.same_kernel(); }
  Answer run(const Call& call, const Layout& layout) override {
    Answer answer = planted_.run(call, layout);
    const Answer honest = honest_.run(call, layout);
    const auto& bugs = answer.bugs_asked;
    asked = asked || std::find(bugs.begin(), bugs.end(), bug_) != bugs.end();
    differ = differ || answer.kind != honest.kind || answer.unwritten != honest.unwritten;
    for (const Named& t : answer.outputs.all()) {
      if (differ || !honest.outputs.has(t.name)) {
        differ = true;
        return answer;
      }
      for (Index i = 0, n = t.value.size(); i < n && !differ; ++i) {
        const double x = t.value.at_flat(i), y = honest.outputs[t.name].at_flat(i);
        differ = (std::isnan(x) != std::isnan(y)) || (!std::isnan(x) && (x != y || std::signbit(x) != std::signbit(y)));
      }
    }
    return answer;
  }
  bool differ = false, asked = false;

 private:
  Target &planted_, &honest_;
  std::string bug_;
};

}  // namespace

std::optional<PlantedBug> planted_bug(const std::string& target) {
  const std::string kind = "planted:";
  const auto dot = target.find('.'), at = target.find('@');
  if (!target.starts_with(kind) || dot == std::string::npos) return {};
  const std::string op = target.substr(kind.size(), dot - kind.size()), name = target.substr(dot + 1, at - dot - 1),
                    contract = at == std::string::npos ? "fp32" : target.substr(at + 1);
  for (const Page& page : pages()) {
    if ((page.has_op ? page.op.name : page.uses) != op) continue;
    for (const BugSpec& bug : page.bugs) {
      if (bug.name != name) continue;
      const bool universal = bug.caught_by.starts_with("universal.");
      const bool declared = std::any_of(bug.dies.begin(), bug.dies.end(),
                                        [&contract](const DiesAt& dies) { return dies.contract == contract; });
      return PlantedBug{&page, &bug, universal ? bug.caught_by + "(" + op + ")" : page.id + "." + bug.caught_by,
                        contract, declared};
    }
  }
  return {};
}

std::vector<PlantedCell> planted_cells(const std::string& concept_glob) {
  std::vector<PlantedCell> cells;
  for (const Page& page : pages()) {
    if (!matches(concept_glob, page.id)) continue;
    for (const BugSpec& bug : page.bugs) {
      if (bug.dies.empty())
        throw Error("planted bug declares nowhere that it dies", "dies: { contract: tier }", page.id + "." + bug.name);
      for (const DiesAt& at : bug.dies) cells.push_back({&page, &bug, &claim_of(page, bug), at});
    }
  }
  if (cells.empty()) throw Error("no planted bug of a matching concept", "a glob over concept ids", concept_glob);
  return cells;
}

Kill run_cell(const PlantedCell& cell, const RunOptions& options) {
  if (runs_programs(*cell.page)) return run_program_cell(cell, options);
  const OpSpec& op = Space(*cell.page).op();
  const BugSpec& bug = *cell.bug;
  Kill kill;
  kill.op = op.name;
  kill.bug = bug.name;
  kill.contract = cell.at.contract;
  kill.tier = cell.at.tier;
  kill.says = bug.says;
  kill.claim = cell.claim->id;
  kill.concept_id = cell.page->id;
  const auto target = make_target("planted:" + op.name + "." + bug.name + "@" + cell.at.contract);
  const auto honest = make_target("subject:" + cell.at.contract);
  const Contract contract = target->contracts(op).at(0);
  RunOptions run = options;
  if (cell.at.tier == "structured") run.cases = 0;
  const Result r = run_claim(*cell.claim, *cell.page, *target, contract, run);
  kill.cases = r.cases + r.skipped;
  kill.seconds = r.seconds;
  if (r.verdict == Result::Verdict::failed) {
    run.only_case = r.failing_case;
    run.fingerprints = false;
    kill.by_case = r.failing_case;
    kill.what = r.failure.what;
    kill.fingerprint = r.fingerprint;
    kill.dead = run_claim(*cell.claim, *cell.page, *honest, contract, run).verdict != Result::Verdict::failed;
    if (!kill.dead) kill.what = "the honest subject fails the same case: " + kill.what;
    return kill;
  }
  Twin twin(*target, *honest, bug.name);
  kill.what = r.reason;
  kill.inert =
      run_claim(*cell.claim, *cell.page, twin, contract, run).verdict != Result::Verdict::failed && !twin.differ;
  if (kill.inert) {
    kill.what = "it changed no output bit on " + std::to_string(kill.cases) + " cases";
    if (!twin.asked) kill.what += ": subject/" + op.name + ".cpp never asks s.bug(\"" + bug.name + "\") on them";
  }
  return kill;
}

std::vector<Kill> run_planted(const std::string& concept_glob, const RunOptions& options,
                              const std::function<void(const Kill&)>& progress) {
  std::vector<Kill> kills;
  for (const PlantedCell& cell : planted_cells(concept_glob)) {
    kills.push_back(run_cell(cell, options));
    progress(kills.back());
  }
  return kills;
}

}  // namespace assay

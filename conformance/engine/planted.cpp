#include "conformance/engine/planted.hpp"

#include "conformance/engine/suite.hpp"

namespace assay {
namespace {

/// The claim a page names for a bug: one of its own, or a universal one.
const Claim& claim_of(const Page& page, const BugSpec& bug) {
  for (const Claim& c : claims()) {
    if (c.page == &page && c.id == page.id + "." + bug.caught_by) return c;
  }
  for (const Claim& c : universal_claims()) {
    if (c.id == bug.caught_by) return c;
  }
  throw Error("planted bug " + page.id + "." + bug.name + " names a claim that has no property", "a registered claim",
              bug.caught_by);
}

}  // namespace

std::vector<Kill> run_planted(const std::string& concept_glob, const RunOptions& options,
                              const std::function<void(const Kill&)>& progress) {
  std::vector<Kill> kills;
  for (const Page& page : pages()) {
    if (!matches(concept_glob, page.id)) continue;
    for (const BugSpec& bug : page.bugs) {
      if (bug.dies.empty())
        throw Error("planted bug declares nowhere that it dies", "dies: { contract: tier }", page.id + "." + bug.name);
      const Claim& claim = claim_of(page, bug);
      const OpSpec& op = Space(page).op();
      for (const DiesAt& cell : bug.dies) {
        Kill kill{op.name, bug.name, cell.contract, cell.tier, bug.says, claim.id, false, "", "", ""};
        const auto target = make_target("planted:" + op.name + "." + bug.name + "@" + cell.contract);
        RunOptions run = options;
        if (cell.tier == "structured") run.cases = 0;
        const Result r = run_claim(claim, page, *target, target->contracts(op).at(0), run);
        kill.dead = r.verdict == Result::Verdict::failed;
        kill.by_case = r.failing_case;
        kill.what = r.failure.what;
        kill.fingerprint = r.fingerprint;
        kills.push_back(kill);
        progress(kill);
      }
    }
  }
  if (kills.empty()) throw Error("no planted bug of a matching concept", "a glob over concept ids", concept_glob);
  return kills;
}

}  // namespace assay

#include "conformance/engine/programs.hpp"

#include "conformance/engine/claim.hpp"

namespace assay {
namespace {

constexpr const char* architectures[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};

class PlantedPrograms : public Target, private ProgramMachine {
 public:
  PlantedPrograms(std::string name, std::string bug, const std::string& arch)
      : name_(std::move(name)), bug_(std::move(bug)), of_(make_target("machine:" + arch)) {}
  std::string name() const override { return name_; }
  std::vector<Contract> contracts(const OpSpec&) const override { return {}; }
  bool offers_output(const OpSpec&, const std::string&) const override { return false; }
  bool offers_option(const OpSpec&, std::size_t, int) const override { return false; }
  bool sees_memory() const override { return false; }
  ProgramMachine* machine() override { return this; }
  Answer run(const Call&, const Layout&) override {
    Answer none;
    none.kind = Answer::Kind::unsupported;
    return none;
  }
  bool asked() const { return asked_; }

 private:
  std::string arch() const override { return of_->machine()->arch(); }
  ProgramRun run(const PtxProgram& program) override { return of_->machine()->run(program); }
  bool plants(const std::string& bug) const override {
    asked_ = asked_ || bug == bug_;
    return bug == bug_;
  }
  std::string name_, bug_;
  std::unique_ptr<Target> of_;
  mutable bool asked_ = false;
};

std::unique_ptr<PlantedPrograms> planted_on(const Page& page, const BugSpec& bug, const std::string& arch) {
  const std::string id = page.id + "." + bug.name;
  return std::make_unique<PlantedPrograms>("planted:" + id, id, arch);
}

}  // namespace

bool runs_programs(const Page& page) {
  if (page.has_op || !page.uses.empty()) return false;
  for (const ClaimSpec& claim : page.claims)
    if (claim.on == "machine") return true;
  return false;
}

std::unique_ptr<Target> planted_programs(const Page& page, const BugSpec& bug) {
  return planted_on(page, bug, "sm_90a");
}

Kill run_program_cell(const PlantedCell& cell, const RunOptions& options) {
  const Page& page = *cell.page;
  const BugSpec& bug = *cell.bug;
  Kill kill;
  kill.op = page.id;
  kill.bug = bug.name;
  kill.contract = cell.at.contract;
  kill.tier = cell.at.tier;
  kill.says = bug.says;
  kill.claim = cell.claim->id;
  kill.concept_id = page.id;
  const Contract contract = parse_contract(cell.at.contract);
  RunOptions run = options;
  run.fingerprints = false;
  if (cell.at.tier == "structured") run.cases = 0;
  for (const char* arch : architectures) {
    const auto planted = planted_on(page, bug, arch);
    const Result r = run_claim(*cell.claim, page, *planted, contract, run);
    kill.cases += r.cases + r.skipped;
    kill.seconds += r.seconds;
    if (r.verdict == Result::Verdict::failed) {
      run.only_case = r.failing_case;
      kill.by_case = r.failing_case;
      kill.what = r.failure.what;
      const auto honest = make_target(std::string("machine:") + arch);
      kill.dead = run_claim(*cell.claim, page, *honest, contract, run).verdict != Result::Verdict::failed;
      if (!kill.dead) kill.what = "the programs without the mistake fail the same case: " + kill.what;
      return kill;
    }
    kill.what = r.reason;
    kill.inert = !planted->asked();
    if (r.cases > 0) break;  // else this architecture has not what the claim is about
  }
  if (kill.inert) kill.what = "its claim never asks check.bug(\"" + bug.name + "\")";
  return kill;
}

}  // namespace assay

#include "conformance/engine/suite.hpp"

#include "conformance/engine/eval.hpp"

namespace assay {
namespace {

bool match(const char* g, const char* t) {
  for (; *g != '*'; ++g, ++t) {
    if (*g == '\0') return *t == '\0';
    if (*t == '\0' || (*g != '?' && *g != *t)) return false;
  }
  while (*g == '*') ++g;
  for (; *t != '\0'; ++t) {
    if (match(g, t)) return true;
  }
  return *g == '\0';
}

}  // namespace

bool matches(const std::string& glob, const std::string& text) { return match(glob.c_str(), text.c_str()); }

std::vector<Entry> plan(const SuiteOptions& options, Target& target) {
  std::vector<Entry> entries;
  bool concept_seen = false, claim_seen = false;
  for (const Page& p : pages()) {
    if (!matches(options.concept_glob, p.id)) continue;
    concept_seen = true;
    const OpSpec& op = Space(p).op();
    const bool programs = !p.has_op && p.uses.empty();  // its claims run programs, on no op
    if (!programs && !has_definition(op.name)) continue;
    const std::vector<Contract> contracts = programs ? std::vector{parse_contract("fp32")} : target.contracts(op);
    const auto add = [&](const Claim& claim) {
      claim_seen = true;
      if (!applies(claim, target)) return;
      for (const Contract& c : contracts) entries.push_back({&claim, &p, c});
    };
    for (const Claim& claim : claims()) {
      if (claim.page == &p && matches(options.claim_glob, claim.id)) add(claim);
    }
    if (!p.has_op) continue;
    for (const Claim& claim : universal_claims()) {
      if (matches(options.claim_glob, claim.id)) add(claim);
    }
  }
  if (!concept_seen) throw Error("no concept matches", "a glob over concept ids", options.concept_glob);
  if (!claim_seen) throw Error("no claim of the chosen concepts matches", "a glob over claim ids", options.claim_glob);
  if (entries.empty())
    throw Error("nothing to run: the target offers none of the chosen claims", "an op the target has", target.name());
  std::vector<Entry> mine;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (static_cast<int>(i % static_cast<std::size_t>(options.shards)) == options.shard) mine.push_back(entries[i]);
  }
  return mine;
}

std::vector<Result> run_suite(const SuiteOptions& options, Target& target,
                              const std::function<void(const Result&, std::size_t, std::size_t)>& progress,
                              std::vector<WaiverState>* waivers) {
  const std::vector<Entry> entries = plan(options, target);
  Waivers book(target.waivers(), options.today);
  std::vector<Result> results;
  for (const Entry& e : entries) {
    results.push_back(book.run(*e.claim, *e.page, target, e.contract, options.run));
    progress(results.back(), results.size(), entries.size());
  }
  const bool whole =
      options.concept_glob == "*" && options.claim_glob == "*" && options.shards == 1 && options.run.only_case.empty();
  if (waivers != nullptr) *waivers = book.settle(whole);
  return results;
}

}  // namespace assay

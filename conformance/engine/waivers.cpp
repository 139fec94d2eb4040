#include "conformance/engine/waivers.hpp"

#include <algorithm>
#include <sstream>

#include "conformance/engine/suite.hpp"

namespace assay {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

/// Whether a contract is the waiver's, or that with more said ("bf16" covers "in=bf16 acc=fp32 out=bf16 order=any").
bool same_contract(const std::string& waived, const Contract& contract) {
  if (waived.empty()) return true;
  const std::vector<std::string> has = words(contract.spell());
  for (const std::string& w : words(parse_contract(waived).spell())) {
    if (std::find(has.begin(), has.end(), w) == has.end()) return false;
  }
  return true;
}

/// The part of a space that a waiver's case text means; nothing if the space has no such axis or value.
class Region {
 public:
  Region(const Space& space, const std::string& text) {
    try {
      const Case c = Case::parse(space, text);
      for (const std::string& w : words(text)) {
        const std::size_t axis = space.find(w.substr(0, w.find('=')));
        values_.emplace_back(axis, c.values()[axis]);
      }
    } catch (const Error&) {
      values_.clear();
    }
  }
  bool empty() const { return values_.empty(); }
  bool contains(const Case& c) const {
    return std::all_of(values_.begin(), values_.end(), [&c](const auto& v) { return c.values()[v.first] == v.second; });
  }

 private:
  std::vector<std::pair<std::size_t, std::int64_t>> values_;
};

std::string text_of(const Waiver& w) { return w.tracker + ": " + w.reason; }

}  // namespace

Waivers::Waivers(std::vector<Waiver> waivers, std::string today) : today_(std::move(today)) {
  for (Waiver& w : waivers) states_.push_back({std::move(w), 0, 0, "", ""});
  met_claim_.resize(states_.size());
  met_.resize(states_.size());
  weak_.resize(states_.size());
}

Result Waivers::run(const Claim& claim, const Page& page, Target& target, const Contract& contract,
                    const RunOptions& options) {
  const Space space(page);
  std::vector<std::size_t> general, special;
  std::vector<Region> regions;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Waiver& w = states_[i].waiver;
    if (!matches(w.claim, claim.id)) continue;
    met_claim_[i] = true;
    if (!same_contract(w.contract, contract) || w.expired(today_)) continue;
    if (w.cases.empty()) {
      met_[i] = true;
      general.push_back(i);
    } else if (const Region region(space, w.cases); !region.empty()) {
      met_[i] = true;
      special.push_back(i);
      regions.push_back(region);
    }
  }

  RunOptions rest = options;
  if (!special.empty() && options.only_case.empty()) {
    rest.leave_out = [&regions](const Case& c) {
      return std::any_of(regions.begin(), regions.end(), [&c](const Region& r) { return r.contains(c); });
    };
  }
  Result result = run_claim(claim, page, target, contract, rest);
  const auto failed = [](const Result& r) { return r.verdict == Result::Verdict::failed; };
  const auto passed = [](const Result& r) { return r.verdict == Result::Verdict::passed; };

  for (const std::size_t i : general) {
    if (failed(result)) {
      result.waiver = text_of(states_[i].waiver);
      ++states_[i].failing;
    }
    states_[i].passing += passed(result);
    weak_[i] = weak_[i] || options.cases >= 0 || options.tier_of.name == "quick" || !options.only_case.empty();
  }
  for (std::size_t k = 0; k < special.size(); ++k) {
    WaiverState& state = states_[special[k]];
    if (!options.only_case.empty()) {
      if (!regions[k].contains(Case::parse(space, options.only_case))) continue;
      if (failed(result)) result.waiver = text_of(state.waiver);
      weak_[special[k]] = true;
      continue;
    }
    RunOptions one = options;
    one.only_case = state.waiver.cases;
    const Result known = run_claim(claim, page, target, contract, one);
    state.passing += passed(known);
    if (!failed(known)) continue;
    ++state.failing;
    if (!passed(result) && result.verdict != Result::Verdict::not_offered) continue;
    result.waiver = text_of(state.waiver);
    result.failure = known.failure;
    result.failing_case = known.failing_case;
    result.verdict = Result::Verdict::waived;
  }
  if (failed(result) && !result.waiver.empty()) result.verdict = Result::Verdict::waived;
  return result;
}

std::vector<WaiverState> Waivers::settle(bool whole) const {
  std::vector<WaiverState> states = states_;
  for (std::size_t i = 0; i < states.size(); ++i) {
    WaiverState& s = states[i];
    if (s.waiver.expired(today_))
      s.problem = "it expired on " + s.waiver.expires + ": mend the kernel, or agree on a new date";
    else if (!met_claim_[i] && whole)
      s.problem = "it matches no claim that ran: mend its glob, or remove it";
    else if (!met_[i] && met_claim_[i] && !s.waiver.contract.empty() && s.waiver.cases.empty())
      s.note = "not checked: nothing ran under contract " + s.waiver.contract;
    else if (!met_[i] && met_claim_[i] && whole)
      s.problem = "no case that ran is one of its case `" + s.waiver.cases + "`: mend it, or remove it";
    else if (s.failing == 0 && s.passing > 0 && !weak_[i])
      s.problem = "what it excuses passes now: remove it";
    else if (s.failing == 0 && s.passing > 0)
      s.note = "what it excuses passed on the few cases of this run";
  }
  return states;
}

}  // namespace assay

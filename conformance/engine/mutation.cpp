#include "conformance/engine/mutation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "conformance/engine/fill.hpp"
#include "conformance/engine/suite.hpp"
#include "reference/core/philox.hpp"

namespace assay {
namespace {

/// The pages whose claims run on an op: its own, and those that use it.
std::vector<const Page*> pages_on(const std::string& op) {
  std::vector<const Page*> list;
  for (const Page& p : pages()) {
    if ((p.has_op && p.op.name == op) || p.uses == op) list.push_back(&p);
  }
  return list;
}

/// The claim that a target fails, "" if it fails none.
std::string caught_by(Target& target, const std::string& op, const RunOptions& options) {
  for (const Page* page : pages_on(op)) {
    const Contract contract = target.contracts(Space(*page).op()).at(0);
    const auto fails = [&](const Claim& claim) {
      return applies(claim, target) &&
             run_claim(claim, *page, target, contract, options).verdict == Result::Verdict::failed;
    };
    for (const Claim& claim : claims()) {
      if (claim.page == page && fails(claim)) return claim.id;
    }
    if (!page->has_op) continue;
    for (const Claim& claim : universal_claims()) {
      if (fails(claim)) return claim.id;
    }
  }
  return "";
}

bool same_bits(const Tensors& x, const Tensors& y) {
  for (const Named& t : x.all()) {
    for (Index i = 0, n = t.value.size(); i < n; ++i) {
      const double a = t.value.at_flat(i), b = y[t.name].at_flat(i);
      if (!(a == b && std::signbit(a) == std::signbit(b)) && !(std::isnan(a) && std::isnan(b))) return false;
    }
  }
  return true;
}

/// Where a mutant's bits differ from the honest subject's, on the corners and on random cases.
struct Difference {
  bool any = false;
  bool where_exact = false;  // on inputs whose result no rounding touches, in any order
  int exact_cases = 0;
};

/// Whether the definition allows exactly one value everywhere.
bool exact(const Call& call) {
  const ReadingScope scope(Reading{&call.contract, false, tier("default").z()});
  for (const auto& [name, y] : evaluate<Bound>(call)) {
    for (Index i = 0, n = y.size(); i < n; ++i) {
      if (y.at_flat(i).allowed() != 0) return false;
    }
  }
  return true;
}

void compare(Target& mutant, Target& honest, const std::string& op, int cases, Difference& found) {
  const Page& page = page_of_op(op);
  const Space space(page);
  const Contract contract = honest.contracts(page.op).at(0);
  const auto& profiles = page.cases.profiles;
  const auto integers = std::find(profiles.begin(), profiles.end(), "small_integers") - profiles.begin();
  const auto look = [&](const Case& c) {
    const Call call = make_call(c, contract);
    const Answer a = mutant.run(call, {}), b = honest.run(call, {});
    const bool differs = a.kind != b.kind || (a.kind == Answer::Kind::ok && !same_bits(a.outputs, b.outputs));
    const bool no_rounding = exact(call);
    found.any = found.any || differs;
    found.exact_cases += no_rounding;
    found.where_exact = found.where_exact || (differs && no_rounding);
  };
  for (const std::string& corner : page.cases.corners) look(Case::parse(space, corner));
  for (int k = 0; k < cases && !found.where_exact; ++k) {
    std::vector<std::int64_t> values;
    for (const Axis& a : space.axes()) {
      const auto words = philox4x32(
          {static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(values.size()), 0, 0x6c697665U}, {1, 0});
      const bool force =
          a.kind == Axis::Kind::profile && k % 2 == 0 && integers < static_cast<std::ptrdiff_t>(profiles.size());
      values.push_back(
          force ? integers
                : a.low + static_cast<std::int64_t>(words[0] % static_cast<std::uint64_t>(a.high - a.low + 1)));
    }
    look(Case(space, values));
  }
}

const Explained* explanation(const std::vector<Explained>& list, const std::string& op, const MutantInfo& m) {
  for (const Explained& e : list) {
    if (e.op == op && e.source == m.source && e.description == m.description) return &e;
  }
  return nullptr;
}

MutantResult try_mutant(const std::string& op, const MutantInfo& m, const MutationOptions& options) {
  MutantResult r{op, m, MutantResult::Fate::survives, "", ""};
  RunOptions run;
  run.tier_of = tier("default");
  run.cases = options.cases;
  run.fingerprints = run.shrink = false;
  Difference difference;
  for (const std::string& contract : options.contracts) {
    const std::string name = "mutant:" + op + "." + std::to_string(m.id) + "@" + contract;
    const auto target = make_target(name);
    const std::string claim = caught_by(*target, op, run);
    if (!claim.empty()) {
      r.fate = MutantResult::Fate::dead;
      r.by = claim + " (" + contract + ")";
      return r;
    }
    const auto honest = make_target("subject:" + contract);
    compare(*target, *honest, op, 4 * options.cases, difference);
  }
  if (!difference.any) {
    r.fate = MutantResult::Fate::inert;
  } else if (!difference.where_exact && difference.exact_cases >= 20) {
    r.fate = MutantResult::Fate::reordered;
  } else if (const Explained* e = explanation(options.explained, op, m)) {
    r.fate = MutantResult::Fate::explained;
    r.reason = e->reason;
  }
  return r;
}

}  // namespace

std::vector<Explained> read_explained(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error("cannot read the list of explained survivors", "a file", path);
  std::vector<Explained> list;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> f;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, '\t');) f.push_back(field);
    if (f.size() != 4)
      throw Error(path + ":" + std::to_string(number), "op, source line, description, reason, tab-separated", line);
    const auto known = mutants_of(f[0]);
    if (std::none_of(known.begin(), known.end(),
                     [&f](const MutantInfo& m) { return f[1] == m.source && f[2] == m.description; })) {
      throw Error(path + ":" + std::to_string(number) + ": names no mutant",
                  "a source line and a description of op " + f[0], f[1] + " / " + f[2]);
    }
    list.push_back({f[0], f[1], f[2], f[3]});
  }
  return list;
}

std::vector<MutantResult> run_mutants(const MutationOptions& options,
                                      const std::function<void(const MutantResult&)>& progress) {
  std::vector<MutantResult> results;
  for (const std::string& op : mutated_ops()) {
    if (!matches(options.op_glob, op) || pages_on(op).empty()) continue;
    const auto all = mutants_of(op);
    const std::size_t wanted =
        options.sample > 0 ? std::min<std::size_t>(static_cast<std::size_t>(options.sample), all.size()) : all.size();
    for (std::size_t k = 0; k < wanted; ++k) {
      results.push_back(try_mutant(op, all[k * all.size() / wanted], options));
      progress(results.back());
    }
  }
  if (results.empty())
    throw Error("no op with mutants matches", "a glob over the ops that have a subject", options.op_glob);
  return results;
}

std::map<std::string, double> mutation_scores(const std::vector<MutantResult>& results) {
  std::map<std::string, std::pair<int, int>> counts;  // dead, live
  for (const MutantResult& r : results) {
    counts[r.op].first += r.fate == MutantResult::Fate::dead;
    counts[r.op].second += r.fate != MutantResult::Fate::inert && r.fate != MutantResult::Fate::reordered;
  }
  std::map<std::string, double> scores;
  for (const auto& [op, c] : counts) scores[op] = c.second > 0 ? 100.0 * c.first / c.second : 0;
  return scores;
}

}  // namespace assay

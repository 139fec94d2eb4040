#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "conformance/engine/report/report.hpp"

namespace assay {
namespace {

/// "30036", "1.2e+09" would not line up: thousands and millions are.
std::string short_count(long long n) {
  if (n < 100000) return fmt::format("{}", n);
  if (n < 10000000) return fmt::format("{}k", n / 1000);
  return fmt::format("{}M", n / 1000000);
}

/// The name of the preset that a contract is, or its spelling.
std::string contract_name(const std::string& spelled) {
  for (const std::string& name : contract_presets()) {
    if (parse_contract(name).spell() == spelled) return name;
  }
  return spelled;
}

std::vector<std::string> concepts_of(const Report& report) {
  std::vector<std::string> ids;
  for (const Result& r : report.results) {
    if (std::find(ids.begin(), ids.end(), r.concept_id) == ids.end()) ids.push_back(r.concept_id);
  }
  return ids;
}

std::string concept_table(const Report& report) {
  std::string s = fmt::format("\n{:24} {:>6} {:>6} {:>6} {:>11} {:>6} {:>8} {:>9} {:>5} {:>7}\n", "concept", "pass",
                              "FAIL", "waived", "not offered", "BROKEN", "cases", "judged", "z", "s");
  const auto line = [&s](const std::string& name, const Counts& c) {
    s +=
        fmt::format("{:24} {:6} {:6} {:6} {:11} {:6} {:>8} {:>9} {:5.1f} {:7.2f}\n", name, c.passed, c.failed, c.waived,
                    c.not_offered, c.broken, short_count(c.cases), short_count(c.compared), c.largest_z, c.seconds);
  };
  const auto ids = concepts_of(report);
  for (const std::string& id : ids) line(id, count(report.results, id));
  if (ids.size() > 1) line("all", count(report.results));
  return s;
}

/// Per concept: over all its claims, how often each option value was drawn.
std::string drawn_text(const Report& report) {
  std::string s;
  for (const std::string& id : concepts_of(report)) {
    std::map<std::string, long long> drawn;
    for (const Result& r : report.results) {
      if (r.concept_id != id) continue;
      for (const auto& [value, n] : r.drawn) drawn[value] += n;
    }
    if (drawn.empty()) continue;
    s += fmt::format("\n{}: how often each option value was drawn\n", id);
    for (const auto& [value, n] : drawn) s += fmt::format("  {:32} {}\n", value, n);
  }
  return s;
}

std::string kill_summary(const Report& report) {
  std::size_t dead = 0, inert = 0;
  for (const Kill& k : report.kills) {
    dead += k.dead;
    inert += k.inert;
  }
  std::string s = fmt::format("\n{} of {} planted bugs die where their page says\n", dead, report.kills.size());
  if (inert > 0) {
    s += fmt::format(
        "{} changed no output bit on any case that ran: no bug at all, or its cases are missing from the page\n",
        inert);
  }
  return s;
}

/// Who caught a planted bug, and whether its page's claim did.
std::string planted_line(const Report& report, const PlantedBug& planted) {
  const Counts c = count(report.results);
  std::string s = c.failed > 0 ? fmt::format("{} is caught by {} of {} claims", report.options.target, c.failed,
                                             c.failed + c.passed)
                               : report.options.target + " SURVIVES: no claim that ran noticed it";
  const auto own = std::find_if(report.results.begin(), report.results.end(),
                                [&planted](const Result& r) { return r.claim == planted.claim; });
  if (own == report.results.end())
    s += fmt::format("; {}, which its page names, did not run", planted.claim);
  else if (own->verdict == Result::Verdict::failed)
    s += fmt::format("; {}, which its page names, is one of them", planted.claim);
  else if (planted.declared)
    s += fmt::format("; its page says that {} catches it", planted.claim);
  if (!planted.declared) s += fmt::format("; its page does not say that it dies in {}", planted.contract);
  return s + "\n";
}

std::string last_line(const Report& report) {
  const Counts c = count(report.results);
  std::string s = fmt::format("\n{} passed, {} failed, {} waived, {} not offered, {} broken; {} cases in {:.1f} s\n",
                              c.passed, c.failed, c.waived, c.not_offered, c.broken, c.cases, report.seconds);
  const Tier& tier = report.options.run.tier_of;
  if (static_cast<double>(c.compared) > tier.elements) {
    s += fmt::format(
        "note: {} elements were judged, more than the {:.0g} for which tier {} sets z = {:.1f}; the chance that an "
        "honest target fails is {:.1f} times the stated 1e-6\n",
        c.compared, tier.elements, tier.name, tier.z(), static_cast<double>(c.compared) / tier.elements);
  }
  if (c.passed + c.waived + c.failed + c.broken == 0)
    s += "nothing ran: the target offers no case of the chosen claims\n";
  if (const auto planted = planted_bug(report.options.target)) s += planted_line(report, *planted);
  return s;
}

}  // namespace

std::string verdict_word(Result::Verdict v) {
  switch (v) {
    case Result::Verdict::passed:
      return "pass";
    case Result::Verdict::failed:
      return "FAIL";
    case Result::Verdict::waived:
      return "waived";
    case Result::Verdict::not_offered:
      return "not offered";
    case Result::Verdict::broken:
      break;
  }
  return "BROKEN";
}

std::string claim_line(const Result& r, std::size_t done, std::size_t all) {
  const std::string note = r.verdict == Result::Verdict::waived ? "(" + r.waiver + ")"
                           : r.verdict == Result::Verdict::passed && r.suspects > 0
                               ? fmt::format("({} suspect elements)", r.suspects)
                           : r.verdict == Result::Verdict::passed ? ""
                                                                  : r.reason;
  std::string s = fmt::format("[{:{}}/{}] {:11} {:42} {:8} {:7} cases {:>8} judged z {:4.1f} {:6.2f} s", done,
                              std::to_string(all).size(), all, verdict_word(r.verdict), r.claim,
                              contract_name(r.contract), r.cases, short_count(r.compared), r.largest_z, r.seconds);
  return note.empty() ? s : s + "  " + note;
}

std::string kill_heading() {
  return fmt::format("{:16} {:26} {:8} {:10} {:36} {}", "op", "planted bug", "contract", "tier", "claim", "");
}

std::string kill_line(const Kill& k) {
  const std::string what = k.dead ? "dies      " + k.by_case : k.inert ? "NO BUG    " + k.what : "SURVIVES  " + k.what;
  return fmt::format("{:16} {:26} {:8} {:10} {:36} {}", k.op, k.bug, k.contract, k.tier, k.claim, what);
}

std::string failure_text(const Report& report, const Result& r) {
  std::string s = fmt::format("\n{}  on {} ({})\n", r.claim, r.target, r.contract);
  const auto line = [&s](const char* name, const std::string& text) {
    if (!text.empty()) s += fmt::format("  {:9} {}\n", name, text);
  };
  line("claim", r.says);
  line("waived", r.waiver);
  line("what", r.failure.what);
  line("where", r.failure.where);
  line("expected", r.failure.expected);
  line("got", r.failure.got);
  line("allowed", r.failure.allowed);
  line("matches", r.fingerprint);
  line("case", r.failing_case);
  line("again", again(report, r));
  return s;
}

std::string summary_text(const Report& report, bool verbose) {
  std::string s;
  for (const Result& r : report.results) {
    if (r.verdict == Result::Verdict::failed || (verbose && r.verdict == Result::Verdict::waived))
      s += failure_text(report, r);
  }
  if (verbose) s += drawn_text(report);
  if (!report.not_offered.empty()) s += "\nnot offered by " + report.options.target + ":\n";
  for (const std::string& line : report.not_offered) s += "  " + line + "\n";
  for (const WaiverState& w : report.waivers) {
    if (!w.problem.empty())
      s += fmt::format("\nwaiver {} (line {}, {}) fails the run: {}\n", w.waiver.tracker, w.waiver.line, w.waiver.claim,
                       w.problem);
    if (!w.note.empty()) s += fmt::format("\nwaiver {}: {}\n", w.waiver.tracker, w.note);
  }
  if (!report.kills.empty()) return s + kill_summary(report);
  if (report.results.empty()) return s + "\nnothing ran\n";
  return s + concept_table(report) + last_line(report);
}

}  // namespace assay

#include <algorithm>

#include "conformance/engine/eval.hpp"
#include "conformance/engine/report/report.hpp"

namespace assay {
namespace {

void add(Counts& c, const Result& r) {
  switch (r.verdict) {
    case Result::Verdict::passed:
      ++c.passed;
      break;
    case Result::Verdict::failed:
      ++c.failed;
      break;
    case Result::Verdict::waived:
      ++c.waived;
      break;
    case Result::Verdict::not_offered:
      ++c.not_offered;
      break;
    case Result::Verdict::broken:
      ++c.broken;
      break;
  }
  c.cases += r.cases;
  c.compared += r.compared;
  c.largest_z = std::max(c.largest_z, r.largest_z);
  c.seconds += r.seconds;
}

std::string join(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

/// Of an op that the target has: the outputs and option values it lacks.
std::string lacks(const OpSpec& op, const Target& target) {
  std::vector<std::string> parts;
  for (const TensorSpec& o : op.outputs) {
    if (!target.offers_output(op, o.name)) parts.push_back("output " + o.name);
  }
  for (std::size_t o = 0; o < op.options.size(); ++o) {
    const OptionSpec& option = op.options[o];
    for (int v = 0; v < option.count(); ++v) {
      if (target.offers_option(op, o, v)) continue;
      const auto i = static_cast<std::size_t>(v);
      parts.push_back(option.name + "=" + (option.numeric() ? spell_number(option.numbers[i]) : option.names[i]));
    }
  }
  return join(parts);
}

}  // namespace

Counts count(const std::vector<Result>& results) {
  Counts c;
  for (const Result& r : results) add(c, r);
  return c;
}

Counts count(const std::vector<Result>& results, const std::string& concept_id) {
  Counts c;
  for (const Result& r : results) {
    if (r.concept_id == concept_id) add(c, r);
  }
  return c;
}

int exit_code(const Report& report) {
  const Counts c = count(report.results);
  const auto any = [](const auto& list, auto is) { return std::any_of(list.begin(), list.end(), is); };
  if (c.failed > 0 || any(report.kills, [](const Kill& k) { return !k.dead && !k.inert; }) ||
      any(report.waivers, [](const WaiverState& w) { return !w.problem.empty(); }))
    return 1;
  if (c.broken > 0 || any(report.kills, [](const Kill& k) { return k.inert; })) return 3;
  return c.passed + c.waived == 0 && report.kills.empty() ? 3 : 0;
}

std::vector<std::string> not_offered(const SuiteOptions& options, const Target& target) {
  std::vector<std::string> lines, without;
  for (const Page& p : pages()) {
    if (!p.has_op || !matches(options.concept_glob, p.id) || !has_definition(p.op.name)) continue;
    if (target.contracts(p.op).empty()) {
      without.push_back(p.op.name);
    } else if (const std::string what = lacks(p.op, target); !what.empty()) {
      lines.push_back(p.op.name + ": " + what);
    }
  }
  if (!without.empty()) lines.push_back((without.size() == 1 ? "op " : "ops ") + join(without));
  for (const std::string& remark : target.remarks()) lines.push_back(remark);
  return lines;
}

std::string shell_quoted(const std::string& word) {
  const auto plain = [](char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           std::string_view("_./:@%+,=-").find(ch) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (const char ch : word) quoted += ch == '\'' ? std::string("'\\''") : std::string(1, ch);
  return quoted + "'";
}

std::string again(const Report& report, const Result& r) {
  const std::string quoted_case = "'" + r.failing_case + "'";
  if (!r.again.empty()) return r.again;
  std::string text = "assay run --target " + shell_quoted(report.options.target);
  if (!r.concept_id.empty()) text += " --concept " + r.concept_id;
  text += " --claim " + r.claim.substr(0, r.claim.find('('));
  if (report.options.run.tier_of.name != "default") text += " --tier " + report.options.run.tier_of.name;
  return text + " --case " + quoted_case;
}

}  // namespace assay

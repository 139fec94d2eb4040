#include <cmath>
#include <nlohmann/json.hpp>

#include "conformance/engine/report/report.hpp"

namespace assay {
namespace {

using nlohmann::ordered_json;

/// The words of the schema.
std::string verdict_name(Result::Verdict v) {
  switch (v) {
    case Result::Verdict::passed:
      return "passed";
    case Result::Verdict::failed:
      return "failed";
    case Result::Verdict::waived:
      return "waived";
    case Result::Verdict::not_offered:
      return "not_offered";
    case Result::Verdict::broken:
      break;
  }
  return "broken";
}

ordered_json json_of(const Report& report, const Result& r) {
  ordered_json j;
  j["concept"] = r.concept_id;
  j["claim"] = r.claim;
  j["contract"] = r.contract;
  j["verdict"] = verdict_name(r.verdict);
  if (!r.says.empty()) j["says"] = r.says;
  j["cases"] = r.cases;
  j["skipped"] = r.skipped;
  j["judged"] = r.compared;
  j["suspects"] = r.suspects;
  j["largest_z"] = std::isfinite(r.largest_z) ? r.largest_z : report.options.run.tier_of.z();
  j["seconds"] = r.seconds;
  if (!r.reason.empty() && r.verdict != Result::Verdict::passed) j["reason"] = r.reason;
  if (!r.waiver.empty()) j["waiver"] = r.waiver;
  if (r.verdict == Result::Verdict::failed || r.verdict == Result::Verdict::waived) {
    ordered_json& f = j["failure"];
    f["what"] = r.failure.what;
    f["where"] = r.failure.where;
    f["expected"] = r.failure.expected;
    f["got"] = r.failure.got;
    f["allowed"] = r.failure.allowed;
    f["fingerprint"] = r.fingerprint;
    f["case"] = r.failing_case;
    f["again"] = again(report, r);
  }
  j["drawn"] = r.drawn;
  return j;
}

ordered_json json_of(const Kill& k) {
  ordered_json j;
  j["concept"] = k.concept_id;
  j["op"] = k.op;
  j["bug"] = k.bug;
  j["says"] = k.says;
  j["contract"] = k.contract;
  j["tier"] = k.tier;
  j["claim"] = k.claim;
  j["verdict"] = k.dead ? "dies" : k.inert ? "no_bug" : "survives";
  j["cases"] = k.cases;
  j["case"] = k.by_case;
  j["what"] = k.what;
  j["fingerprint"] = k.fingerprint;
  return j;
}

}  // namespace

std::string json_text(const Report& report) {
  const Counts c = count(report.results);
  const SuiteOptions& o = report.options;
  ordered_json j;
  j["format"] = "assay report 1";
  j["target"] = o.target;
  j["concept"] = o.concept_glob;
  j["claim"] = o.claim_glob;
  j["tier"] = o.run.tier_of.name;
  j["z"] = o.run.tier_of.z();
  j["elements"] = o.run.tier_of.elements;
  j["seed"] = o.run.seed;
  j["shard"] = {{"index", o.shard + 1}, {"of", o.shards}};
  j["exit_code"] = exit_code(report);
  j["seconds"] = report.seconds;
  j["counts"] = {{"passed", c.passed}, {"failed", c.failed}, {"waived", c.waived},  {"not_offered", c.not_offered},
                 {"broken", c.broken}, {"cases", c.cases},   {"judged", c.compared}};
  j["results"] = ordered_json::array();
  for (const Result& r : report.results) j["results"].push_back(json_of(report, r));
  j["planted"] = ordered_json::array();
  for (const Kill& k : report.kills) j["planted"].push_back(json_of(k));
  j["not_offered"] = report.not_offered;
  j["waivers"] = ordered_json::array();
  for (const WaiverState& w : report.waivers) {
    j["waivers"].push_back({{"tracker", w.waiver.tracker},
                            {"claim", w.waiver.claim},
                            {"line", w.waiver.line},
                            {"failing", w.failing},
                            {"passing", w.passing},
                            {"problem", w.problem},
                            {"note", w.note}});
  }
  // A kernel's own error text may be anything; what is not UTF-8 in it is replaced.
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace assay

#include <nlohmann/json.hpp>

#include "spec/report/status.hpp"

namespace assay::spec {

nlohmann::ordered_json status_json(const Status& status) {
  using Json = nlohmann::ordered_json;
  Json concepts = Json::array(), mission = Json::array(), changes = Json::array();
  for (const ConceptStatus& s : status.concepts) {
    const bool without_op = s.page && s.op.empty();
    Json one = {{"id", s.id}, {"complete", s.complete()}, {"page", s.page}, {"definition", s.definition}};
    one["claims"] = {{"listed", s.claims.listed}, {"bound", s.claims.bound}, {"changed", s.claims.changed}};
    one["traps"] = {
        {"listed", s.traps.listed}, {"planted", s.traps.planted}, {"dies", s.traps.dies}, {"changed", s.traps.changed}};
    one["subject"] = without_op ? Json() : Json(s.subject);
    one["vectors"] = s.vectors;
    one["second_opinion"] = without_op ? Json() : Json(s.second_opinion);
    one["gpu"] = Json::object();
    for (const auto& architecture : s.gpu) one["gpu"][architecture.first] = architecture.second;
    one["distributed"] = s.distributed;
    concepts.push_back(one);
  }
  for (const MissionStatus& item : status.mission)
    mission.push_back({{"item", item.item}, {"complete", item.complete()}});
  for (const Change& change : status.changes)
    changes.push_back({{"kind", change.kind},
                       {"id", change.id},
                       {"action", change.action},
                       {"into", change.into},
                       {"reason", change.reason}});
  return {{"concepts", concepts}, {"mission", mission}, {"changes", changes}};
}

}  // namespace assay::spec

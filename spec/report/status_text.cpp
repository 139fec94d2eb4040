#include <algorithm>

#include "reference/core/error.hpp"
#include "spec/nearest.hpp"
#include "spec/report/status.hpp"
#include "spec/report/text.hpp"

namespace assay::spec {
namespace {

struct Totals {
  int concepts = 0, complete = 0, pages = 0;
  ClaimCount claims;
  TrapCount traps;
  void add(const ConceptStatus& s) {
    ++concepts;
    complete += s.complete();
    pages += s.page;
    claims.listed += s.claims.listed;
    claims.bound += s.claims.bound;
    traps.listed += s.traps.listed;
    traps.dies += s.traps.dies;
  }
  std::string text() const {
    return std::to_string(complete) + " of " + std::to_string(concepts) + " concepts complete, " +
           std::to_string(pages) + " pages, " + of(claims.bound, claims.listed) + " claims bound, " +
           of(traps.dies, traps.listed) + " bugs die";
  }
  static std::string of(int have, int listed) {
    return std::to_string(have) + (listed ? " of " + std::to_string(listed) : "");
  }
};

std::string mark(bool there) { return there ? "yes" : "-"; }

std::string ratio(int have, int listed, int changed) {
  if (!listed) return have ? std::to_string(have) + " (none listed)" : "-";
  return std::to_string(have) + "/" + std::to_string(listed) +
         (changed ? " (" + std::to_string(changed) + " changed)" : "");
}

std::string gpu(const ConceptStatus& s) {
  std::vector<std::string> names;
  for (const auto& architecture : s.gpu)
    if (architecture.second) names.push_back(architecture.first);
  return names.empty() ? "-" : joined(names);
}

bool has_anything(const ConceptStatus& s) {
  return s.page || s.definition || s.vectors || s.claims.bound || s.claims.changed || s.traps.planted ||
         s.traps.changed || s.distributed || gpu(s) != "-";
}

std::vector<std::string> row(const ConceptStatus& s) {
  const bool without_op = s.page && s.op.empty();
  return {s.id,
          s.complete() ? "complete" : std::to_string(s.missing.size()) + " missing",
          mark(s.page),
          mark(s.definition),
          ratio(s.claims.bound, s.claims.listed, s.claims.changed),
          ratio(s.traps.dies, s.traps.listed, s.traps.changed),
          without_op ? "no op" : mark(s.subject),
          without_op ? "no op" : mark(s.second_opinion),
          mark(s.vectors),
          gpu(s),
          mark(s.distributed)};
}

std::string chapter_text(const std::string& chapter, const std::vector<const ConceptStatus*>& concepts) {
  Totals totals;
  std::vector<std::vector<std::string>> rows = {
      {"", "", "page", "definition", "claims", "bugs dead", "subject", "2nd opinion", "vectors", "gpu", "distributed"}};
  std::vector<std::string> nothing;
  for (const ConceptStatus* s : concepts) {
    totals.add(*s);
    if (has_anything(*s))
      rows.push_back(row(*s));
    else
      nothing.push_back(s->id.substr(s->id.find('.') + 1));
  }
  std::string out = chapter + ": " + totals.text() + "\n";
  if (rows.size() > 1) out += table(rows);
  if (!nothing.empty()) out += "  " + wrap("nothing yet: " + joined(nothing), 120, 4) + "\n";
  return out;
}

std::string mission_text(const std::vector<MissionStatus>& mission) {
  std::vector<std::string> complete, begun;
  std::size_t rest = 0;
  for (const MissionStatus& item : mission) {
    if (item.complete())
      complete.push_back(item.item);
    else if (item.incomplete.size() < item.concept_ids.size())
      begun.push_back(item.item);
    else
      ++rest;
  }
  std::string out = "mission: " + std::to_string(complete.size()) + " of " + std::to_string(mission.size()) +
                    " items complete, " + std::to_string(begun.size()) + " in part, " + std::to_string(rest) +
                    " not begun\n";
  if (!complete.empty()) out += "  " + wrap("complete: " + joined(complete), 120, 4) + "\n";
  if (!begun.empty()) out += "  " + wrap("in part: " + joined(begun), 120, 4) + "\n";
  return out;
}

std::string changes_text(const std::vector<Change>& changes) {
  if (changes.empty()) return "changes of the specification: none\n";
  std::vector<std::vector<std::string>> rows;
  for (const Change& c : changes)
    rows.push_back({c.kind + " " + c.id, c.action, c.into == "-" ? "" : c.into, c.reason});
  return "changes of the specification: " + std::to_string(changes.size()) + "\n" + table(rows, 2, 120);
}

}  // namespace

std::string status_text(const Status& status) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const ConceptStatus*>> chapters;
  Totals totals;
  for (const ConceptStatus& s : status.concepts) {
    const std::string chapter = s.listed ? s.chapter : "beyond the lists";
    if (!chapters.count(chapter)) order.push_back(chapter);
    chapters[chapter].push_back(&s);
    if (s.listed) totals.add(s);
  }
  std::string out;
  for (const std::string& chapter : order) out += chapter_text(chapter, chapters[chapter]) + "\n";
  return out + changes_text(status.changes) + "\n" + mission_text(status.mission) + "total: " + totals.text() + "\n";
}

std::string status_text(const Status& status, const std::string& concept_id) {
  std::vector<std::string> ids;
  for (const ConceptStatus& s : status.concepts) {
    ids.push_back(s.id);
    if (s.id != concept_id) continue;
    std::string out = s.id + ": " + (s.complete() ? "complete" : std::to_string(s.missing.size()) + " missing") + "\n";
    const std::vector<std::string> header = {
        "", "", "page", "definition", "claims", "bugs dead", "subject", "2nd opinion", "vectors", "gpu", "distributed"};
    out += table({header, row(s)});
    for (const std::string& one : s.missing) out += "  missing  " + one + "\n";
    std::vector<Change> changes;
    for (const Change& c : status.changes)
      if (c.id == s.id || c.id.substr(0, c.id.rfind('.')) == s.id || c.into.substr(0, c.into.rfind('.')) == s.id)
        changes.push_back(c);
    return out + (changes.empty() ? "" : changes_text(changes));
  }
  throw Error("no concept has this id", suggest(concept_id, ids), concept_id);
}

}  // namespace assay::spec

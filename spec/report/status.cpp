#include "spec/report/status.hpp"

#include <algorithm>

#include "spec/report/changes.hpp"
#include "spec/report/find.hpp"

namespace assay::spec {
namespace {

using Names = std::set<std::string>;

class Survey {
 public:
  Survey(const Lists& lists, const std::vector<Page>& pages, const Facts& facts)
      : lists_(lists), facts_(facts), changes_(lists.changes) {
    for (const Page& page : pages) {
      pages_[page.id] = &page;
      if (page.has_op) op_chapters_[page.op.name] = page.chapter;
    }
  }

  ConceptStatus survey(const std::string& id, const std::string& chapter, bool listed) const {
    ConceptStatus s;
    s.id = id;
    s.chapter = chapter;
    s.listed = listed;
    const auto found = pages_.find(id);
    const Page* page = found == pages_.end() ? nullptr : found->second;
    const std::string file = id.substr(id.find('.') + 1);
    s.page = need(s, page != nullptr, "page: spec/" + chapter + "/" + file + ".md");
    s.definition = need(s, facts_.definitions.count(id) > 0, "definition: reference/" + chapter + "/" + file + ".cpp");
    count_claims(s, page);
    count_traps(s, page);
    s.op = page ? op_of(*page) : "";
    if (!page || !s.op.empty()) {
      const auto home = op_chapters_.find(s.op);
      const std::string folder = "conformance/" + (home == op_chapters_.end() ? chapter : home->second) + "/";
      const std::string op = s.op.empty() ? "OP" : s.op;
      s.subject = need(s, facts_.subjects.count(s.op) > 0, "subject: " + folder + "subject/" + op + ".cpp");
      s.second_opinion = need(s, facts_.second_opinions.count(s.op) > 0,
                              "second opinion: " + folder + "second_opinion/" + op + ".cpp");
    }
    if (!page || !s.op.empty())
      s.vectors = need(s, facts_.vectors.count(id) > 0, "vectors: vectors/" + chapter + "/" + file);
    wings(s, page);
    return s;
  }

 private:
  static bool need(ConceptStatus& s, bool there, const std::string& what) {
    if (!there) s.missing.push_back(what);
    return there;
  }

  // Reported always, missing only if the page's `wings` name them.
  void wings(ConceptStatus& s, const Page* page) const {
    const auto wants = [&](const char* wing) {
      return page && std::find(page->wings.begin(), page->wings.end(), wing) != page->wings.end();
    };
    bool any = false;
    for (const auto& architecture : facts_.gpu) {
      s.gpu[architecture.first] = architecture.second.count(s.id) > 0;
      any = any || s.gpu[architecture.first];
    }
    if (wants("gpu")) need(s, any, "gpu: a kernel of any architecture");
    s.distributed = facts_.distributed.count(s.id) > 0;
    if (wants("distributed")) need(s, s.distributed, "distributed: the sharded form");
  }

  void count_claims(ConceptStatus& s, const Page* page) const {
    std::vector<std::string> wanted;
    for (const ListedClaim& claim : lists_.claims) {
      if (claim.concept_id != s.id) continue;
      ++s.claims.listed;
      s.claims.changed += changes_.find("claim", claim.id) != nullptr;
      if (!changes_.away("claim", claim.id)) wanted.push_back(claim.id);
    }
    for (const std::string& id : changes_.arrivals("claim", s.id)) wanted.push_back(id);
    Names on_page;
    if (page)
      for (const ClaimSpec& claim : page->claims) {
        on_page.insert(claim.id);
        if (std::find(wanted.begin(), wanted.end(), claim.id) == wanted.end()) wanted.push_back(claim.id);
      }
    for (const std::string& id : wanted) {
      if (!on_page.count(id))
        s.missing.push_back("claim " + id + ": not on the page");
      else if (!facts_.claims_bound.count(id))
        s.missing.push_back("claim " + id + ": no property is bound to it");
      else if (!facts_.claims_ran.count(id))
        s.missing.push_back("claim " + id + ": its property did not run");
      else
        ++s.claims.bound;
    }
  }

  void count_traps(ConceptStatus& s, const Page* page) const {
    std::vector<std::string> wanted;  // names
    for (const ListedTrap& trap : lists_.traps) {
      if (trap.concept_id != s.id) continue;
      ++s.traps.listed;
      s.traps.changed += changes_.find("trap", trap.id()) != nullptr;
      if (!changes_.away("trap", trap.id())) wanted.push_back(trap.name);
    }
    for (const std::string& id : changes_.arrivals("trap", s.id)) wanted.push_back(id.substr(id.rfind('.') + 1));
    Names on_page;
    if (page)
      for (const BugSpec& bug : page->bugs) {
        on_page.insert(bug.name);
        if (std::find(wanted.begin(), wanted.end(), bug.name) == wanted.end()) wanted.push_back(bug.name);
      }
    for (const std::string& name : wanted) {
      const std::string id = page ? bug_id(*page, name) : s.id + "." + name;
      const bool planted = on_page.count(name) && facts_.bugs_planted.count(id);
      const bool dies = planted && facts_.bugs_killed.count(id);
      s.traps.planted += planted;
      s.traps.dies += dies;
      if (!on_page.count(name))
        s.missing.push_back("bug " + id + ": not on the page");
      else if (!planted)
        s.missing.push_back("bug " + id + ": not planted");
      else if (!dies)
        s.missing.push_back("bug " + id + ": does not die wherever its page says");
    }
  }

  const Lists& lists_;
  const Facts& facts_;
  Changes changes_;
  std::map<std::string, const Page*> pages_;
  std::map<std::string, std::string> op_chapters_;
};

}  // namespace

Status status(const Lists& lists, const std::vector<Page>& pages, const Facts& facts) {
  Status result;
  result.changes = lists.changes;
  const Survey survey(lists, pages, facts);
  const Changes changes(lists.changes);
  Names listed, complete;
  std::map<std::string, std::string> stands_for;  // a concept merged or moved into another is complete with it
  for (const ListedConcept& one : lists.concepts) {
    listed.insert(one.id);
    if (changes.away("concept", one.id))
      stands_for[one.id] = changes.find("concept", one.id)->into;
    else
      result.concepts.push_back(survey.survey(one.id, one.chapter, true));
  }
  for (const Page& page : pages)
    if (!listed.count(page.id)) result.concepts.push_back(survey.survey(page.id, page.chapter, false));
  for (const ConceptStatus& one : result.concepts)
    if (one.complete()) complete.insert(one.id);
  for (const MissionItem& item : lists.mission) {
    MissionStatus mission{item.item, item.concept_ids, {}};
    for (const std::string& id : item.concept_ids) {
      const auto other = stands_for.find(id);
      const std::string& asked = other == stands_for.end() ? id : other->second;
      if (!complete.count(asked))
        mission.incomplete.push_back(id);  // a dropped concept ("-") leaves its items incomplete
    }
    result.mission.push_back(mission);
  }
  return result;
}

}  // namespace assay::spec

#include "spec/report/changes.hpp"

#include <set>

namespace assay::spec {

Changes::Changes(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    by_id_.emplace(std::make_pair(change.kind, change.id), change);
    if (change.action == "moved") by_target_.emplace(std::make_pair(change.kind, change.into), change);
  }
}

const Change* Changes::find(const std::string& kind, const std::string& id) const {
  const auto found = by_id_.find({kind, id});
  return found == by_id_.end() ? nullptr : &found->second;
}

bool Changes::away(const std::string& kind, const std::string& id) const {
  const Change* change = find(kind, id);
  return change && change->action != "altered";
}

const Change* Changes::moved_into(const std::string& kind, const std::string& id) const {
  const auto found = by_target_.find({kind, id});
  return found == by_target_.end() ? nullptr : &found->second;
}

std::vector<std::string> Changes::arrivals(const std::string& kind, const std::string& concept_id) const {
  std::vector<std::string> ids;
  for (const auto& entry : by_target_)
    if (entry.first.first == kind && entry.first.second.substr(0, entry.first.second.rfind('.')) == concept_id)
      ids.push_back(entry.first.second);
  return ids;
}

namespace {

struct Item {
  std::string kind, id, concept_id, nature, extra;  // nature: "exact target" of a claim
};

class Comparison {
 public:
  Comparison(const Lists& lists, const std::vector<Page>& pages) : changes_(lists.changes) {
    for (const ListedConcept& one : lists.concepts) concepts_.insert(one.id);
    for (const ListedClaim& c : lists.claims)
      listed_[{"claim", c.id}] = {"claim", c.id, c.concept_id, c.kind + " " + c.on, ""};
    for (const ListedTrap& t : lists.traps) listed_[{"trap", t.id()}] = {"trap", t.id(), t.concept_id, "", ""};
    for (const Page& page : pages) {
      with_page_.insert(page.id);
      for (const ClaimSpec& c : page.claims)
        on_pages_[{"claim", c.id}] = {"claim", c.id, page.id, c.kind + " " + c.on, c.extra};
      for (const BugSpec& b : page.bugs) {
        const std::string id = page.id + "." + b.name;
        on_pages_[{"trap", id}] = {"trap", id, page.id, "", b.extra};
      }
    }
  }

  std::vector<std::string> run(const std::vector<Change>& changes) {
    for (const auto& entry : on_pages_) on_page(entry.second);
    for (const auto& entry : listed_)
      if (with_page_.count(entry.second.concept_id) && !on_pages_.count(entry.first) &&
          !changes_.away(entry.first.first, entry.first.second))
        say(entry.second, "is listed, but neither on its page nor in spec/changes.tsv");
    for (const Change& change : changes) into(change);
    return found_;
  }

 private:
  void say(const Item& item, const std::string& what) { found_.push_back(item.kind + " " + item.id + ": " + what); }

  void on_page(const Item& item) {
    if (!concepts_.count(item.concept_id)) return;  // a page beyond the lists: everything on it is new
    const auto listed = listed_.find({item.kind, item.id});
    const bool arrived = changes_.moved_into(item.kind, item.id) != nullptr;
    if (listed == listed_.end() && !arrived && item.extra.empty())
      say(item, "is on the page but not listed: say why with `extra`");
    if ((listed != listed_.end() || arrived) && !item.extra.empty()) say(item, "has `extra` although it is listed");
    if (listed == listed_.end()) return;
    if (changes_.away(item.kind, item.id)) say(item, "is on the page although spec/changes.tsv says it is not");
    const Change* change = changes_.find(item.kind, item.id);
    const bool altered = change && change->action == "altered";
    if (altered && change->into != item.nature)
      say(item, "spec/changes.tsv says it is \"" + change->into + "\", its page \"" + item.nature + "\"");
    if (!altered && listed->second.nature != item.nature)
      say(item, "is listed as \"" + listed->second.nature + "\", its page says \"" + item.nature + "\"");
    if (altered && listed->second.nature == item.nature) say(item, "spec/changes.tsv alters nothing");
  }

  void into(const Change& change) {
    if (change.action != "merged" && change.action != "moved") return;
    const Item item{change.kind, change.id, "", "", ""};
    const bool exists = change.kind == "concept" ? concepts_.count(change.into) || with_page_.count(change.into)
                                                 : listed_.count({change.kind, change.into}) ||
                                                       on_pages_.count({change.kind, change.into}) ||
                                                       change.into.rfind("universal.", 0) == 0;
    const std::string concept_id = change.into.substr(0, change.into.rfind('.'));
    if (change.action == "moved" && change.kind != "concept") {
      if (!concepts_.count(concept_id) && !with_page_.count(concept_id))
        say(item, "is moved to " + concept_id + ", which is neither a listed concept nor a page");
      if (with_page_.count(concept_id) && !on_pages_.count({change.kind, change.into}))
        say(item, "is moved to " + change.into + ", which is not on the page of " + concept_id);
    } else if (!exists) {
      say(item, "goes into " + change.into + ", which does not exist");
    }
    if (changes_.away(change.kind, change.into))
      say(item, "goes into " + change.into + ", which is changed away itself");
  }

  using Key = std::pair<std::string, std::string>;
  Changes changes_;
  std::set<std::string> concepts_, with_page_;
  std::map<Key, Item> listed_, on_pages_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> disagreements(const Lists& lists, const std::vector<Page>& pages) {
  return Comparison(lists, pages).run(lists.changes);
}

}  // namespace assay::spec

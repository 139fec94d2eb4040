#include "spec/report/find.hpp"

#include "reference/core/error.hpp"
#include "spec/nearest.hpp"

namespace assay::spec {
namespace {

bool find_on_page(const std::string& id, const Page& page, Found& found, std::vector<std::string>& ids) {
  Found here;
  here.page = &page;
  here.whole_page = page.id == id;
  here.op = page.has_op && page.op.name == id;
  ids.push_back(page.id);
  if (page.has_op) ids.push_back(page.op.name);
  for (const ClaimSpec& claim : page.claims) {
    if (claim.id == id) here.claim = &claim;
    ids.push_back(claim.id);
  }
  for (const BugSpec& bug : page.bugs) {
    if (bug_id(page, bug.name) == id || page.id + "." + bug.name == id) here.bug = &bug;
    ids.push_back(bug_id(page, bug.name));
  }
  if (here.whole_page || here.op || here.claim || here.bug) found = here;
  return found.page != nullptr;
}

bool find_listed(const std::string& id, Found& found, std::vector<std::string>& ids) {
  for (const ListedConcept& one : lists().concepts) {
    if (one.id == id) found.listed_concept = &one;
    ids.push_back(one.id);
  }
  for (const ListedClaim& one : lists().claims) {
    if (one.id == id) found.listed_claim = &one;
    ids.push_back(one.id);
  }
  for (const ListedTrap& one : lists().traps) {
    if (one.id() == id) found.listed_trap = &one;
    ids.push_back(one.id());
  }
  return found.listed_concept || found.listed_claim || found.listed_trap;
}

}  // namespace

Found find(const std::string& id) {
  Found found;
  std::vector<std::string> ids;
  for (const Page& page : pages())
    if (find_on_page(id, page, found, ids)) return found;
  if (find_listed(id, found, ids)) return found;
  throw Error("no concept, op, claim or bug has this id", suggest(id, ids), id);
}

std::string op_of(const Page& page) { return page.has_op ? page.op.name : page.uses; }

std::string bug_id(const Page& page, const std::string& bug) {
  return (op_of(page).empty() ? page.id : op_of(page)) + "." + bug;
}

std::string short_name(const Page& page, const ClaimSpec& claim) { return claim.id.substr(page.id.size() + 1); }

}  // namespace assay::spec

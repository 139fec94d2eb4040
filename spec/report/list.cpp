#include "spec/report/list.hpp"

#include <nlohmann/json.hpp>

#include "reference/core/error.hpp"
#include "spec/report/explain.hpp"
#include "spec/report/find.hpp"
#include "spec/report/text.hpp"

namespace assay::spec {
namespace {

// One table for both forms: the names of the columns, then the rows.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

Listing concepts() {
  Listing list{{"id", "op", "title"}, {}};
  for (const Page& page : pages()) list.rows.push_back({page.id, op_of(page).empty() ? "-" : op_of(page), page.title});
  return list;
}

Listing claims() {
  Listing list{{"id", "kind", "on", "says"}, {}};
  for (const Page& page : pages())
    for (const ClaimSpec& claim : page.claims) list.rows.push_back({claim.id, claim.kind, claim.on, claim.says});
  return list;
}

Listing ops() {
  Listing list{{"op", "page", "signature"}, {}};
  for (const Page& page : pages())
    if (page.has_op) list.rows.push_back({page.op.name, page.id, signature(page.op)});
  return list;
}

Listing bugs() {
  Listing list{{"id", "caught_by", "says"}, {}};
  for (const Page& page : pages())
    for (const BugSpec& bug : page.bugs) {
      const bool universal = bug.caught_by.rfind("universal.", 0) == 0;
      list.rows.push_back(
          {bug_id(page, bug.name), universal ? bug.caught_by : page.id + "." + bug.caught_by, bug.says});
    }
  return list;
}

Listing known_lines(const char* column, const std::vector<KnownLine>& lines) {
  Listing list{{column, "says"}, {}};
  for (const KnownLine& line : lines) list.rows.push_back({line.name, line.says});
  return list;
}

Listing listing(const std::string& what, const Known& known) {
  if (what == "concepts") return concepts();
  if (what == "claims") return claims();
  if (what == "ops") return ops();
  if (what == "bugs") return bugs();
  if (what == "targets") return known_lines("target", known.targets);
  if (what == "contracts") return known_lines("contract", known.contracts);
  throw Error("what to list", "one of " + joined(listable()), what);
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> words = {"concepts", "claims", "ops", "bugs", "targets", "contracts"};
  return words;
}

std::string list_text(const std::string& what, const Known& known) {
  return table(listing(what, known).rows, 0, 100000);  // one a line, for grep
}

nlohmann::ordered_json list_json(const std::string& what, const Known& known) {
  const Listing list = listing(what, known);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& row : list.rows) {
    nlohmann::ordered_json one = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) one[list.columns[i]] = row[i];
    json.push_back(one);
  }
  return json;
}

}  // namespace assay::spec

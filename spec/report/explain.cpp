#include "spec/report/explain.hpp"

#include <charconv>

#include "spec/report/find.hpp"
#include "spec/report/text.hpp"

namespace assay::spec {
namespace {

std::string number(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string type_words(const std::string& dtype) {
  if (dtype == "in" || dtype == "out") return dtype + "put format";
  return dtype == "acc" ? "accumulator format" : dtype;
}

std::vector<std::string> tensor_row(const TensorSpec& tensor) {
  const std::string when =
      tensor.when_option.empty() ? "" : "if " + tensor.when_option + "=" + tensor.when_value + ": ";
  const std::string fill = tensor.fill.empty() ? "" : " (" + tensor.fill + " of " + joined(tensor.fill_of) + ")";
  return {tensor.name, "[" + joined(tensor.shape) + "]", type_words(tensor.dtype), when + tensor.says + fill};
}

std::string explain_op(const OpSpec& op, const std::string& page_id) {
  std::string out = "op " + signature(op) + "   (page " + page_id + ")\n";
  std::vector<std::vector<std::string>> rows;
  for (const TensorSpec& tensor : op.inputs) rows.push_back(tensor_row(tensor));
  out += "inputs\n" + table(rows);
  rows.clear();
  for (const TensorSpec& tensor : op.outputs) rows.push_back(tensor_row(tensor));
  out += "outputs\n" + table(rows);
  for (const TensorSpec& tensor : op.outputs) {
    if (tensor.decision.empty()) continue;
    out += "  " +
           wrap(tensor.name + " is a decision (" + tensor.decision +
                    "): any choice that scores within their errors can lead to is accepted, and the other outputs are "
                    "judged under it.",
                120, 2) +
           "\n";
  }
  rows.clear();
  for (const OptionSpec& option : op.options) {
    std::vector<std::string> values = option.names;
    for (double value : option.numbers) values.push_back(number(value));
    values.front() += " (default)";
    rows.push_back({option.name, joined(values), option.says});
  }
  if (!rows.empty()) out += "options\n" + table(rows);
  if (!op.validated) out += "Judged by the worst case alone: the error model of this op has not been validated yet.\n";
  if (!op.rows.empty()) out += "Rows along " + op.rows + " are independent of each other.\n";
  return out;
}

std::string explain_claim(const Page& page, const ClaimSpec& claim) {
  std::string out = "claim " + claim.id + "   " + claim.kind + ", on " + claim.on + "   (page " + page.id + ")\n  " +
                    wrap(claim.says, 120, 2) + "\n";
  if (!claim.extra.empty()) out += "  " + wrap("Not in the list of claims: " + claim.extra, 120, 2) + "\n";
  std::vector<std::string> bugs;
  for (const BugSpec& bug : page.bugs)
    if (bug.caught_by == short_name(page, claim)) bugs.push_back(bug_id(page, bug.name));
  if (!bugs.empty()) out += "  " + wrap("Catches " + joined(bugs) + ".", 120, 2) + "\n";
  return out;
}

std::string deaths(const BugSpec& bug) {
  std::vector<std::string> list;
  for (const DiesAt& death : bug.dies) list.push_back(death.contract + " " + death.tier);
  return joined(list);
}

std::string explain_bug(const Page& page, const BugSpec& bug) {
  std::vector<std::vector<std::string>> rows = {{"planted", bug.says}, {"effect", bug.effect}};
  if (!bug.seen.empty()) rows.push_back({"seen in", joined(bug.seen)});
  rows.push_back(
      {"caught by", bug.caught_by.rfind("universal.", 0) == 0 ? bug.caught_by : page.id + "." + bug.caught_by});
  rows.push_back({"dies at", deaths(bug)});
  if (!bug.extra.empty()) rows.push_back({"not listed", bug.extra});
  return "bug " + bug_id(page, bug.name) + "   (page " + page.id + ")\n" + table(rows);
}

std::string explain_cases(const CaseSpec& cases) {
  std::vector<std::vector<std::string>> rows;
  for (const auto* ranges : {&cases.sizes, &cases.also})
    for (const Range& range : *ranges)
      rows.push_back({range.name, std::to_string(range.low) + " to " + std::to_string(range.high)});
  for (const Product& product : cases.products)
    rows.push_back({product.name, joined(product.of) + (product.sum ? ": their sum" : ": their product")});
  if (!cases.profiles.empty()) rows.push_back({"profile", joined(cases.profiles)});
  for (const std::string& corner : cases.corners) rows.push_back({"corner", corner});
  return "cases\n" + table(rows);
}

std::string explain_page(const Page& page) {
  std::string out = page.title + "   " + page.id + " (" + page.path + ")\n\n" + page.body + "\n";
  if (page.has_op) out += explain_op(page.op, page.id) + "\n";
  if (!page.uses.empty()) out += "op " + page.uses + ", of page " + page_of_op(page.uses).id + "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const ClaimSpec& claim : page.claims)
    rows.push_back({short_name(page, claim), claim.kind, claim.on, claim.says});
  out += "claims: " + std::to_string(rows.size()) + "\n" + table(rows);
  rows.clear();
  for (const BugSpec& bug : page.bugs)
    rows.push_back({bug.name, bug.says + ": " + bug.effect + ". " +
                                  (bug.seen.empty() ? "" : "Seen: " + joined(bug.seen) + ". ") + "Caught by " +
                                  bug.caught_by + "; dies at " + deaths(bug) + "."});
  if (!rows.empty()) out += "\nplanted bugs: " + std::to_string(rows.size()) + "\n" + table(rows);
  return out + "\n" + explain_cases(page.cases) + "\nsources\n" + [&] {
    std::string sources;
    for (const std::string& source : page.source) sources += "  " + wrap(source, 120, 4) + "\n";
    return sources;
  }();
}

std::string explain_listed(const Found& found) {
  if (found.listed_claim)
    return "claim " + found.listed_claim->id + "   " + found.listed_claim->kind + ", on " + found.listed_claim->on +
           "   (listed; not on a page yet)\n  " + wrap(found.listed_claim->says, 120, 2) + "\n";
  if (found.listed_trap)
    return "bug " + found.listed_trap->id() + "   (listed; not on a page yet)\n" +
           table({{"planted", found.listed_trap->says}, {"seen in", found.listed_trap->seen}});
  const std::string& id = found.listed_concept->id;
  std::vector<std::vector<std::string>> claims, traps;
  for (const ListedClaim& claim : lists().claims)
    if (claim.concept_id == id) claims.push_back({claim.id.substr(id.size() + 1), claim.kind, claim.on, claim.says});
  for (const ListedTrap& trap : lists().traps)
    if (trap.concept_id == id) traps.push_back({trap.name, trap.says});
  return id + "   (listed; it has no page yet: assay new " + found.listed_concept->chapter + "/" +
         id.substr(id.find('.') + 1) + ")\n\nclaims: " + std::to_string(claims.size()) + "\n" + table(claims) +
         "\nbugs to plant: " + std::to_string(traps.size()) + "\n" + table(traps);
}

}  // namespace

std::string signature(const OpSpec& op) {
  std::vector<std::string> in, out;
  for (const TensorSpec& tensor : op.inputs) in.push_back(tensor.name + (tensor.when_option.empty() ? "" : "?"));
  for (const TensorSpec& tensor : op.outputs) out.push_back(tensor.name + (tensor.when_option.empty() ? "" : "?"));
  return op.name + "(" + joined(in) + ") -> " + joined(out);
}

std::string explain(const std::string& id) {
  const Found found = find(id);
  if (!found.page) return explain_listed(found);
  if (found.whole_page) return explain_page(*found.page);
  std::string out;
  if (found.op) out += explain_op(found.page->op, found.page->id);
  if (found.claim) out += explain_claim(*found.page, *found.claim);
  if (found.bug) out += (out.empty() ? "" : "\n") + explain_bug(*found.page, *found.bug);
  return out;
}

}  // namespace assay::spec

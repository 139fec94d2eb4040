#include "spec/compiler/literal.hpp"
#include "spec/compiler/read_lists.hpp"

namespace assay::spec {

std::string list_table_source(const Lists& lists) {
  std::string rows;
  for (const ListedConcept& c : lists.concepts) rows += table_row("concept", {c.id, c.chapter, c.catalogue_id});
  for (const ListedClaim& c : lists.claims) rows += table_row("claim", {c.concept_id, c.id, c.kind, c.on, c.says});
  for (const ListedTrap& t : lists.traps) rows += table_row("trap", {t.concept_id, t.name, t.says, t.seen});
  for (const MissionItem& m : lists.mission) rows += table_row("mission", {m.item, join(m.concept_ids, " ")});
  for (const Change& c : lists.changes) rows += table_row("change", {c.kind, c.id, c.action, c.into, c.reason});
  return "// Generated from spec/*.tsv by spec/compiler; do not edit.\n#include \"spec/lists.hpp\"\n\n"
         "namespace assay::spec {\nnamespace {\n\nconst ListRow rows[] = {\n" +
         rows +
         "};\n\n}  // namespace\n\nListTable list_table() { return {rows, sizeof rows / sizeof *rows}; }\n\n"
         "}  // namespace assay::spec\n";
}

}  // namespace assay::spec

#include "spec/compiler/compile.hpp"

namespace assay::spec {

std::vector<ClaimSpec> read_claims(Reader& reader, const YAML::Node& node, const std::string& page_id) {
  std::vector<ClaimSpec> list;
  for (const Entry& entry : reader.entries(node, "claims")) {
    const std::string here = "claims." + entry.name;
    auto fields = reader.fields(entry.value, here, keys_of("claim"));
    ClaimSpec claim;
    claim.id = page_id + "." + entry.name;
    if (fields.count("kind")) claim.kind = reader.one_of(fields["kind"], here + ".kind", claim_kinds());
    if (fields.count("on")) claim.on = reader.one_of(fields["on"], here + ".on", claim_subjects());
    if (fields.count("says")) claim.says = reader.text(fields["says"], here + ".says");
    if (fields.count("extra")) claim.extra = reader.text(fields["extra"], here + ".extra");
    list.push_back(claim);
  }
  return list;
}

std::vector<BugSpec> read_bugs(Reader& reader, const YAML::Node& node, const std::vector<ClaimSpec>& claims,
                               const std::string& page_id) {
  Words names;
  for (const ClaimSpec& claim : claims) names.push_back(claim.id.substr(page_id.size() + 1));
  std::vector<BugSpec> list;
  for (const Entry& entry : reader.entries(node, "bugs")) {
    const std::string here = "bugs." + entry.name;
    auto fields = reader.fields(entry.value, here, keys_of("bug"));
    BugSpec bug;
    bug.name = entry.name;
    if (fields.count("says")) bug.says = reader.text(fields["says"], here + ".says");
    if (fields.count("effect")) bug.effect = reader.text(fields["effect"], here + ".effect");
    if (fields.count("seen")) {
      bug.seen = reader.texts(fields["seen"], here + ".seen");
      if (bug.seen.empty() && fields["seen"].IsSequence())
        reader.mistake(fields["seen"], here + ".seen", "expected where the bug was shipped or described, found none");
    }
    if (fields.count("extra")) bug.extra = reader.text(fields["extra"], here + ".extra");
    if (fields.count("caught_by")) {
      bug.caught_by = reader.text(fields["caught_by"], here + ".caught_by");
      const bool universal =
          bug.caught_by.rfind("universal.", 0) == 0 && is_identifier(bug.caught_by.substr(10), false);
      if (!universal && !contains(names, bug.caught_by))
        reader.mistake(fields["caught_by"], here + ".caught_by",
                       "expected a claim of this page or universal.NAME, found " + quoted(bug.caught_by));
      for (const ClaimSpec& claim : claims)
        if (claim.id == page_id + "." + bug.caught_by && claim.on == "definition")
          reader.mistake(fields["caught_by"], here + ".caught_by",
                         "expected a claim on: target, found " + quoted(bug.caught_by) +
                             ", which is on: definition and sees no subject");
    }
    if (fields.count("dies")) {
      for (const Entry& death : reader.entries(fields["dies"], here + ".dies")) {
        if (!contains(bug_contracts(), death.name))
          reader.mistake(death.key, here + ".dies",
                         "expected a contract (" + join(bug_contracts(), ", ") + "), found " + quoted(death.name));
        bug.dies.push_back({death.name, reader.one_of(death.value, here + ".dies." + death.name, bug_tiers())});
      }
      if (bug.dies.empty())
        reader.mistake(fields["dies"], here + ".dies", "expected at least one contract, found none");
    }
    list.push_back(bug);
  }
  return list;
}

}  // namespace assay::spec

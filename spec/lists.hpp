#pragma once
#include <map>
#include <string>
#include <vector>

// The lists of the specification (spec/*.tsv): everything that is to be there. Compiled in, so that a binary stands
// alone.
namespace assay::spec {

/// A concept to specify. `catalogue_id`: the name it has in mission.tsv.
struct ListedConcept {
  std::string id, chapter, catalogue_id;
};

struct ListedClaim {
  std::string concept_id, id, kind, on, says;  // id: "softmax.safe.sum1"
};

/// A bug to plant.
struct ListedTrap {
  std::string concept_id, name, says, seen;
  std::string id() const { return concept_id + "." + name; }
};

/// An item of the mission and the concepts that answer it (final ids).
struct MissionItem {
  std::string item;
  std::vector<std::string> concept_ids;
};

/// A line of spec/changes.tsv: a listed claim, trap or concept that is not on its page as the list says, and why.
/// `action`:
///   merged   `into` another claim or trap that covers it      moved   to another concept: `into` is its new id
///   dropped  not specified: `into` is "-"                      altered a claim's kind or subject: `into` is "KIND ON"
/// It changes the specification for all targets; a waiver belongs to one target.
struct Change {
  std::string kind, id, action, into, reason;
};

struct Lists {
  std::vector<ListedConcept> concepts;
  std::vector<ListedClaim> claims;
  std::vector<ListedTrap> traps;
  std::vector<MissionItem> mission;
  std::vector<Change> changes;
};

const Lists& lists();

/// A line of a list as compiled in; generated. `list`: "concept", "claim", "trap", "mission", "change".
struct ListRow {
  const char* list;
  const char* field[5];
};
struct ListTable {
  const ListRow* rows;
  std::size_t count;
};
ListTable list_table();

}  // namespace assay::spec

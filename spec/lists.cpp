#include "spec/lists.hpp"

#include <sstream>

#include "reference/core/error.hpp"

namespace assay::spec {
namespace {

void add(Lists& lists, const ListRow& row) {
  const std::string list = row.list;
  const auto& f = row.field;
  if (list == "concept") {
    lists.concepts.push_back({f[0], f[1], f[2]});
  } else if (list == "claim") {
    lists.claims.push_back({f[0], f[1], f[2], f[3], f[4]});
  } else if (list == "trap") {
    lists.traps.push_back({f[0], f[1], f[2], f[3]});
  } else if (list == "change") {
    lists.changes.push_back({f[0], f[1], f[2], f[3], f[4]});
  } else if (list == "mission") {
    MissionItem item{f[0], {}};
    std::istringstream ids(f[1]);
    for (std::string id; ids >> id;) item.concept_ids.push_back(id);
    lists.mission.push_back(item);
  } else {
    throw Error("table of the lists", "a known list", list);
  }
}

}  // namespace

const Lists& lists() {
  static const Lists all = [] {
    Lists list;
    const ListTable table = list_table();
    for (std::size_t i = 0; i < table.count; ++i) add(list, table.rows[i]);
    return list;
  }();
  return all;
}

}  // namespace assay::spec

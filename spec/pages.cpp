#include <algorithm>

#include "reference/core/error.hpp"
#include "spec/nearest.hpp"
#include "spec/page.hpp"
#include "spec/rows.hpp"

namespace assay {

const std::vector<Page>& pages() {
  static const std::vector<Page> all = [] {
    std::vector<Page> list;
    for (const std::vector<Page>* chapter : spec::chapter_tables())
      list.insert(list.end(), chapter->begin(), chapter->end());
    std::sort(list.begin(), list.end(), [](const Page& a, const Page& b) { return a.id < b.id; });
    return list;
  }();
  return all;
}

const Page& page(const std::string& id) {
  std::vector<std::string> ids;
  for (const Page& one : pages()) {
    if (one.id == id) return one;
    ids.push_back(one.id);
  }
  throw Error("no page has this id", spec::suggest(id, ids), id);
}

const Page& page_of_op(const std::string& op) {
  std::vector<std::string> names;
  for (const Page& one : pages()) {
    if (!one.has_op) continue;
    if (one.op.name == op) return one;
    names.push_back(one.op.name);
  }
  throw Error("no page has an op of this name", spec::suggest(op, names), op);
}

}  // namespace assay

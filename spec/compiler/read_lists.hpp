#pragma once
#include <map>
#include <string>
#include <vector>

#include "spec/compiler/reader.hpp"
#include "spec/lists.hpp"

namespace assay::spec {

/// The lists in the files spec/{concepts,claims,traps,mission,changes}.tsv, given by name ("claims") and content, and
/// every mistake in them: columns, ids, kinds, repetitions, concepts and claims that are not listed.
struct ReadLists {
  Lists lists;
  std::vector<Mistake> mistakes;
};
ReadLists read_lists(const std::map<std::string, std::string>& files);

/// The generated table of the lists.
std::string list_table_source(const Lists& lists);

}  // namespace assay::spec

#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "spec/lists.hpp"
#include "spec/page.hpp"

namespace assay::spec {

/// What is there, gathered by the caller: this file knows only pages and lists.
struct Facts {
  std::set<std::string> definitions;                 // concept ids: reference/CHAPTER/CONCEPT.cpp
  std::set<std::string> vectors;                     // concept ids with golden vectors
  std::set<std::string> distributed;                 // concept ids
  std::map<std::string, std::set<std::string>> gpu;  // architecture -> concept ids
  std::set<std::string> subjects, second_opinions;   // ops
  std::set<std::string> claims_bound,
      claims_ran;  // claim ids: a property is registered; it ran and did so on >= 1 case
  std::set<std::string> bugs_planted, bugs_killed;  // OP.BUG: a switch of the subject; died wherever its page says
};

struct ClaimCount {
  int listed = 0, bound = 0, changed = 0;  // bound: to a property that ran
};
struct TrapCount {
  int listed = 0, planted = 0, dies = 0, changed = 0;
};

/// One concept: complete if nothing is missing. A page without an op needs no subject and no second opinion.
struct ConceptStatus {
  std::string id, chapter, op;
  bool listed = true;  // false: a page beyond the lists
  bool page = false, definition = false, subject = false, second_opinion = false, vectors = false, distributed = false;
  ClaimCount claims;
  TrapCount traps;
  std::map<std::string, bool> gpu;
  std::vector<std::string> missing;  // in words
  bool complete() const { return missing.empty(); }
};

struct MissionStatus {
  std::string item;
  std::vector<std::string> concept_ids, incomplete;
  bool complete() const { return incomplete.empty(); }
};

struct Status {
  std::vector<ConceptStatus> concepts;  // in order of the lists, then pages beyond them
  std::vector<MissionStatus> mission;
  std::vector<Change> changes;
};

/// The files of the source tree this was built from, when it was configured: definitions
/// (reference/CHAPTER/CONCEPT.cpp), vectors (vectors/CHAPTER/CONCEPT/*.safetensors), subjects and second opinions
/// (conformance/CHAPTER/subject/OP.cpp and so on). The rest of the facts is the caller's.
Facts tree_facts();

/// The lists minus what is there.
Status status(const Lists& lists, const std::vector<Page>& pages, const Facts& facts);

/// A table per chapter, the mission, totals and the changes of the specification. Chapters and concepts with nothing
/// are named, not hidden.
std::string status_text(const Status& status);
/// What one concept has and lacks. Throws Error naming the nearest ids.
std::string status_text(const Status& status, const std::string& concept_id);
/// {"concepts": [{id, complete, page, definition, claims, traps, subject, vectors, second_opinion, gpu, distributed}],
///  "mission": [{item, complete}], "changes": [...]}. subject, second_opinion: null for a page without an op.
nlohmann::ordered_json status_json(const Status& status);

}  // namespace assay::spec

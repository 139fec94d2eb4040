#pragma once
#include <string>

#include "spec/lists.hpp"
#include "spec/page.hpp"

namespace assay::spec {

/// What an id names: a concept ("softmax.safe"), an op ("softmax"), a claim ("softmax.safe.sum1"), a bug
/// ("softmax.finite_mask" of an op, or "softmax.safe.finite_mask" of a page), or something listed that has no page yet.
/// Several may be set: an id can name a claim and a bug.
struct Found {
  const Page* page = nullptr;  // the page of all the rest
  bool whole_page = false, op = false;
  const ClaimSpec* claim = nullptr;
  const BugSpec* bug = nullptr;
  const ListedConcept* listed_concept = nullptr;  // these three: listed, not on a page
  const ListedClaim* listed_claim = nullptr;
  const ListedTrap* listed_trap = nullptr;
};

/// Throws Error naming the nearest ids.
Found find(const std::string& id);

/// The op a page's claims run on: its own, or the one it uses; "" if it has none.
std::string op_of(const Page& page);
/// "softmax.finite_mask": the bug's name as a planted target, OP.BUG, or CONCEPT.BUG on a page without an op.
std::string bug_id(const Page& page, const std::string& bug);
/// "sum1" of "softmax.safe.sum1".
std::string short_name(const Page& page, const ClaimSpec& claim);

}  // namespace assay::spec

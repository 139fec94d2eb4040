#pragma once
#include "spec/lists.hpp"
#include "spec/page.hpp"
#include "spec/report/status.hpp"

namespace assay::spec {

// A small specification: two listed concepts, one of them with a page; everything of it is there.
inline Lists toy_lists() {
  Lists lists;
  lists.concepts = {{"norm.rms", "norm", "norm.rms"}, {"norm.layer", "norm", "norm.layer"}};
  lists.claims = {{"norm.rms", "norm.rms.sign", "exact", "target", "odd"},
                  {"norm.rms", "norm.rms.scale", "rounding", "definition", "scale"},
                  {"norm.layer", "norm.layer.shift", "rounding", "definition", "shift"}};
  lists.traps = {{"norm.rms", "eps_outside", "eps after the root", "somewhere"}};
  lists.mission = {{"A RMS", {"norm.rms"}}, {"A both", {"norm.rms", "norm.layer"}}};
  return lists;
}

inline Page toy_page() {
  Page page;
  page.id = "norm.rms";
  page.chapter = "norm";
  page.has_op = true;
  page.op.name = "rms_norm";
  page.claims = {{"norm.rms.sign", "exact", "target", "odd", ""},
                 {"norm.rms.scale", "rounding", "definition", "s", ""}};
  page.bugs = {{"eps_outside", "s", "e", "sign", {}, {{"fp32", "structured"}}, ""}};
  return page;
}

inline Facts toy_facts() {
  Facts facts;
  facts.definitions = facts.vectors = {"norm.rms"};
  facts.subjects = facts.second_opinions = {"rms_norm"};
  facts.claims_bound = facts.claims_ran = {"norm.rms.sign", "norm.rms.scale"};
  facts.bugs_planted = facts.bugs_killed = {"rms_norm.eps_outside"};
  facts.gpu = {{"sm_80", {}}, {"sm_90", {"norm.layer"}}};
  return facts;
}

}  // namespace assay::spec

#include <gtest/gtest.h>

#include <functional>

#include "spec/report/changes.hpp"
#include "spec/report/tests/toy.hpp"

namespace assay::spec {
namespace {

// The specification itself: the lists, their changes and the pages agree.
TEST(Traceability, ListsChangesAndPagesAgree) {
  for (const std::string& one : disagreements(lists(), pages())) ADD_FAILURE() << one;
  EXPECT_GT(pages().size(), 0u);
}

struct Break {
  std::function<void(Lists&, Page&)> edit;
  const char* message;
};

TEST(Traceability, EveryDisagreementIsFound) {
  ASSERT_TRUE(disagreements(toy_lists(), {toy_page()}).empty());
  const Break breaks[] = {
      {[](Lists&, Page& p) { p.claims.pop_back(); }, "claim norm.rms.scale: is listed, but neither on its page nor in"},
      {[](Lists&, Page& p) { p.bugs.clear(); }, "trap norm.rms.eps_outside: is listed, but neither on its page nor in"},
      {[](Lists&, Page& p) {
         p.claims.push_back({"norm.rms.x", "exact", "target", "s", ""});
       },
       "claim norm.rms.x: is on the page but not listed"},
      {[](Lists&, Page& p) {
         p.bugs.push_back({"x", "s", "e", "sign", {}, {}, ""});
       },
       "trap norm.rms.x: is on the page but not listed"},
      {[](Lists&, Page& p) { p.claims[0].extra = "why"; }, "claim norm.rms.sign: has `extra` although it is listed"},
      {[](Lists&, Page& p) { p.claims[0].kind = "rounding"; },
       "claim norm.rms.sign: is listed as \"exact target\", its page says \"rounding target\""},
      {[](Lists& l, Page&) {
         l.changes = {{"claim", "norm.rms.sign", "altered", "rounding target", "r"}};
       },
       "claim norm.rms.sign: spec/changes.tsv says it is \"rounding target\", its page \"exact target\""},
      {[](Lists& l, Page&) {
         l.changes = {{"claim", "norm.rms.sign", "altered", "exact target", "r"}};
       },
       "claim norm.rms.sign: spec/changes.tsv alters nothing"},
      {[](Lists& l, Page&) {
         l.changes = {{"claim", "norm.rms.sign", "dropped", "-", "r"}};
       },
       "claim norm.rms.sign: is on the page although"},
      {[](Lists& l, Page& p) {
         p.claims.pop_back();
         l.changes = {{"claim", "norm.rms.scale", "merged", "norm.rms.sing", "r"}};
       },
       "claim norm.rms.scale: goes into norm.rms.sing, which does not exist"},
      {[](Lists& l, Page& p) {
         p.claims.clear();
         l.changes = {{"claim", "norm.rms.scale", "merged", "norm.rms.sign", "r"},
                      {"claim", "norm.rms.sign", "dropped", "-", "r"}};
       },
       "claim norm.rms.scale: goes into norm.rms.sign, which is changed away itself"},
      {[](Lists& l, Page&) {
         l.changes = {{"claim", "norm.layer.shift", "moved", "norm.rms.shift", "r"}};
       },
       "claim norm.layer.shift: is moved to norm.rms.shift, which is not on the page of norm.rms"},
      {[](Lists& l, Page&) {
         l.changes = {{"claim", "norm.layer.shift", "moved", "norm.rsm.shift", "r"}};
       },
       "claim norm.layer.shift: is moved to norm.rsm, which is neither a listed concept nor a page"},
  };
  for (const Break& one : breaks) {
    Lists lists = toy_lists();
    Page page = toy_page();
    one.edit(lists, page);
    std::string found;
    for (const std::string& text : disagreements(lists, {page})) found += "\n" + text;
    EXPECT_NE(found.find(std::string("\n") + one.message), std::string::npos) << one.message << "\nfound:" << found;
  }
}

TEST(Traceability, WhatTheChangesAllowIsAccepted) {
  Lists lists = toy_lists();
  Page page = toy_page();
  page.claims.pop_back();
  page.claims[0].kind = "rounding";
  page.claims.push_back({"norm.rms.shift", "rounding", "definition", "s", ""});
  page.claims.push_back({"norm.rms.new", "rounding", "definition", "s", "found on the way"});
  page.bugs.clear();
  lists.changes = {{"claim", "norm.rms.scale", "merged", "norm.rms.new", "r"},
                   {"claim", "norm.rms.sign", "altered", "rounding target", "r"},
                   {"claim", "norm.layer.shift", "moved", "norm.rms.shift", "r"},
                   {"trap", "norm.rms.eps_outside", "dropped", "-", "r"}};
  for (const std::string& one : disagreements(lists, {page})) ADD_FAILURE() << one;
  Page beyond = toy_page();
  beyond.id = "norm.toy";
  beyond.claims = {{"norm.toy.x", "exact", "target", "s", ""}};
  for (const std::string& one : disagreements(lists, {page, beyond})) ADD_FAILURE() << one;
}

}  // namespace
}  // namespace assay::spec

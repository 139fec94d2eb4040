#pragma once
#include <string>
#include <vector>

#include "spec/lists.hpp"
#include "spec/page.hpp"

namespace assay::spec {

/// What the skeleton of a concept is made from.
struct NewConcept {
  std::string chapter, name;   // "norm", "rms"
  std::string op, options;     // "rms_norm", "RmsNormOptions"
  std::string function;        // of the definition
  std::string header;          // of the options: "norm/rms"
  const Page* used = nullptr;  // the page whose op this one uses; null if it has its own
  bool listed = false;
  std::vector<ClaimSpec> claims;
  std::vector<ListedTrap> traps;
  std::string id() const { return chapter + "." + name; }
  std::string page() const { return "spec/" + chapter + "/" + name + ".md"; }
};

std::string new_page(const NewConcept& c);
std::string new_header(const NewConcept& c);
std::string new_definition(const NewConcept& c);
std::string new_claims(const NewConcept& c);
std::string new_subject(const NewConcept& c);
std::string new_second_opinion(const NewConcept& c);

}  // namespace assay::spec

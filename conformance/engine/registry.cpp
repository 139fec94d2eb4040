#include <algorithm>

#include "conformance/engine/claim.hpp"

namespace assay {
namespace {

std::vector<Claim>& registered() {
  static std::vector<Claim> list;
  return list;
}
constexpr std::string_view universal = "universal.";

/// Claims met with the pages: each is on a page once.
std::vector<Claim> resolve() {
  std::vector<Claim> list;
  for (Claim claim : registered()) {
    if (claim.id.starts_with(universal)) continue;
    for (const Page& p : pages()) {
      for (const ClaimSpec& spec : p.claims) {
        if (spec.id == claim.id) claim.spec = &spec, claim.page = &p;
      }
    }
    if (claim.spec == nullptr)
      throw Error("a claim is registered that is on no page", "a claim of a page in spec/", claim.id);
    list.push_back(claim);
  }
  std::sort(list.begin(), list.end(), [](const Claim& a, const Claim& b) { return a.id < b.id; });
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].id == list[i - 1].id) throw Error("a claim is registered twice", "one property", list[i].id);
  }
  return list;
}

std::vector<Claim> resolve_universal() {
  static const std::vector<ClaimSpec> specs = [] {
    std::vector<ClaimSpec> all;
    for (const Claim& c : registered()) {
      if (!c.id.starts_with(universal)) continue;
      ClaimSpec spec;
      spec.id = c.id;
      spec.kind = "exact";
      spec.on = c.on;
      all.push_back(spec);
    }
    return all;
  }();
  std::vector<Claim> list;
  std::size_t next = 0;
  for (Claim claim : registered()) {
    if (!claim.id.starts_with(universal)) continue;
    claim.spec = &specs[next++];
    list.push_back(claim);
  }
  std::sort(list.begin(), list.end(), [](const Claim& a, const Claim& b) { return a.id < b.id; });
  return list;
}

}  // namespace

RegisterClaim::RegisterClaim(const char* id, Property property, const char* on) {
  registered().push_back({id, property, nullptr, nullptr, on});
}

const std::vector<Claim>& claims() {
  static const std::vector<Claim> list = resolve();
  return list;
}

const std::vector<Claim>& universal_claims() {
  static const std::vector<Claim> list = resolve_universal();
  return list;
}

}  // namespace assay

#include "spec/report/skeleton_parts.hpp"

namespace assay::spec {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string own_op(const NewConcept& c) {
  return "op:\n  name: " + c.op +
         "\n"
         "  rows: T\n"
         "  inputs:\n"
         "    x: { shape: [T, d], says: \"TODO what a row of x is\" }\n"
         "  outputs:\n"
         "    y: { shape: [T, d], says: \"TODO\" }\n"
         "  # options:\n"
         "  #   NAME: { values: [default, other], says: \"...\" }\n"
         "  #   eps:  { numbers: [1.0e-6, 1.0e-5, 0.01], says: \"...\" }\n"
         "cases:\n"
         "  sizes: { T: [0, 5], d: [1, 70] }\n"
         "  profiles: [normal, uniform, small_integers, powers_of_two, heavy_tails]\n"
         "  corners:\n"
         "    - \"T=0 d=4\"\n"
         "    - \"T=1 d=1\"\n";
}

// The sizes of the used op are needed: its inputs have them.
std::string used_op(const NewConcept& c) {
  std::string sizes;
  for (const Range& range : c.used->cases.sizes)
    sizes += (sizes.empty() ? "" : ", ") + range.name + ": [" + std::to_string(range.low) + ", " +
             std::to_string(range.high) + "]";
  std::string products;
  for (const Product& product : c.used->cases.products) {
    std::string of;
    for (const std::string& factor : product.of) of += (of.empty() ? "" : ", ") + factor;
    products += (products.empty() ? "" : ", ") + product.name + ": [" + of + "]";
  }
  std::string profiles;
  for (const std::string& profile : c.used->cases.profiles) profiles += (profiles.empty() ? "" : ", ") + profile;
  return "uses: " + c.op + "\ncases:\n  sizes: { " + sizes + " }\n" +
         (products.empty() ? "" : "  products: { " + products + " }\n") +
         (profiles.empty() ? "" : "  profiles: [" + profiles + "]\n");
}

// A claim that sees a subject.
std::string catcher(const NewConcept& c) {
  for (const ClaimSpec& claim : c.claims)
    if (claim.on == "target") return claim.id.substr(c.id().size() + 1);
  return "universal.memory";
}

std::string bug(const NewConcept& c, const ListedTrap& trap) {
  return "  " + trap.name + ": { says: " + quoted(trap.says) + ", effect: \"TODO what its user sees\", seen: [" +
         quoted(trap.seen) + "], caught_by: " + catcher(c) +
         ", dies: { fp32: structured, bf16: structured, fp16: structured } }\n";
}

// For whoever knows a bug that the lists do not.
std::string example_bug(const NewConcept& c) {
  return "# bugs:  what `dies` means is in CONTRIBUTING.md\n"
         "#   NAME: { says: \"what the code does\", effect: \"what its user sees\", seen: [\"project#issue\"], "
         "caught_by: " +
         catcher(c) + ", dies: { fp32: structured, bf16: structured, fp16: generic } }\n";
}

}  // namespace

std::string new_page(const NewConcept& c) {
  std::string out = "---\nid: " + c.id() +
                    "\ntitle: TODO two or three words\nsource:\n  - \"TODO paper and equation, or repository and "
                    "file\"\nwings: []\n" +
                    (c.used ? used_op(c) : own_op(c)) + "claims:\n";
  for (const ClaimSpec& claim : c.claims)
    out += "  " + claim.id.substr(c.id().size() + 1) + ": { kind: " + claim.kind + ", on: " + claim.on +
           ", says: " + quoted(claim.says) + " }\n";
  out += c.traps.empty() ? example_bug(c) : "bugs:\n";
  for (const ListedTrap& trap : c.traps) out += bug(c, trap);
  return out +
         "---\n\n# TODO title\n\nTODO what it is for, in two sentences.\n\n"
         "    y = x                                      TODO the equations, indented by four\n\n"
         "**Conventions.** TODO\n\n**Edge cases.** TODO\n\n**Gradient.** TODO\n\n**Accuracy.** TODO\n\n**Cost.** "
         "TODO\n";
}

}  // namespace assay::spec

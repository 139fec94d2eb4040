#include "spec/report/skeleton_parts.hpp"
#include "spec/report/text.hpp"

namespace assay::spec {
namespace {

std::string arguments(const NewConcept& c) { return "const Matrix<T>& x, const " + c.options + "& opt"; }

}  // namespace

std::string new_header(const NewConcept& c) {
  return "#pragma once\n#include \"reference/core/vocabulary.hpp\"\n#include \"spec/" + c.header +
         ".hpp\"\n\nnamespace assay {\n\n/// TODO one sentence (" + c.page() +
         ").\n///   x [T, d]  ->  y [T, d]\n/// Accuracy in double: TODO. Throws Error if TODO.\ntemplate <class "
         "T>\nMatrix<T> " +
         c.function + "(" + arguments(c) + ");\n\n}  // namespace assay\n";
}

std::string new_definition(const NewConcept& c) {
  return "#include \"reference/" + c.chapter + "/" + c.name +
         ".hpp\"\n\nnamespace assay {\n\ntemplate <class T>\nMatrix<T> " + c.function + "(const Matrix<T>& x, const " +
         c.options +
         "&) {\n"
         "  //  y = x      TODO the page's equations in the vocabulary, each above its line\n"
         "  return at(Site::output, x);  // [T, d]\n}\n\n#define ASSAY_INSTANTIATE(T) template Matrix<T> " +
         c.function + "(const Matrix<T>&, const " + c.options +
         "&);\nASSAY_READINGS(ASSAY_INSTANTIATE)\n\n}  // namespace assay\n";
}

std::string new_claims(const NewConcept& c) {
  std::string out = "#include \"reference/" + c.chapter + "/" + c.name +
                    ".hpp\"\n\n#include \"conformance/engine/claim.hpp\"\n\n// Claims of " + c.page() +
                    ".\nnamespace assay {\n";
  if (!c.used)
    out += "namespace {\n\ntemplate <class T>\nvoid " + c.op + "_op(Eval<T>& e) {\n  e.out(\"y\", " + c.function +
           "(e.matrix(\"x\"), e.template options<" + c.options + ">()));\n}\n\n}  // namespace\n\nDEFINITION(" +
           c.id() + ", " + c.op + ", " + c.op + "_op)\n";
  for (const ClaimSpec& claim : c.claims) {
    out += "\n// " + wrap(claim.says, 1000, 0) + "\nCLAIM(" + claim.id + ") {\n";
    // What every rounding claim of this name says is known; any other fails until it is written.
    if (claim.id == c.id() + ".accuracy" && claim.kind == "rounding" && claim.on == "target")
      out += "  const Call call = check.call();\n  check.accurate(call, check.run(call));\n}\n";
    else
      out += "  check.fail({\"TODO: this claim is not written yet\", \"\", \"\", \"\", \"\"});\n}\n";
  }
  return out + "\n}  // namespace assay\n";
}

std::string new_subject(const NewConcept& c) {
  std::string out =
      "#include \"conformance/engine/subject.hpp\"\n\n"
      "// TODO how a kernel would do it, in float, and in which order: not that of the definition.\nnamespace "
      "assay {\n\nSUBJECT(" +
      c.op +
      ") {\n  const In x = s.in(\"x\");\n  const Out y = s.out(\"y\");\n"
      "  const std::int64_t rows = x.size(0), d = x.size(1);\n";
  for (const ListedTrap& trap : c.traps) out += "  // TODO s.bug(\"" + trap.name + "\"): " + trap.says + "\n";
  return out +
         "  for (std::int64_t t = 0; t < rows; ++t) {\n    for (std::int64_t i = 0; i < d; ++i) {\n"
         "      if (y.wanted()) y.set(t, i, x(t, i));\n    }\n  }\n}\n\n}  // namespace assay\n";
}

std::string new_second_opinion(const NewConcept& c) {
  return "#include \"conformance/engine/claim.hpp\"\n\n"
         "// TODO another formula for the same outputs; no code shared with the definition.\nnamespace assay "
         "{\n\nSECOND_OPINION(" +
         c.op +
         ") {\n  throw Error(\"the second opinion of \" + e.call.op->name + \" is not written yet\");\n}\n\n"
         "}  // namespace assay\n";
}

}  // namespace assay::spec

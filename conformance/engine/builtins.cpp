#include <charconv>
#include <cstdio>

#include "conformance/engine/subject.hpp"
#include "conformance/engine/worker/builtin.hpp"
#include "conformance/mutate/mutant.hpp"
#include "reference/core/error.hpp"

namespace assay {

/// "subject:softmax", "planted:softmax.finite_mask", "mutant:softmax.17"
int run_builtin(const std::string& name, const assay_call* call) {
  const auto colon = name.find(':');
  const std::string what = colon == std::string::npos ? "" : name.substr(colon + 1);
  const auto dot = what.find('.');
  const std::string op = what.substr(0, dot), variant = dot == std::string::npos ? "" : what.substr(dot + 1);
  if (name.starts_with("mutant:")) {
    const auto mutated = mutated_subject_of(op);
    int id = 0;
    const auto [end, code] = std::from_chars(variant.data(), variant.data() + variant.size(), id);
    const int count = static_cast<int>(mutants_of(op).size());
    if (mutated == nullptr || code != std::errc() || end != variant.data() + variant.size() || id < 1 || id > count) {
      throw Error("no such mutant", "mutant:OP.NUMBER with 1 <= NUMBER <= " + std::to_string(count), name);
    }
    const MutantScope on(id);
    Subject s(call, "");
    mutated(s);
    return ASSAY_OK;
  }
  const SubjectFn subject = subject_of(op);
  if (subject == nullptr) throw Error("no such builtin target", "subject:OP or planted:OP.BUG", name);
  Subject s(call, variant);
  subject(s);
  std::string asked;
  for (const std::string_view bug : s.bugs_asked()) asked += std::string(bug) + " ";
  std::snprintf(call->error, call->error_size, "%s", asked.c_str());  // of an accepted call: Reply::note
  return ASSAY_OK;
}

}  // namespace assay

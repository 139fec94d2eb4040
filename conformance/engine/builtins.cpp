#include <cstdio>

#include "conformance/engine/subject.hpp"
#include "conformance/engine/worker/builtin.hpp"
#include "reference/core/error.hpp"

namespace assay {

/// "subject:softmax", "planted:softmax.finite_mask"
int run_builtin(const std::string& name, const assay_call* call) {
  const auto colon = name.find(':');
  const std::string what = colon == std::string::npos ? "" : name.substr(colon + 1);
  const auto dot = what.find('.');
  const std::string op = what.substr(0, dot), variant = dot == std::string::npos ? "" : what.substr(dot + 1);
  const SubjectFn subject = subject_of(op);
  if (subject == nullptr) throw Error("no such builtin target", "subject:OP or planted:OP.BUG", name);
  Subject s(call, variant);
  subject(s);
  return ASSAY_OK;
}

}  // namespace assay

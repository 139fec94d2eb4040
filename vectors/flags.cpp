#include "vectors/flags.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/subject.hpp"
#include "conformance/engine/target.hpp"
#include "reference/core/safetensors_convert.hpp"

namespace assay::vectors {
namespace {

constexpr Index lanes = 8;  // the narrowest unit that is called a vector unit

const std::vector<Flag>& case_flag_list() {
  static const std::vector<Flag> list = {
      {"empty", "case", "an input without elements", "a kernel divides by the size or launches an empty grid", {}, ""},
      {"single", "case", "rows of one element", "reductions that need a second element return garbage", {}, ""},
      {"ragged",
       "case",
       "rows longer than a vector unit that it does not divide",
       "the tail is skipped, padded with the wrong value or read past the end",
       {},
       ""},
      {"exact",
       "case",
       "nothing is allowed beyond the rounding of the output: an honest kernel makes no error on it",
       "any other bit is a bug, however small the difference",
       {},
       ""},
      {"infinite",
       "case",
       "an input holds an infinity",
       "inf - inf or 0 inf becomes NaN where a value is defined",
       {},
       ""},
      {"nan", "case", "an input holds a NaN", "a NaN disappears, or spreads where it must not", {}, ""},
      {"subnormal",
       "case",
       "an input holds subnormal numbers of its format",
       "a unit that flushes them to zero computes something else",
       {},
       ""},
      {"options", "case", "an option is not at its default", "the option is ignored", {}, ""}};
  return list;
}

bool any_value(const Call& call, bool (*holds)(double, const Format&)) {
  for (const Named& t : call.inputs.all()) {
    for (Index i = 0, n = t.value.size(); i < n; ++i) {
      if (holds(t.value.at_flat(i), *t.format)) return true;
    }
  }
  return false;
}

bool any_empty(const Call& call) {
  const auto& all = call.inputs.all();
  return std::any_of(all.begin(), all.end(), [](const Named& t) { return t.value.size() == 0; });
}

/// Under any contract that the vector covers.
bool nothing_allowed(const SafetensorsFile& file) {
  for (const RawTensor& raw : file.tensors) {
    if (!raw.name.starts_with("allowed.")) continue;
    const auto zero = [](std::byte b) { return b == std::byte{0}; };
    if (!std::all_of(raw.data.begin(), raw.data.end(), zero)) return false;
  }
  return true;
}

bool changes_an_option(const Call& call) {
  for (std::size_t i = 0; i < call.options.size(); ++i) {
    const OptionSpec& o = call.op->options[i];
    if (call.options[i] != (o.numeric() ? o.numbers[0] : 0)) return true;
  }
  return false;
}

/// Whether what a bug's target answers on a vector is decisively wrong.
bool caught(Target& target, const Vector& v) {
  const Call call = call_from_file(v.file, v.plan.id());
  const Answer answer = target.run(call, {});
  if (answer.kind != Answer::Kind::ok) return false;
  for (const Cover& cover : covers_of(v.file, v.plan.id())) {
    if (cover.name == v.plan.family->contract) return !outside(v.file, call, answer.outputs, cover, 2).empty();
  }
  return false;
}

}  // namespace

Flag describe_flag(const std::string& name) {
  for (const Flag& flag : case_flag_list()) {
    if (flag.name == name) return flag;
  }
  for (const Page& page : pages()) {
    const std::string& op = page.has_op ? page.op.name : page.uses;
    for (const BugSpec& bug : page.bugs) {
      if (op + "." + bug.name == name)
        return {name,       "bug",    bug.says,
                bug.effect, bug.seen, (bug.caught_by.starts_with("universal.") ? "" : page.id + ".") + bug.caught_by};
    }
  }
  throw Error("no flag of a vector has this name", "a flag of the case, or OP.BUG of a page", name);
}

std::vector<std::string> case_flags(const SafetensorsFile& file, const Call& call) {
  std::vector<std::string> flags;
  const Tensor<double>& first = call.inputs.all().at(0).value;
  const Index row = first.rank() > 0 ? first.shape().back() : 1;
  const bool empty = any_empty(call);
  if (empty) flags.emplace_back("empty");
  if (!empty && row == 1) flags.emplace_back("single");
  if (row > lanes && row % lanes != 0) flags.emplace_back("ragged");
  if (!empty && nothing_allowed(file)) flags.emplace_back("exact");
  if (any_value(call, [](double x, const Format&) { return std::isinf(x); })) flags.emplace_back("infinite");
  if (any_value(call, [](double x, const Format&) { return std::isnan(x); })) flags.emplace_back("nan");
  if (any_value(call,
                [](double x, const Format& f) { return x != 0 && std::fabs(x) < f.min_normal() && !f.fixed_point(); }))
    flags.emplace_back("subnormal");
  if (changes_an_option(call)) flags.emplace_back("options");
  return flags;
}

void add_bug_flags(std::vector<Vector>& vectors) {
  for (const Family& family : families()) {
    const OpSpec* op = nullptr;
    const Page* user = nullptr;  // of another page's op
    for (const Vector& v : vectors) {
      if (v.plan.family != &family) continue;
      op = &page_of_op(v.file.metadata.at("op")).op;
      if (!v.plan.page->has_op) user = v.plan.page;
    }
    if (op == nullptr || subject_of(op->name) == nullptr) continue;
    std::vector<BugSpec> bugs = page_of_op(op->name).bugs;
    if (user != nullptr) bugs.insert(bugs.end(), user->bugs.begin(), user->bugs.end());
    for (const BugSpec& bug : bugs) {
      const std::string name = op->name + "." + bug.name;
      const auto target = make_target("planted:" + name + "@" + family.contract);
      for (Vector& v : vectors) {
        if (v.plan.family == &family && caught(*target, v)) v.flags.push_back(name);
      }
    }
  }
}

}  // namespace assay::vectors

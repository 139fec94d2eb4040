#include "conformance/engine/answers.hpp"

#include <algorithm>
#include <charconv>

#include "conformance/engine/claim.hpp"
#include "conformance/engine/fill.hpp"

namespace assay {
namespace {

const std::string& metadata(const SafetensorsFile& file, const std::string& key, const std::string& origin) {
  const auto at = file.metadata.find(key);
  if (at != file.metadata.end()) return at->second;
  throw Error(origin + ": metadata", "key `" + key + "`, copied from the call as `assay gen` wrote it", "none");
}

long long number(const SafetensorsFile& file, const std::string& key, const std::string& origin) {
  const std::string& text = metadata(file, key, origin);
  long long v = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (code != std::errc() || end != text.data() + text.size() || v < 1)
    throw Error(origin + ": metadata key `" + key + "`", "a number from 1", printable(text));
  return v;
}

/// The page whose cases a call is one of: the concept's, or that of the op.
const Page& page_of(const std::string& op, const std::string& concept_id) {
  const Page& p = concept_id.empty() ? page_of_op(op) : page(concept_id);
  if (Space(p).op().name != op) throw Error("concept " + p.id + " is not about op " + op, Space(p).op().name, op);
  return p;
}

std::string gen_command(const Page& page, const Call& call) {
  std::string text = "assay gen " + call.op->name;
  if (page.id != page_of_op(call.op->name).id) text += " --concept " + page.id;
  return text + " --contract '" + call.contract.spell() + "'";
}

long long elements(const Call& call) {
  long long n = 0;
  for (const Named& t : call.inputs.all()) n += t.value.size();
  return n;
}

}  // namespace

void generate_calls(const GenerateOptions& options,
                    const std::function<void(long long, long long, const SafetensorsFile&)>& write) {
  const Page& p = page_of(options.op, options.concept_id);
  const Space space(p);
  std::vector<Case> cases;
  if (options.only_case.empty())
    cases = list_cases(space, options.cases, options.seed);
  else
    cases.push_back(Case::parse(space, options.only_case));
  const auto all = static_cast<long long>(cases.size());
  for (long long i = 0; i < all; ++i) {
    const Case& c = cases[static_cast<std::size_t>(i)];
    SafetensorsFile file = call_to_file(make_call(c, options.contract));
    file.metadata["concept"] = p.id;
    file.metadata["case"] = c.spell();
    file.metadata["number"] = std::to_string(i + 1);
    file.metadata["of"] = std::to_string(all);
    write(i + 1, all, file);
  }
}

Answers::Group& Answers::group(const Page& p, const Call& call) {
  Group& g = groups_[p.id + "\n" + call.contract.spell()];
  Result& r = g.result;
  if (!r.claim.empty()) return g;
  r.claim = "answers(" + call.op->name + ")";
  r.concept_id = p.id;
  r.target = source_;
  r.contract = call.contract.spell();
  r.says = "the outputs equal the definition within the contract's bound";
  for (const TensorSpec& o : call.op->outputs) g.answered[o.name] = false;
  return g;
}

void Answers::judge(Group& g, const Page& p, const Call& call, const SafetensorsFile& answer,
                    const std::string& case_text, const std::string& again, const std::string& origin) {
  const Space space(p);
  Check check(Case(space), nullptr, call.contract, options_.tier_of.z());
  Result& r = g.result;
  std::shared_ptr<const Observed> wrong;
  try {
    Tensors outputs;
    try {
      outputs = outputs_from_file(answer, call, origin);
    } catch (const Error& e) {
      throw Failure{"the answer cannot be read: " + e.what_is_wrong, "", e.expected, e.found, ""};
    }
    for (const Named& t : outputs.all()) g.answered[t.name] = true;
    if (elements(call) == 0) check.nothing_to_compare();
    try {
      check.accurate(call, outputs);
    } catch (const Failure&) {
      wrong = std::make_shared<const Observed>(Observed{call, outputs});
      if (g.failing.size() < 12) g.failing.push_back(*wrong);
      throw;
    }
  } catch (const Failure& f) {
    if (r.verdict != Result::Verdict::failed || elements(call) < g.smallest) {
      r.verdict = Result::Verdict::failed;
      r.failure = f;
      r.failing_case = case_text.empty() ? origin : case_text;
      r.again = again;
      r.observed = wrong;
      g.smallest = elements(call);
    }
  }
  ++r.cases;
  r.compared += check.compared();
  r.suspects += check.suspects();
  r.largest_z = std::max(r.largest_z, check.largest_z());
}

void Answers::take(const SafetensorsFile& answer, const std::string& origin) {
  const std::string& op = metadata(answer, "op", origin);
  const Page& p = page_of(op, metadata(answer, "concept", origin));
  const Space space(p);
  const std::string& text = metadata(answer, "case", origin);
  const Call call = make_call(Case::parse(space, text), parse_contract(metadata(answer, "contract", origin)));
  if (metadata(answer, "inputs", origin) != input_digest(call))
    throw Error(origin + ": the inputs of case `" + text + "` are not those that were generated",
                "calls of this version of assay (metadata key `inputs` copied unchanged)", "another digest");
  Group& g = group(p, call);
  const long long n = number(answer, "number", origin), of = number(answer, "of", origin);
  if (g.of == 0) g.of = of;
  if (of != g.of || n > of)
    throw Error(origin + ": metadata keys `number`, `of`", "of " + std::to_string(g.of),
                std::to_string(n) + " of " + std::to_string(of));
  if (g.numbers[n]) throw Error(origin + ": answered before", "one answer to call " + std::to_string(n), "another");
  g.numbers[n] = true;
  const SafetensorsFile asked = call_to_file(call);
  for (const RawTensor& t : asked.tensors) {
    const RawTensor* carried = answer.find(t.name);
    if (carried != nullptr && !(*carried == t))
      throw Error(origin + ": tensor " + t.name, "the input unchanged, or left out of the answer", "another");
  }
  judge(g, p, call, answer, text, gen_command(p, call) + " --case '" + text + "' | PROGRAM | assay judge", origin);
}

void Answers::take(const SafetensorsFile& file, const SafetensorsFile& answer, const std::string& origin) {
  const Call call = call_from_file(file, origin);
  const auto has = [&file](const char* key) { return file.metadata.count(key) == 0 ? "" : file.metadata.at(key); };
  const Page& p = page_of(call.op->name, has("concept"));
  if (!has("inputs").empty() && has("inputs") != input_digest(call))
    throw Error(origin + ": the inputs have changed since the file was written", has("inputs"), input_digest(call));
  for (const auto& [key, value] : file.metadata) {
    const auto at = answer.metadata.find(key);
    if (at != answer.metadata.end() && at->second != value)
      throw Error(origin + ": the answer's metadata key `" + key + "` is that of another call", printable(value),
                  printable(at->second));
  }
  judge(group(p, call), p, call, answer, has("case"), "assay judge " + origin, origin);
}

void Answers::unanswered(const SafetensorsFile& file, const std::string& origin) {
  const Call call = call_from_file(file, origin);
  const auto at = file.metadata.find("concept");
  group(page_of(call.op->name, at == file.metadata.end() ? "" : at->second), call).missing.push_back(origin);
}

std::vector<Result> Answers::results() {
  std::vector<Result> list;
  for (auto& [key, g] : groups_) {
    Result r = g.result;
    const long long answered = r.cases;
    if (g.of > static_cast<long long>(g.numbers.size()) || !g.missing.empty()) {
      const long long lacking = g.missing.empty() ? g.of - static_cast<long long>(g.numbers.size())
                                                  : static_cast<long long>(g.missing.size());
      r.reason = std::to_string(lacking) + " of " + std::to_string(g.missing.empty() ? g.of : answered + lacking) +
                 " calls have no answer";
      if (!g.missing.empty()) r.reason += ", the first is " + g.missing[0];
      if (r.verdict == Result::Verdict::passed) r.verdict = Result::Verdict::broken;
    }
    if (options_.fingerprints && !g.failing.empty()) r.fingerprint = fingerprint(g.failing, options_.tier_of.z());
    list.push_back(r);
  }
  return list;
}

std::vector<std::string> Answers::not_offered() const {
  std::vector<std::string> lines;
  for (const auto& [key, g] : groups_) {
    std::string names;
    for (const auto& [name, given] : g.answered) {
      if (!given) names += (names.empty() ? "" : ", ") + name;
    }
    if (!names.empty()) lines.push_back(g.result.concept_id + ": output " + names + " in no answer");
  }
  return lines;
}

}  // namespace assay

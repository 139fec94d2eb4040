#include "vectors/plan.hpp"

#include <algorithm>
#include <map>

#include "conformance/engine/case.hpp"
#include "conformance/engine/eval.hpp"
#include "reference/core/error.hpp"
#include "reference/core/philox.hpp"

namespace assay::vectors {
namespace {

constexpr int random_cases = 3;  // per page and family

std::uint32_t hash(const std::string& text) {  // FNV-1a
  std::uint32_t h = 2166136261U;
  for (const char ch : text) h = (h ^ static_cast<unsigned char>(ch)) * 16777619U;
  return h;
}

/// The number-th random case of a page: every axis on its own, sizes from 1 (the corner list has the empty ones).
Case random_case(const Space& space, std::uint32_t number) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    const Axis& a = space.axes()[i];
    const std::int64_t low = a.kind == Axis::Kind::size ? std::clamp<std::int64_t>(1, a.low, a.high) : a.low;
    const auto words = philox4x32({static_cast<std::uint32_t>(i), number, hash(space.page().id), 0x76656374U}, {0, 0});
    values.push_back(low + static_cast<std::int64_t>(words[0] % static_cast<std::uint64_t>(a.high - low + 1)));
  }
  return {space, values};
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = {{"fp32", {"fp32"}},
                                          {"bf16", {"bf16", "bf16_out_fp32", "bf16_mma"}},
                                          {"fp16", {"fp16", "fp16_out_fp32", "fp16_mma"}}};
  return all;
}

std::string Plan::id() const { return page->id + "." + name + "." + family->contract; }

std::string Plan::file() const {
  std::string folder = page->id;
  std::replace(folder.begin(), folder.end(), '.', '/');
  return folder + "/" + name + "." + family->contract + ".safetensors";
}

bool has_vectors(const Page& page) {
  if (!page.has_op && page.uses.empty()) return false;
  return has_definition(page.has_op ? page.op.name : page.uses);
}

std::string name_of_case(const std::string& spelling) {
  std::string name;
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    const char ch = spelling[i];
    const bool digit_next = i + 1 < spelling.size() && spelling[i + 1] >= '0' && spelling[i + 1] <= '9';
    const bool one_letter = i == 1 || (i > 1 && spelling[i - 2] == ' ');
    if (ch >= 'A' && ch <= 'Z')
      name += static_cast<char>(ch - 'A' + 'a');
    else if (ch == '=')
      name += digit_next && one_letter ? "" : "_";
    else if (ch == ' ')
      name += '_';
    else if (ch == '-')
      name += 'm';
    else if (ch == '.')
      name += 'p';
    else if (ch != '+')
      name += ch;
  }
  return name;
}

std::vector<Plan> plan_vectors(const Page& page) {
  const Space space(page);
  std::vector<Plan> plans;
  std::map<std::string, std::string> spelling_of;  // a name's case
  const auto add = [&](const Case& c, const Family& family) {
    const Plan plan{&page, c.spell(), &family, name_of_case(c.spell())};
    const auto [at, is_new] = spelling_of.emplace(plan.id(), plan.spelling);
    if (!is_new && at->second != plan.spelling)
      throw Error("two cases have the name " + plan.id(), "names that differ", at->second + " and " + plan.spelling);
    if (is_new) plans.push_back(plan);
  };
  for (const std::string& corner : page.cases.corners) {
    for (const Family& family : families()) add(Case::parse(space, corner), family);
  }
  std::uint32_t number = 0;
  for (int i = 0; i < random_cases; ++i) {
    for (const Family& family : families()) add(random_case(space, number++), family);
  }
  return plans;
}

}  // namespace assay::vectors

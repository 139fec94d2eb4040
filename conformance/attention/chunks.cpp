#include "conformance/attention/chunks.hpp"

#include <algorithm>

namespace assay {
namespace {

Chunks cut(const Check& check, const std::string& name, const std::vector<Index>& keys) {
  const auto n = static_cast<Index>(keys.size());
  std::vector<Index> ends{0, n};
  for (Index i = check.pick(name + " cuts", 0, 5); i-- > 0;)
    ends.push_back(check.pick(name + " cut " + std::to_string(i), 0, n));
  std::sort(ends.begin(), ends.end());
  Chunks chunks;
  for (std::size_t i = 1; i < ends.size(); ++i) chunks.emplace_back(keys.begin() + ends[i - 1], keys.begin() + ends[i]);
  return chunks;
}

std::vector<Index> in_order(Index n) {
  std::vector<Index> keys(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j) keys[static_cast<std::size_t>(j)] = j;
  return keys;
}

}  // namespace

Chunks random_chunks(const Check& check, const std::string& name, Index n) { return cut(check, name, in_order(n)); }

std::vector<Index> random_order(const Check& check, const std::string& name, Index n) {
  std::vector<Index> keys = in_order(n);
  for (Index j = n; j-- > 1;)
    std::swap(keys[static_cast<std::size_t>(j)],
              keys[static_cast<std::size_t>(check.pick(name + " swap " + std::to_string(j), 0, j))]);
  return keys;
}

Chunks shuffled_chunks(const Check& check, const std::string& name, Index n) {
  return cut(check, name, random_order(check, name, n));
}

SeenLogits<Bound> seen_logits(const Head& head) { return {select(head.keep, head.logits(), -infinity), head.v}; }

void agree(Check& check, const std::string& what, const Attention<Bound>& left, const Attention<Bound>& right) {
  check.agree("O, " + what, left.o, right.o);
  check.agree("L, " + what, left.lse, right.lse);
}

}  // namespace assay

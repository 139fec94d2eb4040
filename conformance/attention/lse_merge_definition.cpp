// Claims of spec/attention/lse_merge.md on the definition.
#include "conformance/attention/chunks.hpp"
#include "conformance/attention/parts.hpp"

namespace assay {
namespace {

using State = SoftmaxMean<Bound>;

void agree(Check& check, const std::string& what, const State& left, const State& right) {
  check.agree("O, " + what, left.o, right.o);
  check.agree("L, " + what, left.lse, right.lse);
}

/// States of the keys of a case, cut at random; some are empty.
std::vector<State> parts_of(Check& check, const Keys& keys, const std::string& name) {
  std::vector<State> parts;
  for (const std::vector<Index>& which : shuffled_chunks(check, name, keys.x.cols()))
    parts.push_back(keys.state(which));
  return parts;
}

/// The merge of parts [from, to) by a tree of pairs.
State tree(const std::vector<State>& parts, std::size_t from, std::size_t to) {
  if (to - from == 1) return parts[from];
  const std::size_t middle = (from + to) / 2;
  return softmax_merge(tree(parts, from, middle), tree(parts, middle, to));
}

/// Two states that have keys.
std::pair<State, State> two_states(Check& check, const Keys& keys) {
  const Index n = keys.x.cols(), cut = check.pick("cut", 1, n - 1);
  std::vector<Index> a, b;
  for (Index j = 0; j < n; ++j) (j < cut ? a : b).push_back(j);
  return {keys.state(a), keys.state(b)};
}

}  // namespace

CLAIM(attention.lse_merge.associative) {
  const Keys keys = keys_of(check);
  const Index rows = keys.x.rows(), d = keys.v.cols();
  std::vector<State> parts = parts_of(check, keys, "parts");
  const State at_once = merge_parts(parts, rows, d);
  agree(check, "a tree", tree(parts, 0, parts.size()), at_once);
  State left = parts.front(), right = parts.back();
  for (std::size_t k = 1; k < parts.size(); ++k) {
    left = softmax_merge(left, parts[k]);
    right = softmax_merge(parts[parts.size() - 1 - k], right);
  }
  agree(check, "from the left", left, at_once);
  agree(check, "from the right", right, at_once);
  agree(check, "all keys at once", at_once, merge_parts(parts_of(check, keys, "other parts"), rows, d));
}

CLAIM(attention.lse_merge.base2) {
  const auto [a, b] = two_states(check, keys_of(check));
  const Vector<Bound> c = log2_e<Bound>(a.lse.size());
  const State natural = softmax_merge(a, b), two = merge_base2<Bound>({a.lse * c, a.o}, {b.lse * c, b.o});
  agree(check, "base 2", two, {natural.lse * c, natural.o});
}

CLAIM(attention.lse_merge.equal) {
  const State a = two_states(check, keys_of(check)).first, twice = softmax_merge(a, a);
  agree(check, "a state and itself", twice, {a.lse + log(full<Bound>(a.lse.size(), 2)), a.o});
}

CLAIM(attention.lse_merge.not_idempotent) {
  // of parts of comparable mass: of others the smaller one's mass is below every bound
  const auto [a, b] = two_states(check, keys_of(check.with("profile", "uniform")));
  const State once = softmax_merge(a, b);
  check.differ("L of a + b and a + b + b", softmax_merge(once, b).lse, once.lse);
  check.differ("L of a and a + a", softmax_merge(a, a).lse, a.lse);
  check.differ("O of a + b and a + b + b", softmax_merge(once, b).o, once.o);
}

CLAIM(attention.lse_merge.shift) {
  const auto [a, b] = two_states(check, keys_of(check));
  Vector<Bound> c(a.lse.size());
  for (Index t = 0; t < c.size(); ++t) c[t] = static_cast<double>(check.pick("c" + std::to_string(t), -100, 100)) / 4;
  const State y = softmax_merge(a, b), moved = softmax_merge<Bound>({a.lse + c, a.o}, {b.lse + c, b.o});
  agree(check, "both L + c", moved, {y.lse + c, y.o});
}

CLAIM(attention.lse_merge.sigmoid_form) {
  const auto [a, b] = two_states(check, keys_of(check));
  agree(check, "the sigmoid form", merge_by_sigmoid(a, b), softmax_merge(a, b));
  agree(check, "the sigmoid form, swapped", merge_by_sigmoid(b, a), softmax_merge(a, b));
}

CLAIM(attention.lse_merge.split) {
  const Keys keys = keys_of(check);
  std::vector<Index> all, odd, even;
  for (Index j = 0, n = keys.x.cols(); j < n; ++j) {
    all.push_back(j);
    (check.pick("side of " + std::to_string(j), 0, 1) == 1 ? odd : even).push_back(j);
  }
  agree(check, "two parts", softmax_merge(keys.state(odd), keys.state(even)), keys.state(all));
  agree(check, "many parts", merge_parts(parts_of(check, keys, "parts"), keys.x.rows(), keys.v.cols()),
        keys.state(all));
}

}  // namespace assay

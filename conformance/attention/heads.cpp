#include "conformance/attention/heads.hpp"

#include "reference/attention/core.hpp"

namespace assay {
namespace {

Index kv_of(const Call& call, Index h) { return h / (call.size("H") / call.size("Hkv")); }

/// Element (b, s, kv head, c) of k or v.
double& element(const Tensor<double>& x, Index b, Index s, Index g, Index c) {
  const Shape& n = x.shape();
  return x.data()[((b * n[1] + s) * n[2] + g) * n[3] + c];
}

}  // namespace

Check& something(Check& check) {
  for (const char* size : {"B", "Sq", "Sk"})
    if (check.c[size] == 0) check.with(size, 1);
  return check;
}

std::vector<Index> seen_by(const Call& call, Index b, Index i) {
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  const Mask keep = visible(i, 1, Sq, Sk, AttentionOptions::from(call.options));
  std::vector<Index> seen;
  for (Index j = 0; j < Sk; ++j) {
    if (keep.data() != nullptr && !keep(0, j)) continue;
    if (call.inputs.has("mask") && call["mask"].at_flat((b * Sq + i) * Sk + j) == 0) continue;
    seen.push_back(j);
  }
  return seen;
}

void for_each_head(const Call& call, const std::function<void(Index, Index)>& f) {
  for (Index b = 0; b < call.size("B"); ++b)
    for (Index h = 0; h < call.size("H"); ++h) f(b, h);
}

void for_each_row(const Call& call, const std::function<void(Index, Index, Index, const std::vector<Index>&)>& f) {
  for (Index b = 0; b < call.size("B"); ++b)
    for (Index i = 0; i < call.size("Sq"); ++i) {
      const std::vector<Index> seen = seen_by(call, b, i);
      for (Index h = 0; h < call.size("H"); ++h) f(b, h, i, seen);
    }
}

double value_at(const Call& call, Index b, Index h, Index j, Index c) {
  return element(call["v"].clone(), b, j, kv_of(call, h), c);
}

double lse_at(const Tensors& y, Index b, Index h, Index i) {
  const Tensor<double>& l = y["lse"];
  return l.at_flat((b * l.shape()[1] + h) * l.shape()[2] + i);
}

Vector<double> row_at(const Tensors& y, Index b, Index h, Index i) {
  const Tensor<double>& o = y["o"];
  const Shape& n = o.shape();
  Vector<double> row(n[3]);
  for (Index c = 0; c < n[3]; ++c) row[c] = o.at_flat(((b * n[1] + i) * n[2] + h) * n[3] + c);
  return row;
}

Call alone(const Call& call, Index b, Index h) {
  const auto cut = [](const Tensor<double>& x, std::size_t dim, Index at) {
    Shape shape = x.shape();
    shape[dim] = 1;
    return Tensor<double>(x.storage(), x.data() + at * x.strides()[dim], shape, x.strides()).clone();
  };
  Call one = call;
  for (const Named& t : call.inputs.all()) {
    if (t.name == "bias" || t.name == "sink") {
      one.set(t.name, cut(t.value, 0, h));
      continue;
    }
    const Tensor<double> entry = cut(t.value, 0, b);
    one.set(t.name, t.name == "mask" ? entry : cut(entry, 2, t.name == "q" ? h : kv_of(call, h)));
  }
  return one;
}

void same_but(Check& check, const Tensors& y, const Tensors& expected,
              const std::function<bool(Index, Index, Index)>& differs) {
  const Shape n = expected["lse"].shape();
  check.nothing_to_compare();
  for (Index b = 0; b < n[0]; ++b)
    for (Index h = 0; h < n[1]; ++h)
      for (Index i = 0; i < n[2]; ++i) {
        if (differs(b, h, i)) continue;
        check.same_bits("L of a row that does not see the change", lse_at(y, b, h, i), lse_at(expected, b, h, i));
        check.same_bits("O of a row that does not see the change", row_at(y, b, h, i), row_at(expected, b, h, i));
      }
}

void heads_are_equal(Check& check, const Call& call, const Tensors& y) {
  for_each_head(call, [&](Index b, Index h) {
    for (Index i = 0; i < call.size("Sq"); ++i) {
      check.same_bits("L of heads with the same query", lse_at(y, b, h, i), lse_at(y, b, 0, i));
      check.same_bits("O of heads with the same query", row_at(y, b, h, i), row_at(y, b, 0, i));
    }
  });
}

void alone_is_the_same(Check& check, const Call& call) {
  const Tensors all = check.run(call);
  const Index b = check.pick("b", 0, call.size("B") - 1), h = check.pick("h", 0, call.size("H") - 1);
  const Call one = alone(call, b, h);
  const Tensors y = check.run(one);
  if (!check.same_kernel()) {
    check.accurate(call, all);
    return check.accurate(one, y);
  }
  for (Index i = 0; i < call.size("Sq"); ++i) {
    check.same_bits("L of a head run alone", lse_at(y, 0, 0, i), lse_at(all, b, h, i));
    check.same_bits("O of a head run alone", row_at(y, 0, 0, i), row_at(all, b, h, i));
  }
}

void empty_rows(Check& check) {
  if (check.c["B"] == 0) check.with("B", 1);
  if (check.c["Sq"] == 0) check.with("Sq", 2);
  if (check.pick("how", 0, 1) == 0)
    check.with("mask", "given").with("mask_is", "empty_rows");
  else
    check.with("Sk", 0);
  const Call call = check.call();
  const Tensors y = check.run(call);
  const bool counts_sink = call.inputs.has("sink") && call.option("lse_of_sink") == 1;
  for_each_row(call, [&](Index b, Index h, Index i, const std::vector<Index>& seen) {
    if (!seen.empty()) return;
    const double l = counts_sink ? call["sink"].at_flat(h) : -infinity;
    check.same_bits("L of a row that sees no key", lse_at(y, b, h, i), round_to(*call.contract.acc, l));
    for (Index c = 0; c < call.size("dv"); ++c)
      check.require(row_at(y, b, h, i)[c] == 0, "O of a row that sees no key is 0", row_at(y, b, h, i)[c]);
  });
}

void masked_poison(Check& check) {
  something(check).with("mask", "given");
  const Call call = check.call();
  const Index Sq = call.size("Sq"), Sk = call.size("Sk");
  Call poisoned = call;
  const Tensor<double> k = call["k"].clone(), v = call["v"].clone(), mask = call["mask"].clone();
  const Index j = check.pick("key", 0, Sk - 1);
  const double poison = check.pick("poison", 0, 1) == 0 || !call.contract.in->has_infinity() ? not_a_number : infinity;
  for (Index r = 0; r < call.size("B") * Sq; ++r) mask.data()[r * Sk + j] = 0;
  for (Index b = 0; b < call.size("B"); ++b)
    for (Index g = 0; g < call.size("Hkv"); ++g) {
      for (Index c = 0; c < call.size("d"); ++c) element(k, b, j, g, c) = poison;
      for (Index c = 0; c < call.size("dv"); ++c) element(v, b, j, g, c) = poison;
    }
  Call hidden = call;
  hidden.set("mask", mask);
  poisoned.set("mask", mask);
  poisoned.set("k", k);
  poisoned.set("v", v);
  same_but(check, check.run(poisoned), check.run(hidden), [](Index, Index, Index) { return false; });
}

void unseen_has_no_influence(Check& check) {
  const Call call = something(check).call();
  const Index b = check.pick("b", 0, call.size("B") - 1), i = check.pick("i", 0, call.size("Sq") - 1);
  const std::vector<Index> seen = seen_by(call, b, i);
  const Tensor<double> k = call["k"].clone(), v = call["v"].clone();
  const double poison = check.pick("poison", 0, 1) == 0 ? not_a_number : 1;
  for (Index j = 0; j < call.size("Sk"); ++j) {
    bool sees = false;
    for (const Index s : seen) sees = sees || s == j;
    if (sees) continue;
    for (Index g = 0; g < call.size("Hkv"); ++g) {
      for (Index c = 0; c < call.size("d"); ++c) element(k, b, j, g, c) = poison;
      for (Index c = 0; c < call.size("dv"); ++c) element(v, b, j, g, c) = poison;
    }
  }
  Call changed = call;
  changed.set("k", k);
  changed.set("v", v);
  same_but(check, check.run(changed), check.run(call), [&](Index a, Index, Index r) { return a == b && r != i; });
}

void nan_rows(Check& check) {
  const Call call = something(check).call();
  const Index b = check.pick("b", 0, call.size("B") - 1), i = check.pick("i", 0, call.size("Sq") - 1);
  const Index h = check.pick("h", 0, call.size("H") - 1);
  const Tensor<double> q = call["q"].clone();
  element(q, b, i, h, check.pick("c", 0, call.size("d") - 1)) = not_a_number;
  Call poisoned = call;
  poisoned.set("q", q);
  const Tensors y = check.run(poisoned);
  const bool empty = seen_by(call, b, i).empty();  // then it has no logit that could be NaN
  same_but(check, y, check.run(call), [&](Index a, Index g, Index r) { return !empty && a == b && g == h && r == i; });
  if (empty) return;
  check.same_bits("L of a row with a NaN logit", lse_at(y, b, h, i), not_a_number);
  check.same_bits("O of a row with a NaN logit", row_at(y, b, h, i), Vector<double>(call.size("dv"), not_a_number));
}

void nan_values(Check& check) {
  const Call call = something(check).call();
  const Index b = check.pick("b", 0, call.size("B") - 1), j = check.pick("j", 0, call.size("Sk") - 1);
  const Index g = check.pick("g", 0, call.size("Hkv") - 1), c = check.pick("c", 0, call.size("dv") - 1);
  const Tensor<double> v = call["v"].clone();
  element(v, b, j, g, c) = not_a_number;
  Call poisoned = call;
  poisoned.set("v", v);
  const Tensors y = check.run(poisoned), clean = check.run(call);
  for_each_row(call, [&](Index a, Index h, Index i, const std::vector<Index>& seen) {
    bool sees = false;
    for (const Index s : seen) sees = sees || s == j;
    const bool hit = a == b && kv_of(call, h) == g && sees;
    check.same_bits("L, which no value enters", lse_at(y, a, h, i), lse_at(clean, a, h, i));
    Vector<double> expected = row_at(clean, a, h, i);
    if (hit) expected[c] = not_a_number;
    check.same_bits("O where a value is NaN", row_at(y, a, h, i), expected);
  });
}

}  // namespace assay

// Claims of spec/attention/gqa.md on targets.
#include "conformance/attention/heads.hpp"

namespace assay {
namespace {

/// Keys or values [B, S, Hkv, width] with every head repeated for each of its g query heads: [B, S, H, width].
Tensor<double> repeated(const Tensor<double>& x, Index g) {
  const Shape n = x.shape();
  const Tensor<double> y(Shape{n[0], n[1], n[2] * g, n[3]});
  for (Index r = 0, rows = n[0] * n[1] * n[2]; r < rows * g; ++r)
    for (Index c = 0; c < n[3]; ++c) y.data()[r * n[3] + c] = x.at_flat(r / g * n[3] + c);
  return y;
}

/// The tensor with head h of dimension `dim` taken from head of[h].
Tensor<double> heads_from(const Tensor<double>& x, std::size_t dim, const std::vector<Index>& of) {
  const Shape n = x.shape();
  Index inner = 1;
  for (std::size_t d = dim + 1; d < n.size(); ++d) inner *= n[d];
  const Tensor<double> y(n);
  for (Index i = 0, size = y.size(), H = n[dim]; i < size; ++i) {
    const Index h = i / inner % H;
    y.data()[i] = x.at_flat(i + (of[static_cast<std::size_t>(h)] - h) * inner);
  }
  return y;
}

/// Every head answers as it does alone, on its own keys and values.
void each_head_alone(Check& check, const Call& call) {
  const Tensors all = check.run(call);
  check.accurate(call, all);
  for_each_head(call, [&](Index b, Index h) {
    const Call one = alone(call, b, h);
    const Tensors y = check.run(one);
    if (!check.same_kernel()) return check.accurate(one, y);
    for (Index i = 0; i < call.size("Sq"); ++i) {
      check.same_bits("L of a head run alone on its keys", lse_at(all, b, h, i), lse_at(y, 0, 0, i));
      check.same_bits("O of a head run alone on its keys", row_at(all, b, h, i), row_at(y, 0, 0, i));
    }
  });
}

}  // namespace

CLAIM(attention.gqa.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.gqa.empty_row) { empty_rows(check); }

CLAIM(attention.gqa.expand) {
  const Call call = something(check).call();
  const Index g = call.size("H") / call.size("Hkv");
  Call expanded = call;
  expanded.set("k", repeated(call["k"], g));
  expanded.set("v", repeated(call["v"], g));
  const Tensors y = check.run(call), z = check.run(expanded);
  if (!check.same_kernel()) {
    check.accurate(call, y);
    return check.accurate(call, z);
  }
  for (const Named& t : y.all()) check.same_bits(t.name + " with repeated heads", t.value, z[t.name]);
}

CLAIM(attention.gqa.g1) { each_head_alone(check, something(check).with("g", 1).call()); }

CLAIM(attention.gqa.group_permutation) {
  const Call call = something(check).call();
  const Index H = call.size("H"), g = H / call.size("Hkv"), turn = check.pick("turn", 0, g - 1);
  std::vector<Index> of;  // head r of a group becomes head (r + turn) mod g of it
  for (Index h = 0; h < H; ++h) of.push_back(h / g * g + (h + turn) % g);
  Call other = call;
  other.set("q", heads_from(call["q"], 2, of));
  for (const char* name : {"bias", "sink"})
    if (call.inputs.has(name)) other.set(name, heads_from(call[name], 0, of));
  const Tensors y = check.run(call), z = check.run(other);
  check.same_bits("O of permuted heads", z["o"], heads_from(y["o"], 2, of));
  check.same_bits("L of permuted heads", z["lse"], heads_from(y["lse"], 1, of));
}

CLAIM(attention.gqa.indivisible) {
  const Index Hkv = check.pick("Hkv", 2, 3), H = Hkv * check.pick("g", 0, 2) + check.pick("rest", 1, Hkv - 1);
  Call call = something(check).with("g", 1).with("Hkv", 1).with("bias", "none").with("sink", "none").call();
  for (const char* name : {"q", "k", "v"}) {  // head 0 again and again
    Shape n = call[name].shape();
    n[2] = name[0] == 'q' ? H : Hkv;
    const Tensor<double> x(n);
    for (Index i = 0, size = x.size(); i < size; ++i)
      x.data()[i] = call[name].at_flat(i / (n[2] * n[3]) * n[3] + i % n[3]);
    call.set(name, x);
  }
  check.require(!check.refusal(call).empty(),
                "H = " + std::to_string(H) + " and Hkv = " + std::to_string(Hkv) + " are refused");
}

CLAIM(attention.gqa.masked_poison) {
  masked_poison(check);
  unseen_has_no_influence(check);
}

CLAIM(attention.gqa.mqa) {
  const Call call = something(check).with("Hkv", 1).call();
  each_head_alone(check, call);
  // Equal queries on one K, V have equal answers, whatever the kernel.
  Call equal = something(check).with("bias", "none").with("sink", "none").call();
  equal.set("q", heads_from(equal["q"], 2, std::vector<Index>(static_cast<std::size_t>(equal.size("H")), 0)));
  heads_are_equal(check, equal, check.run(equal));
}

CLAIM(attention.gqa.nan_row) {
  nan_rows(check);
  nan_values(check);
}

}  // namespace assay

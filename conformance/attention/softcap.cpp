// Claims of spec/attention/softcap.md on targets.
#include <cmath>

#include "conformance/attention/heads.hpp"

namespace assay {
namespace {

/// A case with a cap: the first of them is none.
Check& capped(Check& check) {
  if (check.c["softcap"] == 0) check.with("softcap", check.pick("softcap", 1, 2));
  return check;
}

/// What rounding may add to an element: the worst case of the definition, and the format of the output.
double rounding(const Tensor<Bound>& defined, Index flat, const Format& format, double got) {
  return defined.at_flat(flat).w + ulp(format, got);
}

}  // namespace

CLAIM(attention.softcap.accuracy) {
  const Call call = check.call();  // a cap of 0 among them
  check.accurate(call, check.run(call));
}

CLAIM(attention.softcap.bound) {
  // A row with one visible key has L = s', so its capped logit is seen.
  something(capped(check)).with("mask", "given").with("mask_is", "single").with("bias", "none").with("sink", "none");
  const Call call = check.call();
  const Tensors y = check.run(call);
  const ReadingScope scope(Reading{&call.contract, false, 8});
  const Tensor<Bound> lse = check.define<Bound>(call)["lse"];
  for (Index i = 0, n = lse.size(); i < n; ++i) {
    const double L = y["lse"].at_flat(i);
    if (L == -infinity) continue;
    check.at_most("a capped logit", std::fabs(L), call.option("softcap") + rounding(lse, i, *call.contract.acc, L));
  }
  check.nothing_to_compare();
}

CLAIM(attention.softcap.empty_row) { empty_rows(capped(check)); }

CLAIM(attention.softcap.masked_poison) {
  masked_poison(capped(check));
  unseen_has_no_influence(check);
}

CLAIM(attention.softcap.monotone) {
  // Query i sees key i alone, and their product is x_i = k_i0: exact and ascending. L_i = s'_i.
  something(capped(check)).with("B", 1).with("bias", "none").with("sink", "none").with("mask", "given");
  Call call = check.with("causal", "none").with("window", 0).call();
  call.set_option("scale", 1);
  const double C = call.option("softcap"), step = C / static_cast<double>(std::int64_t{1} << check.pick("step", 0, 3));
  const Index n = check.pick("n", 2, 12), H = call.size("H"), Hkv = call.size("Hkv"), d = call.size("d"),
              dv = call.size("dv");
  const Tensor<double> q(Shape{1, n, H, d}), k(Shape{1, n, Hkv, d}), v(Shape{1, n, Hkv, dv}), mask(Shape{1, n, n});
  std::vector<double> x;
  for (Index i = 0; i < n; ++i) {
    x.push_back(round_to(*call.contract.in, static_cast<double>(i - n / 2) * step));
    for (Index h = 0; h < H; ++h) q.data()[(i * H + h) * d] = 1;
    for (Index h = 0; h < Hkv; ++h) k.data()[(i * Hkv + h) * d] = x.back();
    mask.data()[i * n + i] = 1;
  }
  call.set("q", q);
  call.set("k", k);
  call.set("v", v);
  call.set("mask", mask);
  const Tensors y = check.run(call);
  for (Index h = 0; h < H; ++h)
    for (Index i = 1; i < n; ++i) {
      const double below = lse_at(y, 0, h, i - 1), here = lse_at(y, 0, h, i);
      // Up to C the slope is at least 1 - tanh(1)^2 = 0.42: logits C/8 apart stay apart.
      const bool apart =
          std::fabs(x[static_cast<std::size_t>(i - 1)]) <= C && std::fabs(x[static_cast<std::size_t>(i)]) <= C;
      check.require(apart ? below < here : below <= here, "the capped logit of a larger logit is larger", here - below);
    }
}

CLAIM(attention.softcap.nan_row) {
  nan_rows(capped(check));
  nan_values(check);
}

CLAIM(attention.softcap.spread) {
  // Values that are the unit vectors give O_i = p_i.
  Call call = something(capped(check)).with("bias", "none").with("sink", "none").call();
  const Index B = call.size("B"), Sk = call.size("Sk"), Hkv = call.size("Hkv"), H = call.size("H"),
              Sq = call.size("Sq");
  const Tensor<double> v(Shape{B, Sk, Hkv, Sk});
  for (Index b = 0; b < B; ++b)
    for (Index j = 0; j < Sk; ++j)
      for (Index h = 0; h < Hkv; ++h) v.data()[((b * Sk + j) * Hkv + h) * Sk + j] = 1;
  call.set("v", v);
  const Tensors y = check.run(call);
  const ReadingScope scope(Reading{&call.contract, false, 8});
  auto defined = check.define<Bound>(call);
  const Tensor<Bound>&lse = defined["lse"], &o = defined["o"];
  const double C = call.option("softcap");
  check.nothing_to_compare();
  for_each_row(call, [&](Index b, Index h, Index i, const std::vector<Index>& seen) {
    if (seen.empty()) return;
    const double L = lse_at(y, b, h, i);
    check.at_most("L - ln |V|", std::fabs(L - std::log(static_cast<double>(seen.size()))),
                  C + rounding(lse, (b * H + h) * Sq + i, *call.contract.acc, L));
    const Vector<double> p = row_at(y, b, h, i);
    const auto allowed = [&](Index j) {
      return rounding(o, ((b * Sq + i) * H + h) * Sk + j, *call.contract.out, p[j]);
    };
    for (const Index j : seen)
      for (const Index other : seen)
        check.at_most("p over exp(2C) times another", p[j], std::exp(2 * C) * (p[other] + allowed(other)) + allowed(j));
  });
}

}  // namespace assay

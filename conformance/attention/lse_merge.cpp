#include "reference/attention/lse_merge.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/attention/parts.hpp"

// Claims of spec/attention/lse_merge.md on targets. Those on the definition: lse_merge_definition.cpp.
namespace assay {

CLAIM(attention.lse_merge.accuracy) {
  const Call call = two_parts(check);
  check.accurate(call, check.run(call));
}

CLAIM(attention.lse_merge.bounds) {
  const Call call = two_parts(check);
  const Tensors y = check.run(call);
  const ReadingScope scope(Reading{&call.contract, false, 8});
  const auto defined = check.define<Bound>(call);
  const Index T = call.size("T"), d = call.size("d");
  const double log2 = 0.693147180559945309417;
  check.nothing_to_compare();
  for (Index t = 0; t < T; ++t) {
    const double l1 = call["lse1"].at_flat(t), l2 = call["lse2"].at_flat(t), top = std::max(l1, l2);
    if (top == -infinity) continue;
    const double l = y["lse"].at_flat(t), rounding = defined.at("lse").at_flat(t).w + ulp(*call.contract.acc, l);
    check.at_most("max(L1, L2) - L", top - l, rounding);
    check.at_most("L - max - log 2", l - top - log2, rounding);
    for (Index c = 0; c < d; ++c) {
      const double a = call["o1"].at_flat(t * d + c), b = call["o2"].at_flat(t * d + c), o = y["o"].at_flat(t * d + c);
      const double low = l1 == -infinity ? b : l2 == -infinity ? a : std::min(a, b);
      const double high = l1 == -infinity ? b : l2 == -infinity ? a : std::max(a, b);
      const double B = defined.at("o").at_flat(t * d + c).w + ulp(*call.contract.out, o);
      check.at_most("O above both parts", o - high, B);
      check.at_most("O below both parts", low - o, B);
    }
  }
}

CLAIM(attention.lse_merge.commutative) {
  const Call call = two_parts(check);
  Call swapped = call;
  for (const char* name : {"lse", "o"}) {
    swapped.set(std::string(name) + "1", call[std::string(name) + "2"]);
    swapped.set(std::string(name) + "2", call[std::string(name) + "1"]);
  }
  const Tensors left = check.run(call), right = check.run(swapped);
  for (const Named& t : left.all()) check.same_bits(t.name + " of merge(b, a)", right[t.name], t.value);
}

CLAIM(attention.lse_merge.empty_empty) {
  Call call = two_parts(check);
  for (Index t = 0; t < call.size("T"); ++t)
    for (const char part : {'1', '2'}) set_part(call, part, t, -infinity, 0);
  const Tensors y = check.run(call);
  for (Index t = 0; t < call.size("T"); ++t) {
    check.same_bits("L of two empty states", y["lse"].at_flat(t), -infinity);
    for (Index c = 0, d = call.size("d"); c < d; ++c) {
      const double o = y["o"].at_flat(t * d + c);
      check.require(o == 0, "O of two empty states is 0", o);
    }
  }
}

CLAIM(attention.lse_merge.identity) {
  // What the empty part holds: 0, garbage, NaN.
  const double holds = std::vector<double>{0, 1, not_a_number}[static_cast<std::size_t>(check.pick("holds", 0, 2))];
  const bool first = check.pick("part", 0, 1) == 0;
  Call call = two_parts(check.with("empty", 0));
  for (Index t = 0; t < call.size("T"); ++t) set_part(call, first ? '1' : '2', t, -infinity, holds);
  const Tensors y = check.run(call);
  for (const Named& t : y.all()) {
    const Tensor<double>& kept = call[t.name + (first ? "2" : "1")];
    for (Index i = 0, n = t.value.size(); i < n; ++i)  // + 0.0: 0 times a value of the empty part may add +0 to -0
      check.same_bits(t.name + " merged with an empty state", t.value.at_flat(i) + 0.0,
                      round_to(*t.format, kept.at_flat(i), call.contract.out_round) + 0.0);
  }
}

CLAIM(attention.lse_merge.low_precision_partials) {
  const Format& bf16 = *parse_contract("bf16").in;
  Call call = two_parts(check.with("empty", 0));
  if (call.contract.out->p() < 2 * bf16.p() - 5 || call.contract.in->p() < call.contract.out->p())
    return check.accurate(call, check.run(call));  // it rounds to bf16 at every merge, which its bound counts
  const Index T = call.size("T"), d = call.size("d");
  const std::int64_t parts = check.pick("parts", 2, 6);
  // Parts as kernels make them, and what is left of them in bf16. The call holds the sum of those before.
  const ReadingScope scope(Reading{&call.contract, false, 8});
  std::vector<SoftmaxMean<Bound>> exact, stored;
  SoftmaxMean<Bound> sum;
  double largest = 0;
  for (std::int64_t k = 0; k < parts; ++k) {
    SoftmaxMean<Bound> part{Vector<Bound>(T), Matrix<Bound>(T, d)}, narrow{Vector<Bound>(T), Matrix<Bound>(T, d)};
    for (Index t = 0; t < T; ++t) {
      const double l = round_to(*call.contract.acc, call["lse2"].at_flat((t + k) % T));
      set_part(call, k == 0 ? '1' : '2', t, l, 0);
      part.lse[t] = narrow.lse[t] = l;
      for (Index c = 0; c < d; ++c) {
        const double o = 1 + static_cast<double>(check.pick("o" + std::to_string((k * T + t) * d + c), 0, 1 << 20)) /
                                 static_cast<double>(1 << 20);
        part.o(t, c) = o;
        narrow.o(t, c) = round_to(bf16, o);
        put(call, k == 0 ? "o1" : "o2", t * d + c, value(narrow.o(t, c)));
        largest = std::max(largest, o);
      }
    }
    exact.push_back(part);
    stored.push_back(narrow);
    sum = k == 0 ? narrow : softmax_merge(sum, narrow);
    sum = {at(Site::statistic, sum.lse), sum.o};
    if (k == 0) continue;
    const Tensors y = check.run(call);
    call.set("lse1", y["lse"]);
    call.set("o1", y["o"]);
  }
  const SoftmaxMean<Bound> truth = merge_parts(exact, T, d), of_stored = merge_parts(stored, T, d);
  const auto merges = static_cast<double>(parts - 1);
  for (Index t = 0; t < T; ++t)
    for (Index c = 0; c < d; ++c) {
      // each merge rounds o to the output's format once, and later ones scale it down
      const double got = call["o1"].at_flat(t * d + c), B = sum.o(t, c).w + merges * ulp(*call.contract.out, largest);
      double one_each = 0;
      for (std::size_t k = 0; k < exact.size(); ++k)
        one_each +=
            std::exp(value(exact[k].lse[t]) - value(truth.lse[t])) * std::fabs(value(exact[k].o(t, c))) * bf16.u();
      check.at_most("parts in bf16 against their exact merge", std::fabs(got - value(of_stored.o(t, c))), B);
      check.at_most("parts in bf16 against exact parts", std::fabs(got - value(truth.o(t, c))),
                    one_each * (1 + 1e-9) + B);
    }
}

CLAIM(attention.lse_merge.nan_state) {
  const Call call = two_parts(check);
  Call poisoned = call;
  const Index bad = check.pick("row", 0, call.size("T") - 1), d = call.size("d");
  put(poisoned, check.pick("part", 0, 1) == 0 ? "lse1" : "lse2", bad, not_a_number);
  const Tensors y = check.run(poisoned), clean = check.run(call);
  for (Index t = 0; t < call.size("T"); ++t) {
    check.same_bits("L beside a NaN", y["lse"].at_flat(t), t == bad ? not_a_number : clean["lse"].at_flat(t));
    for (Index c = 0; c < d; ++c)
      check.same_bits("O beside a NaN", y["o"].at_flat(t * d + c),
                      t == bad ? not_a_number : clean["o"].at_flat(t * d + c));
  }
}

CLAIM(attention.lse_merge.order_of_magnitude) {
  Call call = two_parts(check.with("empty", 0));
  // exp(-gap) is below half the smallest number of the accumulator: 2^-150 in fp32, so a gap of 104
  const bool first = check.pick("part", 0, 1) == 0;
  const double least = 1 + std::ceil(std::log(2.0) - std::log(call.contract.acc->min_subnormal()));
  const double gap = least + static_cast<double>(check.pick("gap", 0, 1000));
  for (Index t = 0; t < call.size("T"); ++t)
    put(call, first ? "lse2" : "lse1", t, round_to(*call.contract.acc, call[first ? "lse1" : "lse2"].at_flat(t) - gap));
  const Tensors y = check.run(call);
  const Tensor<double>& larger = call[first ? "o1" : "o2"];
  for (Index i = 0, n = larger.size(); i < n; ++i)
    check.same_bits("O where the other part is negligible", y["o"].at_flat(i) + 0.0,
                    round_to(*call.contract.out, larger.at_flat(i), call.contract.out_round) + 0.0);
}

}  // namespace assay

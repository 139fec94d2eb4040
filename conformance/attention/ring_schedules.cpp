#include <algorithm>
#include <cmath>

#include "conformance/attention/ring.hpp"

// Claims of spec/attention/ring_schedules.md.
namespace assay {
namespace {

using Schedule = AttentionRingOptions::Schedule;

/// The visible pairs of each rank of a causal sequence, counted.
std::vector<Index> pairs(const Tokens& tokens, Index S) {
  const Mask keep = ring_visible(S, {});
  std::vector<Index> of_rank;
  for (const std::vector<Index>& own : tokens) {
    Index n = 0;
    for (const Index i : own)
      for (Index j = 0; j < S; ++j) n += keep(i, j);
    of_rank.push_back(n);
  }
  return of_rank;
}

/// The call with values that tell which token they belong to: v_j = j + 1 in every column, and no logit but 0.
Call counting(Check& check) {
  Call call = check.call();
  call.set("q", Tensor<double>(call["q"].shape(), 0.0));
  const Tensor<double> v = call["v"].clone();
  const Index S = call.size("S"), row = v.size() / (call.size("B") * S);
  for (Index i = 0; i < v.size(); ++i) v.data()[i] = static_cast<double>(i / row % S + 1);
  call.set("v", v);
  return call;
}

}  // namespace

CLAIM(attention.ring_schedules.contiguous_imbalance) {
  const Index R = check.pick("ranks", 1, 9), each = check.pick("each", 1, 9);
  const std::vector<Index> found = pairs(shards(Schedule::contiguous, R * each, R), R * each);
  for (Index r = 0; r < R; ++r)
    check.require(found[static_cast<std::size_t>(r)] == r * each * each + each * (each + 1) / 2,
                  "pairs of rank " + std::to_string(r), static_cast<double>(found[static_cast<std::size_t>(r)]));
}

CLAIM(attention.ring_schedules.striped_imbalance) {
  const Index R = check.pick("ranks", 1, 9), each = check.pick("each", 1, 9);
  const std::vector<Index> found = pairs(shards(Schedule::striped, R * each, R), R * each);
  const auto most = std::max_element(found.begin(), found.end()), least = std::min_element(found.begin(), found.end());
  // Row n of the ranks holds tokens n R .. n R + R-1, which see from n R + 1 to n R + R keys.
  check.at_most("pairs of the busiest rank less those of the idlest", static_cast<double>(*most - *least),
                static_cast<double>(each * (R - 1)));
}

CLAIM(attention.ring_schedules.zigzag_balance) {
  const Index R = check.pick("ranks", 1, 9), c = check.pick("chunk", 1, 9), S = 2 * R * c;
  for (const Index found : pairs(shards(Schedule::zigzag, S, R), S))
    check.require(found == 2 * R * c * c + c, "pairs of a rank", static_cast<double>(found));
}

CLAIM(attention.ring_schedules.equal_results) {
  std::vector<Call> calls;
  std::vector<Tensors> answers;
  for (const char* schedule : {"contiguous", "zigzag", "striped"}) {
    calls.push_back(check.with("schedule", schedule).call());
    answers.push_back(check.run(calls.back()));
  }
  agree_within_bounds(check, "zigzag and contiguous", calls[1], answers[1], calls[0], answers[0]);
  agree_within_bounds(check, "striped and contiguous", calls[2], answers[2], calls[0], answers[0]);
}

CLAIM(attention.ring_schedules.partition) {
  check.with("mask", "none").with("sink", "none").with("gradient", "none").with("window", "-1").with("causal", "none");
  // Logits of 0 everywhere: e^L is the number of keys that a query has met, and O the mean of their numbers.
  const Call call = counting(check);
  const Tensors y = check.run(call);
  const Index S = call.size("S");
  const auto n = static_cast<double>(S);
  for (Index i = 0; i < y["lse"].size(); ++i)
    check.require(std::fabs(std::exp(y["lse"].at_flat(i)) - n) < 0.5, "keys that a query has met",
                  std::exp(y["lse"].at_flat(i)));
  check.accurate(call, y, "o");
  // One token more belongs to nobody: a refusal, not a result without it.
  if (check.c["ranks"] == 0) check.with("ranks", "2");
  const Call fits = check.call();
  Call longer = fits;
  for (const Named& t : fits.inputs.all()) {
    Shape shape = t.value.shape();
    ++shape[1];
    longer.set(t.name, Tensor<double>(shape, 1.0));
  }
  check.require(!check.refusal(longer).empty(), "a length that the ranks cannot share is refused",
                static_cast<double>(longer.size("S")));
}

CLAIM(attention.ring_schedules.unshard) {
  check.with("mask", "none").with("sink", "none").with("gradient", "none").with("causal", "causal");
  // By the window each token sees itself alone: O is its own value, wherever it was.
  Call own = check.with("window", "1").call();
  const Tensors y = check.run(own);
  const Tensor<double> v = own["v"], o = y["o"];
  const Index rows = own.size("B") * own.size("S"), H = own.size("H"), Hkv = own.size("Hkv"), dv = own.size("dv");
  for (Index r = 0; r < rows; ++r)
    for (Index h = 0; h < H; ++h)
      for (Index c = 0; c < dv; ++c)
        check.same_bits("O of a token that sees itself alone", o.at_flat((r * H + h) * dv + c),
                        v.at_flat((r * Hkv + h / (H / Hkv)) * dv + c));
  // Positions: under a causal mask token i has met i + 1 keys.
  const Call causal = counting(check.with("window", "-1"));
  const Tensor<double> lse = check.run(causal)["lse"];
  const Index S = causal.size("S");
  for (Index i = 0; i < lse.size(); ++i) {
    const double met = std::exp(lse.at_flat(i));
    check.require(std::fabs(met - static_cast<double>(i % S + 1)) < 0.5, "keys that the token at a position has met",
                  met);
  }
}

CLAIM(attention.ring_schedules.zigzag_steps) {
  check.with("schedule", "zigzag").with("causal", "causal").with("window", "-1").with("mask", "none");
  const Call call = check.with("start", "0").call();
  const Index S = call.size("S"), R = static_cast<Index>(call.option("ranks")), c = S / (2 * R);
  const Tokens tokens = shards(Schedule::zigzag, S, R);
  const Mask keep = ring_visible(S, {});
  for (Index r = 0; r < R; ++r)
    for (Index n = 1; n < R; ++n) {
      const auto &own = tokens[static_cast<std::size_t>(r)],
                 &theirs = tokens[static_cast<std::size_t>(ring_source(r, n, R, 0))];
      for (Index i = 0; i < 2 * c; ++i)
        for (Index j = 0; j < 2 * c; ++j)
          check.require(
              (n <= r ? j < c : i >= c) ==
                  (keep(own[static_cast<std::size_t>(i)], theirs[static_cast<std::size_t>(j)]) != 0),
              "the rule of step " + std::to_string(n) + " on rank " + std::to_string(r) + " is the visibility");
    }
  // What a group that goes by either computes.
  check.accurate(call, check.run(call));
}

}  // namespace assay

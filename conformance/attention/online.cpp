#include "reference/attention/online.hpp"

#include <algorithm>

#include "conformance/attention/chunks.hpp"
#include "conformance/attention/heads.hpp"
#include "reference/softmax/online.hpp"
#include "reference/softmax/safe.hpp"

// Claims of spec/attention/online.md.
namespace assay {
namespace {

/// Of a head: the keys from `first` to `last` alone.
Head keys_of(const Head& h, Index first, Index last) {
  Head part = h;
  part.k = h.k.row_range(first, last);
  part.v = h.v.row_range(first, last);
  if (h.bias.data() != nullptr) part.bias = h.bias.col_range(first, last);
  if (h.keep.data() != nullptr) part.keep = h.keep.col_range(first, last);
  return part;
}

/// Everything sees everything, with the logits q k.
Check& plain_logits(Check& check) {
  return something(check)
      .with("causal", "none")
      .with("window", 0)
      .with("mask", "none")
      .with("bias", "none")
      .with("sink", "none")
      .with("scale", "1");
}

/// Fills q or k: element c of row s (of Sq or Sk) is value(s, c).
template <class F>
void fill_rows(Call& call, const char* name, F value) {
  const Tensor<double> x = call[name].clone();
  const Index rows = x.shape()[1], heads = x.shape()[2], width = x.shape()[3];
  for (Index i = 0, n = x.size(); i < n; ++i) x.data()[i] = value(i / (heads * width) % rows, i % width);
  call.set(name, x);
}

}  // namespace

// ---- on: target

CLAIM(attention.online.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.online.empty_chunks) {
  if (check.c["Sk"] < 17) check.with("Sk", 17 + check.c["Sk"] % 8);
  Call call = something(check)
                  .with("causal", "none")
                  .with("window", 0)
                  .with("mask", "given")
                  .with("mask_is", "full")
                  .with("sink", "none")
                  .call();
  const Index Sk = call.size("Sk"), lead = check.pick("lead", 8, Sk - 1);
  const bool all_of_some = check.pick("some", 0, 1) == 1;
  const Tensor<double> mask = call["mask"].clone();
  for (Index r = 0; r < call.size("B") * call.size("Sq"); ++r)
    for (Index j = 0; j < Sk; ++j)
      if (j < lead || (all_of_some && r % 2 == 0)) mask.data()[r * Sk + j] = 0;
  call.set("mask", mask);
  const Tensors y = check.run(call);
  check.accurate(call, y);
  for_each_row(call, [&](Index b, Index h, Index i, const std::vector<Index>& seen) {
    if (!seen.empty()) return;
    check.same_bits("L where no chunk is seen", lse_at(y, b, h, i), -infinity);
    check.same_bits("O where no chunk is seen", row_at(y, b, h, i), Vector<double>(call.size("dv"), 0.0));
  });
}

CLAIM(attention.online.increasing_worst) {
  // q = (1, 0, ...), k_j = (j step, 0, ...): each key is a new maximum, by step. Exact in every format of two digits
  // more than Sk has.
  Call call = something(check).with("bias", "none").with("scale", "1").call();
  const double step = pow2(static_cast<int>(check.pick("step", -3, 4)));
  if (static_cast<double>(call.size("Sk")) > pow2(call.contract.in->p())) return check.nothing_to_compare();
  fill_rows(call, "q", [](Index, Index c) { return c == 0 ? 1.0 : 0.0; });
  fill_rows(call, "k", [&](Index j, Index c) { return c == 0 ? static_cast<double>(j) * step : 0.0; });
  check.accurate(call, check.run(call));
}

CLAIM(attention.online.masked_poison) {
  masked_poison(check);
  unseen_has_no_influence(check);
}

CLAIM(attention.online.max_exact) {
  // One key has a logit that is exact, and so far above the zeros of the others that their weights are 0: l = 1, L = m.
  Call call = plain_logits(check).with("softcap", 0).call();
  const Index terms = std::min<Index>(4, call.size("d")), Sk = call.size("Sk"), top = check.pick("top", 0, Sk - 1);
  const auto picked = [&](const std::string& name) {  // eight digits, of which the format may hold fewer
    const std::int64_t digits = check.pick(name + std::to_string(Sk + call.size("d")), 128, 255);
    return round_to(*call.contract.in, static_cast<double>(digits) * pow2(check.pick("huge", 0, 3) > 0 ? 8 : 0));
  };
  const double a = picked("a"), b = picked("b");
  const double s = static_cast<double>(terms) * a * b;
  if (!(std::max(a, b) <= call.contract.in->max_finite()) || s > call.contract.acc->max_finite())
    return check.nothing_to_compare();
  fill_rows(call, "q", [&](Index, Index c) { return c < terms ? a : 0; });
  fill_rows(call, "k", [&](Index j, Index c) { return j == top && c < terms ? b : 0; });
  const Tensors y = check.run(call);
  const bool tracked = call.contract.exponent == Exponent::difference;  // else the largest weight is not 1
  if (!tracked) return check.accurate(call, y);
  for_each_head(call, [&](Index e, Index h) {
    for (Index i = 0; i < call.size("Sq"); ++i) {
      check.same_bits("L of a row with one logit far above the others", lse_at(y, e, h, i), s);
      for (Index c = 0; c < call.size("dv"); ++c)
        check.same_bits("O of a row with one logit far above the others", row_at(y, e, h, i)[c] + 0.0,
                        round_to(*call.contract.out, value_at(call, e, h, top, c)) + 0.0);
    }
  });
}

CLAIM(attention.online.nan_row) {
  nan_rows(check);
  nan_values(check);
}

// ---- on: definition

CLAIM(attention.online.any_reference) {
  const auto compare = [&](const std::string& what, const Head& h, const ShiftRule& rule) {
    const SeenLogits<Bound> in = seen_logits(h);
    agree(check, what, attention_online(in, random_chunks(check, what, in.x.cols()), rule), h.run());
  };
  const Head h = head_of(check);
  compare("stale maximum", h, {ShiftRule::Kind::stale_max, stale_threshold});
  compare("maximum - 5", h, {ShiftRule::Kind::max_plus, -5});
  compare("maximum + 3", h, {ShiftRule::Kind::max_plus, 3});
  // within range: d <= 16 products of |z| < 9 with a scale of at most 1, less phi, are within +-705 of 0 together
  check.with("d", std::min<std::int64_t>(check.c["d"], 8)).with("profile", "uniform");
  compare("fixed phi", head_of(check), {ShiftRule::Kind::fixed, 6});
}

CLAIM(attention.online.chunking) {
  const Head h = head_of(check);
  const SeenLogits<Bound> in = seen_logits(h);
  const Index n = in.x.cols();
  Chunks one_by_one;
  for (Index j = 0; j < n; ++j) one_by_one.push_back({j});
  const Attention<Bound> y = attention_online(in, one_by_one, {});
  agree(check, "chunks in order", attention_online(in, random_chunks(check, "ordered", n), {}), y);
  agree(check, "chunks in another order", attention_online(in, shuffled_chunks(check, "shuffled", n), {}), y);
}

CLAIM(attention.online.equals_safe) {
  const Head h = head_of(check);
  const SeenLogits<Bound> in = seen_logits(h);
  const Index rows = in.x.rows();
  const Attention<Bound> y = attention_online(in, random_chunks(check, "chunks", in.x.cols()), {});
  const Softmax<Bound> safe = softmax_safe(h.logits(), h.keep, full<Bound>(rows, -infinity), {});
  check.agree("O, safe softmax times V", y.o, matmul(safe.p, h.v));
  check.agree("L of safe softmax", y.lse, safe.lse);
}

CLAIM(attention.online.invariant) {
  const Head h = head_of(check);
  const SeenLogits<Bound> in = seen_logits(h);
  const Chunks chunks = random_chunks(check, "chunks", in.x.cols());
  const std::vector<AttentionState<Bound>> states = attention_states(in, chunks, {});
  Index met = 0;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    met += static_cast<Index>(chunks[c].size());
    const SoftmaxMean<Bound> now = softmax_finish(states[c + 1]);
    agree(check, "a prefix of the keys", {now.o, now.lse}, keys_of(h, 0, met).run());
  }
}

CLAIM(attention.online.l_range) {
  const SeenLogits<Bound> in = seen_logits(head_of(check));
  const Matrix<double> x = values(in.x);
  const Chunks chunks = shuffled_chunks(check, "chunks", x.cols());
  const std::vector<AttentionState<double>> states = attention_states<double>({x, values(in.v)}, chunks, {});
  check.nothing_to_compare();
  Vector<double> seen = full<double>(x.rows(), 0);
  for (std::size_t c = 0; c < chunks.size(); ++c)
    for (Index i = 0; i < x.rows(); ++i) {
      for (const Index j : chunks[c]) seen[i] += x(i, j) != -infinity;
      if (seen[i] == 0) continue;  // rounding is monotone: the bounds hold of the rounded l
      check.at_most("1 - l", 1 - states[c + 1].l[i], 0);
      check.at_most("l - |V|", states[c + 1].l[i] - seen[i], 0);
    }
}

}  // namespace assay

// Claims of spec/attention/gqa.md on its definition.
#include "conformance/attention/heads.hpp"
#include "conformance/engine/adjoint.hpp"
#include "reference/attention/gqa.hpp"
#include "reference/core/lift.hpp"

namespace assay {
namespace {

/// The heads of key-value head `kv` in the first batch entry.
HeadGroup<Bound> group_of(const Call& call, Index kv) {
  const Eval<Bound> e(call);
  const auto opt = e.options<AttentionOptions>();
  const auto head = [&](const char* name, Index h) { return at_lead(swap_dims(e.tensor(name), 1, 2), {0, h}); };
  const Index g = call.size("H") / call.size("Hkv"), Sq = call.size("Sq"), Sk = call.size("Sk");
  HeadGroup<Bound> group;
  for (Index r = 0; r < g; ++r) {
    group.q.push_back(head("q", kv * g + r));
    if (e.has("bias")) group.bias.push_back(at_lead(e.tensor("bias"), {kv * g + r}));
  }
  group.k = head("k", kv);
  group.v = head("v", kv);
  group.keep = visible(0, Sq, Sq, Sk, opt);
  if (e.has("mask")) group.keep = both(at_lead(e.mask_tensor("mask"), {0}), group.keep);
  return group;
}

Call case_of(Check& check) { return something(check).with("sink", "none").call(); }
AttentionOptions options_of(const Call& call) { return AttentionOptions::from(call.options); }

/// Cotangents of a group: other values for each head.
std::vector<Matrix<Bound>> outputs_of(const HeadGroup<Bound>& group, Index kv) {
  std::vector<Matrix<Bound>> d_o;
  for (std::size_t r = 0; r < group.q.size(); ++r)
    d_o.push_back(static_cast<double>(kv * 3 + static_cast<Index>(r) + 1) *
                  cotangent(group.q[r].rows(), group.v.cols()));
  return d_o;
}
std::vector<Vector<Bound>> no_lse(const HeadGroup<Bound>& group) {
  return std::vector<Vector<Bound>>(group.q.size(), full<Bound>(group.q[0].rows(), 0));
}

/// The row numbers that packing gave to head r.
std::vector<Index> rows_of(std::size_t r, std::size_t g, Index Sq) {
  std::vector<Index> rows;
  for (Index i = 0; i < Sq; ++i) rows.push_back(i * static_cast<Index>(g) + static_cast<Index>(r));
  return rows;
}

}  // namespace

CLAIM(attention.gqa.adjoint) {
  const Call call = [&] { return check.with("B", 1), case_of(check); }();
  const Index Hkv = call.size("Hkv"), g = call.size("H") / Hkv, Sq = call.size("Sq"), dv = call.size("dv");
  for (const char* name : {"q", "k", "v"}) {
    const Tensors direction = along(call, name);
    const Tensor<Dual> moved = swap_dims(check.define<Dual>(call, direction)["o"], 1, 2);
    const Tensor<double> steps = swap_dims(direction[name], 1, 2);
    Bound left(0), right(0);
    for (Index kv = 0; kv < Hkv; ++kv) {
      const HeadGroup<Bound> group = group_of(call, kv);
      const std::vector<Matrix<Bound>> d_o = outputs_of(group, kv);
      const GroupVjp<Bound> back = group_vjp(group, d_o, no_lse(group), options_of(call));
      const auto step = [&](Index h) {
        const Matrix<double> x = at_lead(steps, {0, h});
        Matrix<Bound> y(x.rows(), x.cols());
        for (Index i = 0; i < x.rows(); ++i)
          for (Index c = 0; c < x.cols(); ++c) y(i, c) = x(i, c);
        return y;
      };
      for (Index r = 0; r < g; ++r) {
        Matrix<Bound> change(Sq, dv);
        const Matrix<Dual> y = at_lead(moved, {0, kv * g + r});
        for (Index i = 0; i < Sq; ++i)
          for (Index c = 0; c < dv; ++c) change(i, c) = y(i, c).d;
        left = left + inner(d_o[static_cast<std::size_t>(r)], change);
        if (*name == 'q') right = right + inner(back.dq[static_cast<std::size_t>(r)], step(kv * g + r));
      }
      if (*name != 'q') right = right + inner(*name == 'k' ? back.dk : back.dv, step(kv));
    }
    check.agree(std::string("<dO, J d> = <J^T dO, d> along ") + name, left, right);
  }
}

CLAIM(attention.gqa.bwd_sum) {
  // The packed problem has one K and V, so its gradient is the group's; the definition sums over the heads.
  const Call call = case_of(check);
  const HeadGroup<Bound> group = group_of(call, check.pick("kv", 0, call.size("Hkv") - 1));
  const Index g = static_cast<Index>(group.q.size());
  const std::vector<Matrix<Bound>> d_o = outputs_of(group, 0);
  const GroupVjp<Bound> sum = group_vjp(group, d_o, no_lse(group), options_of(call));
  const Matrix<Bound> q = pack_rows(group.q);
  const AttentionVjp<Bound> packed = attention_vjp(q, group.k, group.v, pack_mask(group.keep, g), pack_rows(group.bias),
                                                   pack_rows(d_o), full<Bound>(q.rows(), 0), options_of(call));
  check.agree("dK as the sum over heads", sum.dk, packed.dk);
  check.agree("dV as the sum over heads", sum.dv, packed.dv);
  check.agree("dQ", pack_rows(sum.dq), packed.dq);
}

CLAIM(attention.gqa.cache_bytes) {
  const Call call = case_of(check);
  const Index tokens = call.size("B") * call.size("Sk"), Hkv = call.size("Hkv"), H = call.size("H");
  const Index d = call.size("d"), dv = call.size("dv");
  for (const Index bytes : {1, 2, 4}) {
    const Index held = (call["k"].size() + call["v"].size()) * bytes;
    check.require(held == tokens * gqa_cache_bytes(Hkv, d, dv, bytes), "bytes of K and V", static_cast<double>(held));
    check.require(gqa_cache_bytes(1, d, dv, bytes) * H == gqa_cache_bytes(H, d, dv, bytes), "MQA takes 1/H of MHA");
  }
}

CLAIM(attention.gqa.cyclic) {
  check.with("B", 1).with("profile", "normal").with("window", 0).with("mask", "none").with("causal", "none");
  const Index Hkv = check.pick("Hkv", 1, 3), g = check.pick("g", 1, 3);
  const Call call = check.with("Sq", 2).with("Sk", 4).with("Hkv", Hkv).with("g", g).with("d", 8).with("dv", 4).call();
  const Index H = Hkv * g;
  Call cyclic = call;  // every head with keys and values of its own: head h mod Hkv
  for (const char* name : {"k", "v"}) {
    Shape n = call[name].shape();
    n[2] = H;
    const Tensor<double> x(n);
    for (Index i = 0, size = x.size(); i < size; ++i) {
      const Index row = i / n[3], h = row % H;
      x.data()[i] = call[name].at_flat((row / H * Hkv + h % Hkv) * n[3] + i % n[3]);
    }
    cyclic.set(name, x);
  }
  const Tensor<Bound> block = check.define<Bound>(call)["o"], other = check.define<Bound>(cyclic)["o"];
  if (Hkv == 1 || Hkv == H) return check.agree("cyclic heads where Hkv is 1 or H", block, other);
  check.differ("head h div g and head h mod Hkv", block, other);
}

CLAIM(attention.gqa.intensity) {
  // Counted: the multiplications of one decoded token, 2 FLOPs each; the factor of a logit is not work on K or V.
  const Call call = [&] {
    check.with("Sq", 1)
        .with("causal", "none")
        .with("window", 0)
        .with("mask", "none")
        .with("bias", "none")
        .with("softcap", 0);
    if (check.c["d"] > 8) check.with("d", 8);
    return check.with("dv", check.c["d"]), case_of(check);
  }();
  const auto counted = [](const Matrix<Bound>& x) {
    Matrix<Count> y(x.rows(), x.cols());
    for (Index i = 0; i < x.rows(); ++i)
      for (Index c = 0; c < x.cols(); ++c) y(i, c) = x(i, c).v;
    return y;
  };
  Index products = 0;
  const Index Sk = call.size("Sk"), Hkv = call.size("Hkv"), g = call.size("H") / Hkv;
  for (Index kv = 0; kv < Hkv; ++kv) {
    const HeadGroup<Bound> group = group_of(call, kv);
    HeadGroup<Count> counting{{}, {}, counted(group.k), counted(group.v), Mask()};
    for (const Matrix<Bound>& q : group.q) counting.q.push_back(counted(q));
    tally() = {};
    group_attention(counting, options_of(call));
    products += tally().multiply - g * Sk;
  }
  for (const Index bytes : {1, 2, 4}) {
    const Index read = Sk * gqa_cache_bytes(Hkv, call.size("d"), call.size("dv"), bytes);
    check.require(2.0 * static_cast<double>(products) == gqa_intensity(g, bytes) * static_cast<double>(read),
                  "FLOPs of a decoded token", 2.0 * static_cast<double>(products));
  }
}

CLAIM(attention.gqa.pack) {
  const Call call = case_of(check);
  const HeadGroup<Bound> group = group_of(call, check.pick("kv", 0, call.size("Hkv") - 1));
  const Attention<Bound> packed = packed_attention(group, options_of(call));
  const std::vector<Attention<Bound>> heads = group_attention(group, options_of(call));
  for (std::size_t r = 0; r < heads.size(); ++r) {
    const std::vector<Index> rows = rows_of(r, heads.size(), call.size("Sq"));
    check.agree("O of a packed head", take_rows(packed.o, rows), heads[r].o);
    for (std::size_t i = 0; i < rows.size(); ++i)
      check.agree("L of a packed head", packed.lse[rows[i]], heads[r].lse[static_cast<Index>(i)]);
  }
}

}  // namespace assay

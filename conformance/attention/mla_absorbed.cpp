#include "reference/attention/mla_absorbed.hpp"

#include <algorithm>

#include "conformance/attention/mla.hpp"

// Claims of spec/attention/mla_absorbed.md.
namespace assay {
namespace {

Check& absorbed(Check& check) { return something(check).with("form", "absorbed"); }

/// Numbers that a case may have anywhere, of both signs.
Matrix<Bound> some(Index rows, Index cols, Index step) {
  Matrix<Bound> x(rows, cols);
  for (Index i = 0; i < rows * cols; ++i) x(i / cols, i % cols) = static_cast<double>((i * step + 2) % 11 - 5) / 4;
  return x;
}

MlaHead<Bound> cached_head(Check& check) { return mla_head(something(check).with("latent", "cached").call()); }

MlaHead<Count> counted(const MlaHead<Bound>& h) {
  const auto count = [](const Matrix<Bound>& x) {
    Matrix<Count> y(x.rows(), x.cols());
    for (Index r = 0; r < x.rows(); ++r)
      for (Index c = 0; c < x.cols(); ++c) y(r, c) = x(r, c).v;
    return y;
  };
  return {count(h.c), count(h.k_rope), count(h.q_nope), count(h.q_rope), count(h.w_uk), count(h.w_uv), Mask()};
}

/// Multiplications of one head, all pairs seen, without those of the scale: one a pair, and two to form it.
Index products_of(const MlaHead<Count>& h, Attention<Count> (*form)(const MlaHead<Count>&, const MlaDecodeOptions&)) {
  tally() = {};
  form(h, {});
  return static_cast<Index>(tally().multiply) - h.q_nope.rows() * h.c.rows() - 2;
}

}  // namespace

// ---- on: target, of both forms

void mla_empty_rows(Check& check) {
  if (check.pick("how", 0, 1) == 0)
    check.with("mask", "given").with("mask_is", "empty_rows");
  else
    check.with("Sk", 0);
  const Call call = check.call();
  const Tensors y = check.run(call);
  for_each_head(call, [&](Index b, Index h) {
    for (Index i = 0; i < call.size("Sq"); ++i) {
      bool any = false;
      for (Index j = 0; j < call.size("Sk"); ++j) any = any || mla_sees(call, b, i, j);
      if (any) continue;
      check.same_bits("L of a row that sees no key", lse_at(y, b, h, i), -infinity);
      for (Index n = 0; n < call.size("dvh"); ++n)
        check.require(row_at(y, b, h, i)[n] == 0, "O of a row that sees no key is 0", row_at(y, b, h, i)[n]);
    }
  });
}

void mla_masked_poison(Check& check) {
  const Call call = check.with("mask", "given").call();
  const Index Sq = call.size("Sq"), Sk = call.size("Sk"), j = check.pick("key", 0, Sk - 1);
  const double poison = check.pick("poison", 0, 1) == 0 || !call.contract.in->has_infinity() ? not_a_number : infinity;
  const Tensor<double> mask = call["mask"].clone(), c = call["c"].clone(), k = call["k_rope"].clone();
  for (Index r = 0; r < call.size("B") * Sq; ++r) mask.data()[r * Sk + j] = 0;
  for (const Tensor<double>* t : {&c, &k}) {
    const Index width = t->size() / (call.size("B") * Sk);
    for (Index b = 0; b < call.size("B"); ++b)
      for (Index a = 0; a < width; ++a) t->data()[(b * Sk + j) * width + a] = poison;
  }
  Call hidden = call;
  hidden.set("mask", mask);
  Call poisoned = hidden;
  poisoned.set("c", c);
  poisoned.set("k_rope", k);
  same_but(check, check.run(poisoned), check.run(hidden), [](Index, Index, Index) { return false; });
}

void mla_nan_rows(Check& check) {
  const Call call = check.call();
  const Index b = check.pick("b", 0, call.size("B") - 1), i = check.pick("i", 0, call.size("Sq") - 1),
              h = check.pick("h", 0, call.size("H") - 1), j = check.pick("j", 0, call.size("Sk") - 1);
  const Tensors clean = check.run(call);
  const auto nan_where = [&](const Tensors& y, const std::function<bool(Index, Index, Index)>& hit) {
    same_but(check, y, clean, hit);
    for_each_head(call, [&](Index a, Index g) {
      for (Index r = 0; r < call.size("Sq"); ++r) {
        if (!hit(a, g, r)) continue;
        check.same_bits("L of a row with a NaN logit", lse_at(y, a, g, r), not_a_number);
        check.same_bits("O of a row with a NaN logit", row_at(y, a, g, r),
                        Vector<double>(call.size("dvh"), not_a_number));
      }
    });
  };
  bool any = false;
  for (Index key = 0; key < call.size("Sk"); ++key) any = any || mla_sees(call, b, i, key);
  Call query = call;
  query.set("q_nope", with_element(call["q_nope"], {b, i, h, check.pick("n", 0, call.size("dn") - 1)}, not_a_number));
  const Tensors of_query = check.run(query);
  if (any)
    nan_where(of_query, [&](Index a, Index g, Index r) { return a == b && g == h && r == i; });
  else  // it sees no key, and has no logit that could be NaN
    same_but(check, of_query, clean, [](Index, Index, Index) { return false; });
  Call latent = call;  // a NaN in the latent is in the logit, and in every column that W_UV mixes
  latent.set("c", with_element(call["c"], {b, j, 0, check.pick("a", 0, call.size("gw") - 1)}, not_a_number));
  nan_where(check.run(latent), [&](Index a, Index, Index r) { return a == b && mla_sees(call, b, r, j); });
}

// ---- on: target

CLAIM(attention.mla_absorbed.accuracy) {
  const Call call = check.with("form", "absorbed").call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.mla_absorbed.empty_row) { mla_empty_rows(absorbed(check)); }

CLAIM(attention.mla_absorbed.is_mqa) {
  // With W_UK,h = W_UV,h = 1 queries and results are not projected at all: what is left is op attention.
  absorbed(check).with("latent", "cached").with("factor", "1").with("ng", 1);
  const Index dc = std::min<Index>(check.c["gw"], 5);
  check.with("gw", dc).with("dn", dc).with("dvh", dc);
  Call call = check.call();
  const Index H = call.size("H"), dr = call.size("dr"), B = call.size("B"), Sq = call.size("Sq"), Sk = call.size("Sk");
  const Tensor<double> one({dc, H, dc}, 0.0);
  for (Index a = 0; a < dc; ++a)
    for (Index h = 0; h < H; ++h) one.data()[(a * H + h) * dc + a] = 1;
  call.set("w_uk", one);
  call.set("w_uv", one);
  const auto joined = [&](const char* left, const char* right, const Shape& shape) {
    const Tensor<double> x(shape);
    for (Index i = 0, n = x.size(); i < n; ++i) {
      const Index row = i / (dc + dr), col = i % (dc + dr);
      x.data()[i] = col < dc ? call[left].at_flat(row * dc + col) : call[right].at_flat(row * dr + col - dc);
    }
    return x;
  };
  const Format* const in = call.contract.in;
  Call mqa;
  mqa.op = &page_of_op("attention").op;
  mqa.contract = call.contract;
  for (const OptionSpec& o : mqa.op->options) mqa.options.push_back(o.numeric() ? o.numbers[0] : 0);
  mqa.set_option("causal", call.option("causal") == 0 ? 0 : 2);
  mqa.inputs.set("q", joined("q_nope", "q_rope", {B, Sq, H, dc + dr}), in);
  mqa.inputs.set("k", joined("c", "k_rope", {B, Sk, 1, dc + dr}), in);
  mqa.inputs.set("v", Tensor<double>(call["c"].storage(), call["c"].data(), {B, Sk, 1, dc}, {Sk * dc, dc, dc, 1}), in);
  if (call.inputs.has("mask")) {
    mqa.set_option("mask", 1);
    mqa.inputs.set("mask", call["mask"], call.inputs.find("mask").format);
  }
  const Tensors z = check.run(mqa), y = check.run(call);
  if (!check.same_kernel()) {
    check.accurate(mqa, z);
    return check.accurate(call, y);
  }
  // a product with 0 and 1 leaves every value but the sign of a zero
  Tensors unsigned_y = y, unsigned_z = z;
  for (Tensors* t : {&unsigned_y, &unsigned_z}) {
    const Tensor<double> o = (*t)["o"].clone();
    for (Index i = 0, n = o.size(); i < n; ++i) o.data()[i] += 0.0;
    t->set("o", o, call.contract.out);
  }
  same_but(check, unsigned_y, unsigned_z, [](Index, Index, Index) { return false; });
}

CLAIM(attention.mla_absorbed.lse_same) {
  Call call = absorbed(check).call();
  const Tensors y = check.run(call);
  const ReadingScope scope(Reading{&call.contract, false, 8});
  const Tensor<Bound> at_y = check.define<Bound>(call)["lse"];
  Call expanded = call;
  expanded.set_option("form", 0);
  const Tensors z = check.run(expanded);
  const Tensor<Bound> at_z = check.define<Bound>(expanded)["lse"];
  for (Index i = 0, n = at_y.size(); i < n; ++i)
    close(check, "L of both forms", y["lse"].at_flat(i), at_y.at_flat(i), z["lse"].at_flat(i), at_z.at_flat(i),
          *call.contract.acc);
}

CLAIM(attention.mla_absorbed.masked_poison) { mla_masked_poison(absorbed(check)); }

CLAIM(attention.mla_absorbed.nan_row) { mla_nan_rows(absorbed(check)); }

// ---- on: definition

CLAIM(attention.mla_absorbed.equals_expanded) {
  Call call = something(check).with("hold", "acc").with("form", "expanded").call();
  auto expanded = check.define<Bound>(call);
  call.set_option("form", 1);
  auto other = check.define<Bound>(call);
  check.agree("O of both forms", other["o"], expanded["o"]);
  check.agree("L of both forms", other["lse"], expanded["lse"]);
}

CLAIM(attention.mla_absorbed.flops) {
  const MlaHead<Count> h = counted(cached_head(check));
  const Index Sq = h.q_nope.rows(), Sk = h.c.rows(), dc = h.c.cols(), dn = h.q_nope.cols(), dr = h.q_rope.cols();
  const Index dvh = h.w_uv.cols(), expanded = products_of(h, mla_expanded<Count>),
              absorbed = products_of(h, mla_absorbed<Count>);
  // two FLOPs a multiplication
  check.require(expanded == Sq * Sk * (dn + dr + dvh) + Sk * dc * (dn + dvh), "multiplications of the expanded form",
                static_cast<double>(expanded));
  check.require(absorbed == Sq * Sk * (2 * dc + dr) + Sq * dc * (dn + dvh), "multiplications of the absorbed form",
                static_cast<double>(absorbed));
  // queries per key where both pair terms meet: n (dn + dr + dvh) + dc (dn + dvh) = n (2 dc + dr)
  const Index gap = 2 * dc - dn - dvh;
  if (gap > 0) {
    const Bound even = Bound(static_cast<double>(dc * (dn + dvh))) / Bound(static_cast<double>(gap));
    const auto pair_costs = [&](Index width) { return even * Bound(static_cast<double>(width)); };
    check.agree("both forms at the break-even", pair_costs(2 * dc + dr),
                pair_costs(dn + dr + dvh) + Bound(static_cast<double>(dc * (dn + dvh))));
  }
  check.require(2 * (128 + 64 + 128) == 640 && 2 * (2 * 512 + 64) == 2176, "V3: 640 and 2176 FLOPs per pair and head");
  check.at_most("|break-even of V3 - 170.67|", std::fabs(512.0 * 256 / (1024 - 256) - 170.67), 0.005);
}

CLAIM(attention.mla_absorbed.intensity) {
  // One query of H heads: the heads' pair terms over the cache, read once.
  const MlaHead<Bound> head = cached_head(check);
  MlaHead<Count> h = counted(head);
  h.q_nope = h.q_nope.row_range(0, 1), h.q_rope = h.q_rope.row_range(0, 1);
  const Index H = check.c["H"], Sk = h.c.rows(), dc = h.c.cols(), dr = h.q_rope.cols(),
              once = dc * (h.q_nope.cols() + h.w_uv.cols());
  const double flops = 2.0 * static_cast<double>(H * (products_of(h, mla_absorbed<Count>) - once)),
               bytes = 2.0 * static_cast<double>(Sk * (dc + dr));
  const double formula = 2.0 * static_cast<double>(H * (2 * dc + dr)) / (2.0 * static_cast<double>(dc + dr));
  check.require(flops * static_cast<double>(dc + dr) * 2 == 2.0 * static_cast<double>(H * (2 * dc + dr)) * bytes,
                "FLOPs per byte of the cache in bf16", flops / bytes);
  check.at_most("intensity is less than 2 H: two FLOPs per head and byte", formula, 2.0 * static_cast<double>(H));
}

CLAIM(attention.mla_absorbed.key_side) {
  const MlaHead<Bound> h = cached_head(check);
  check.agree("(q W^T) c = q (c W)", matmul(mla_absorb(h.q_nope, h.w_uk, {}), transpose(h.c)),
              matmul(h.q_nope, transpose(mla_expand(h.c, h.w_uk, {}))));
}

CLAIM(attention.mla_absorbed.value_side) {
  const MlaHead<Bound> h = cached_head(check);
  const Matrix<Bound> s = some(h.q_nope.rows(), h.c.rows(), 7);  // any logits serve
  const Matrix<Bound> after = matmul(softmax_mean(s, h.c, h.keep, Vector<Bound>()).o, h.w_uv);
  check.agree("projecting after the mean and before", after,
              softmax_mean(s, mla_expand(h.c, h.w_uv, {}), h.keep, Vector<Bound>()).o);
}

CLAIM(attention.mla_absorbed.w_o_fold) {
  const MlaHead<Bound> h = cached_head(check);
  const Matrix<Bound> w_o = some(h.w_uv.cols(), 4, 3);  // the rows of W_O that belong to the head
  MlaHead<Bound> folded = h;
  folded.w_uv = matmul(h.w_uv, w_o);
  check.agree("W_O folded into W_UV", mla_absorbed(folded, {}).o, matmul(mla_absorbed(h, {}).o, w_o));
}

}  // namespace assay

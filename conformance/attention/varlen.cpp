#include "reference/attention/varlen.hpp"

#include <cmath>
#include <functional>

#include "conformance/attention/packed.hpp"
#include "reference/core/lift.hpp"

// Claims of spec/attention/varlen.md.
namespace assay {
namespace {

template <class T>
void varlen_op(Eval<T>& e) {
  const VarlenInputs<T> in{e.tensor("q"), e.tensor("k"), e.tensor("v"), e.index_tensor("cu_q").vector(),
                           e.index_tensor("cu_k").vector()};
  const AttentionOutputs<T> y = attention_varlen(in, e.template options<AttentionVarlenOptions>());
  e.out("o", y.o);
  e.out("lse", y.lse);
}

Check& with_rows(Check& check) {
  for (const char* size : {"Tq", "Tk"})
    if (check.c[size] == 0) check.with(size, 3);
  return check;
}

void for_each_row(const Packed& p, const std::function<void(Index r, Index i, Index h)>& f) {
  for (Index r = 0; r < p.n; ++r)
    for (Index i = 0; i < p.q_length(r); ++i)
      for (Index h = 0; h < p.H; ++h) f(r, i, h);
}

void same_row(Check& check, const std::string& of, const Tensors& y, Index row, const Tensors& expected, Index at,
              Index h) {
  check.same_bits("L of " + of, packed_lse(y, h, row), packed_lse(expected, h, at));
  check.same_bits("O of " + of, packed_row(y, h, row), packed_row(expected, h, at));
}

/// Every element of the rows [first, last) of a packed input becomes `value`.
void fill_rows(Call& call, const char* name, Index first, Index last, double value) {
  const Tensor<double> x = call[name].clone();
  const Index width = x.shape()[1] * x.shape()[2];
  for (Index i = first * width; i < last * width; ++i) x.data()[i] = value;
  call.set(name, x);
}

}  // namespace

DEFINITION(attention.varlen, attention_varlen, varlen_op)

CLAIM(attention.varlen.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.varlen.empty) {
  if (check.c["Tq"] == 0) check.with("Tq", 4);
  if (check.c["ends"] < 3) check.with("ends", 3);
  // all keys in one sequence, the queries in all of them, or in another one
  check.with("cu_k_is", check.pick("keys", 0, 1) == 0 ? "first" : "last");
  const Packed p(check.call());
  const Tensors y = check.run(p.call);
  check.require(y.all().front().value.size() == p.Tq * p.H * p.dv, "every packed query has a row", p.Tq);
  for_each_row(p, [&](Index r, Index i, Index h) {
    if (p.seen(r, i) > 0) return;
    const Index row = p.q_first(r) + i;
    check.same_bits("L of a row that sees no key", packed_lse(y, h, row), -infinity);
    for (Index c = 0; c < p.dv; ++c)
      check.require(packed_row(y, h, row)[c] == 0, "O of a row that sees no key is 0", packed_row(y, h, row)[c]);
  });
}

CLAIM(attention.varlen.equals_loop) {
  const Packed p(with_rows(check).call());
  const Tensors all = check.run(p.call);
  if (!check.same_kernel()) check.accurate(p.call, all);
  for (Index r = 0; r < p.n; ++r) {
    const Call one = p.of({r});
    const Tensors y = check.run(one);
    if (!check.same_kernel()) {
      check.accurate(one, y);
      continue;
    }
    for (Index i = 0; i < p.q_length(r); ++i)
      for (Index h = 0; h < p.H; ++h) same_row(check, "a sequence run alone", y, i, all, p.q_first(r) + i, h);
  }
}

CLAIM(attention.varlen.equals_padded) {
  const Packed p(with_rows(check).call());
  const Index Sq = p.longest_q(), Sk = p.longest_k();
  // Sequences stand at the end of their padded rows, where bottom-right aligns them; the padding holds 7.
  const Eval<Bound> e(p.call);
  const auto padded = [&](const char* name, const std::vector<Index>& ends, Index longest) {
    const Tensor<Bound> x = e.tensor(name);
    const Index heads = x.shape()[1], width = heads * x.shape()[2];
    const Tensor<Bound> y({p.n, longest, heads, x.shape()[2]}, Bound(7));
    for (std::size_t r = 0; r + 1 < ends.size(); ++r) {
      const Index pad = longest - (ends[r + 1] - ends[r]);
      for (Index i = ends[r]; i < ends[r + 1]; ++i)
        for (Index c = 0; c < width; ++c)
          y.data()[((static_cast<Index>(r) * longest) + pad + i - ends[r]) * width + c] = x.at_flat(i * width + c);
    }
    return y;
  };
  AttentionInputs<Bound> in{
      padded("q", p.q_ends, Sq), padded("k", p.k_ends, Sk), padded("v", p.k_ends, Sk), {}, {}, {}};
  in.mask = Tensor<unsigned char>(Shape{p.n, Sq, Sk});
  for (Index r = 0; r < p.n; ++r)
    for (Index i = 0; i < Sq; ++i)
      for (Index j = 0; j < Sk; ++j)
        in.mask.data()[(r * Sq + i) * Sk + j] = i >= Sq - p.q_length(r) && j >= Sk - p.k_length(r);
  AttentionOptions opt;
  opt.causal = p.call.option("causal") == 1 ? AttentionOptions::Causal::none : AttentionOptions::Causal::bottom_right;
  opt.scale = p.call.option("scale");
  const AttentionOutputs<Bound> batch = attention(in, opt);
  const auto packed = check.define<Bound>(p.call);
  for_each_row(p, [&](Index r, Index i, Index h) {
    const Index row = p.q_first(r) + i, at = Sq - p.q_length(r) + i;
    const Bound &L = packed.at("lse").at_flat(h * p.Tq + row), &padded_l = batch.lse.at_flat((r * p.H + h) * Sq + at);
    if (value(L) == -infinity || value(padded_l) == -infinity)
      check.require(value(L) == value(padded_l), "L = -inf, packed and padded", value(L));
    else
      check.agree("L, packed and padded", L, padded_l);
    for (Index c = 0; c < p.dv; ++c)
      check.agree("O, packed and padded", packed.at("o").at_flat((row * p.H + h) * p.dv + c),
                  batch.o.at_flat(((r * Sq + at) * p.H + h) * p.dv + c));
  });
}

CLAIM(attention.varlen.isolation) {
  if (check.c["ends"] < 3) check.with("ends", 3);
  const Packed p(with_rows(check).call());
  const Tensors y = check.run(p.call);
  check.nothing_to_compare();
  for (Index a = 0; a < p.n; ++a) {
    Call poisoned = p.call;
    fill_rows(poisoned, "q", p.q_first(a), p.q_first(a + 1), not_a_number);
    for (const char* name : {"k", "v"}) fill_rows(poisoned, name, p.k_first(a), p.k_first(a + 1), not_a_number);
    const Tensors z = check.run(poisoned);
    for_each_row(p, [&](Index r, Index i, Index h) {
      const Index row = p.q_first(r) + i;
      if (r != a) same_row(check, "a sequence beside one that is NaN", z, row, y, row, h);
    });
  }
}

CLAIM(attention.varlen.max_seqlen_slack) {
  const Packed p(with_rows(check).with("max_q", "0").with("max_k", "0").call());
  const Tensors y = check.run(p.call);
  for (const auto& [most_q, most_k] :
       {std::pair<Index, Index>{p.longest_q(), p.longest_k()}, {p.longest_q() + 1, p.longest_k() + 5}, {32, 1000}}) {
    Call call = p.call;
    call.set_option("max_q", static_cast<double>(most_q));
    call.set_option("max_k", static_cast<double>(most_k));
    const Tensors z = check.run(call);
    for (const Named& t : y.all()) check.same_bits(t.name + " with another max_seqlen", z[t.name], t.value);
  }
}

CLAIM(attention.varlen.max_seqlen_small) {
  with_rows(check).with("max_q", "0").with("max_k", "0");
  for (const char* size : {"Tq", "Tk"})
    if (check.c[size] < 2) check.with(size, 2);
  const Packed p(check.with("cu_q_is", "first").with("cu_k_is", "first").call());
  const Tensors y = check.run(p.call);
  for (const char* option : {"max_q", "max_k"}) {
    Call call = p.call;
    call.set_option(option, static_cast<double>((option == std::string("max_q") ? p.longest_q() : p.longest_k()) - 1));
    const std::string refused = check.refusal(call);
    check.require(true, "a max_seqlen too small was given");
    if (!refused.empty()) continue;
    const Tensors z = check.run(call);
    for (const Named& t : y.all()) check.same_bits(t.name + " with a max_seqlen too small", z[t.name], t.value);
  }
}

CLAIM(attention.varlen.nan_row) {
  const Packed p(with_rows(check).call());
  const Tensors y = check.run(p.call);
  const Index bad = check.pick("row", 0, p.Tq - 1), head = check.pick("h", 0, p.H - 1);
  Call call = p.call;
  const Tensor<double> q = call["q"].clone();
  q.data()[(bad * p.H + head) * p.d + check.pick("of_q", 0, p.d - 1)] = not_a_number;
  call.set("q", q);
  const Tensors z = check.run(call);
  const Index key = check.pick("key", 0, p.Tk - 1), g = check.pick("kv", 0, p.Hkv - 1),
              c = check.pick("c", 0, p.dv - 1);
  const Tensor<double> v = p.call["v"].clone();
  v.data()[(key * p.Hkv + g) * p.dv + c] = not_a_number;
  call = p.call;
  call.set("v", v);
  const Tensors w = check.run(call);
  for_each_row(p, [&](Index r, Index i, Index h) {
    const Index row = p.q_first(r) + i, seen = p.seen(r, i);
    if (row != bad || h != head || seen == 0) {
      same_row(check, "a row without a NaN logit", z, row, y, row, h);
    } else {
      check.same_bits("L of a row with a NaN logit", packed_lse(z, h, row), not_a_number);
      check.same_bits("O of a row with a NaN logit", packed_row(z, h, row), Vector<double>(p.dv, not_a_number));
    }
    Vector<double> expected = packed_row(y, h, row);
    const bool sees = key >= p.k_first(r) && key < p.k_first(r) + seen && h / (p.H / p.Hkv) == g;
    if (sees) expected[c] = not_a_number;
    check.same_bits("O where a value is NaN", packed_row(w, h, row), expected);
    check.same_bits("L, which no value enters", packed_lse(w, h, row), packed_lse(y, h, row));
  });
}

CLAIM(attention.varlen.order) {
  if (check.c["ends"] < 3) check.with("ends", 3);
  const Packed p(with_rows(check).call());
  std::vector<Index> order;
  const Index turn = check.pick("turn", 0, p.n - 1);
  for (Index r = 0; r < p.n; ++r) order.push_back(p.n - 1 - (r + turn) % p.n);
  const Packed other(p.of(order));
  const Tensors y = check.run(p.call), z = check.run(other.call);
  for_each_row(other, [&](Index r, Index i, Index h) {
    const Index was = p.q_first(order[static_cast<std::size_t>(r)]) + i;
    same_row(check, "a sequence in another place", z, other.q_first(r) + i, y, was, h);
  });
}

CLAIM(attention.varlen.pairs) {
  const Packed p(with_rows(check).call());
  // A pair is visited where a NaN in the key reaches L of the query.
  Index visited = 0, expected = 0;
  for (Index j = 0; j < p.Tk; ++j) {
    Call call = p.call;
    fill_rows(call, "k", j, j + 1, not_a_number);
    const Tensor<double> lse = check.define<double>(call).at("lse");
    for (Index row = 0; row < p.Tq; ++row) visited += std::isnan(lse.at_flat(row));
  }
  for (Index r = 0; r < p.n; ++r) {
    // all of them, or, bottom-right, Sq off + Sq (Sq + 1) / 2 of the last min(Sq, Sk) queries
    const Index Sq = p.q_length(r), Sk = p.k_length(r), rows = std::min(Sq, Sk);
    expected += p.call.option("causal") == 1 ? Sq * Sk : rows * (Sk - rows) + rows * (rows + 1) / 2;
  }
  check.require(visited == expected, "pairs visited are the sum over sequences, " + std::to_string(expected),
                static_cast<double>(visited));
}

}  // namespace assay

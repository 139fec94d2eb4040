#include "reference/cache/kv_cache.hpp"

#include "conformance/engine/claim.hpp"

// Claims of spec/cache/kv_cache.md.
namespace assay {
namespace {

template <class T>
void kv_cache_op(Eval<T>& e) {
  const KvCacheInputs<T> in{e.tensor("q"),           e.tensor("k"),       e.tensor("v"),
                            e.tensor("k_cache"),     e.tensor("v_cache"), e.index_tensor("past"),
                            e.index_tensor("shift"), e.matrix("cos"),     e.matrix("sin")};
  const KvCacheOutputs<T> y = kv_cache(in, e.template options<KvCacheOptions>());
  e.out("o", y.o);
  e.out("k_new", y.k_new);
  e.out("v_new", y.v_new);
}

Check& with_tokens(Check& check) {
  for (const char* size : {"B", "n"})
    if (check.c[size] == 0) check.with(size, 2);
  return check;
}

Index past_of(const Call& call, Index b) { return static_cast<Index>(call["past"].at_flat(b)); }

/// Tokens first..last-1 of x [B, n, heads, width].
Tensor<double> tokens(const Tensor<double>& x, Index first, Index last) {
  Shape shape = x.shape();
  shape[1] = last - first;
  return Tensor<double>(x.storage(), x.data() + first * x.strides()[1], shape, x.strides()).clone();
}

/// The step of tokens first..last-1 of a call, its cache what an earlier step left.
Call step(const Call& whole, Index first, Index last, const Tensor<double>& k_cache, const Tensor<double>& v_cache) {
  Call call = whole;
  for (const char* name : {"q", "k", "v"}) call.set(name, tokens(whole[name], first, last));
  call.set("k_cache", k_cache);
  call.set("v_cache", v_cache);
  const Tensor<double> past = whole["past"].clone();
  for (Index b = 0; b < past.size(); ++b) past.data()[b] += static_cast<double>(first);
  call.set("past", past);
  return call;
}

/// Every element of slots first..last-1 of row b becomes `value`.
void fill_slots(const Tensor<double>& cache, Index b, Index first, Index last, double value) {
  const Index width = cache.shape()[2] * cache.shape()[3], S = cache.shape()[1];
  for (Index i = (b * S + first) * width; i < (b * S + last) * width; ++i) cache.data()[i] = value;
}

void same_slots(Check& check, const std::string& what, const Tensor<double>& y, const Tensor<double>& expected, Index b,
                Index first, Index last) {
  const Index width = y.shape()[2] * y.shape()[3], S = y.shape()[1];
  for (Index i = (b * S + first) * width; i < (b * S + last) * width; ++i)
    check.same_bits(what, y.at_flat(i), expected.at_flat(i));
}

}  // namespace

DEFINITION(cache.kv_cache, kv_cache, kv_cache_op)

CLAIM(cache.kv_cache.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(cache.kv_cache.append_only) {
  const Call call = with_tokens(check).call();
  check.nothing_to_compare();
  // step after step of one token: what was written once stays
  Tensor<double> k = call["k_cache"], v = call["v_cache"];
  for (Index i = 0; i < call.size("n"); ++i) {
    const Tensors y = check.run(step(call, i, i + 1, k, v));
    for (Index b = 0; b < call.size("B"); ++b) {
      same_slots(check, "an old key", y["k_new"], k, b, 0, past_of(call, b) + i);
      same_slots(check, "an old value", y["v_new"], v, b, 0, past_of(call, b) + i);
    }
    k = y["k_new"];
    v = y["v_new"];
  }
}

CLAIM(cache.kv_cache.bytes) {
  with_tokens(check).with("dv", 2 * check.c["half"]);
  const Call call = check.call();
  const auto y = check.define<double>(call);
  const Index layers = check.pick("layers", 1, 4), width = call.contract.in->bits / 8;
  Index held = 0;
  for (Index layer = 0; layer < layers; ++layer) held += (y.at("k_new").size() + y.at("v_new").size()) * width;
  const Index formula = 2 * layers * check.c["Hkv"] * check.c["d"] * check.c["S"] * width * check.c["B"];
  check.require(held == formula, "bytes of the caches of all layers, " + std::to_string(formula),
                static_cast<double>(held));
}

CLAIM(cache.kv_cache.free_slots) {
  const Call clean = with_tokens(check).call();
  Call call = clean;
  const Tensor<double> k = clean["k_cache"].clone(), v = clean["v_cache"].clone();
  const double poison =
      check.pick("poison", 0, 1) == 0 || !check.contract().in->has_infinity() ? not_a_number : infinity;
  const Index n = clean.size("n"), S = clean.size("S");
  for (Index b = 0; b < clean.size("B"); ++b) {
    fill_slots(k, b, past_of(clean, b), S, poison);
    fill_slots(v, b, past_of(clean, b), S, poison);
  }
  call.set("k_cache", k);
  call.set("v_cache", v);
  const Tensors y = check.run(call);
  check.same_bits("O with garbage in the free slots", y["o"], check.run(clean)["o"]);
  for (Index b = 0; b < clean.size("B"); ++b) {
    same_slots(check, "a free slot of keys", y["k_new"], k, b, past_of(clean, b) + n, S);
    same_slots(check, "a free slot of values", y["v_new"], v, b, past_of(clean, b) + n, S);
  }
}

CLAIM(cache.kv_cache.post_rope) {
  const Call call = with_tokens(check).with("hold", "acc").call();
  const Eval<Bound> e(call);
  KvCacheOptions opt;
  opt.scale = call.option("scale");
  const Index n = call.size("n"), m = check.pick("first", 0, n), B = call.size("B");
  // From an empty cache, m tokens and then the rest: a cache rotated at write, and one rotated at read.
  const auto run = [&](KvCacheOptions::Rope rope) {
    opt.rope = rope;
    const auto part = [&](const char* name, Index first, Index last) {
      const Tensor<Bound> x = e.tensor(name);
      Shape shape = x.shape();
      shape[1] = last - first;
      return Tensor<Bound>(x.storage(), x.data() + first * x.strides()[1], shape, x.strides()).clone();
    };
    KvCacheInputs<Bound> in{part("q", 0, m),         part("k", 0, m),     part("v", 0, m),
                            e.tensor("k_cache"),     e.tensor("v_cache"), Tensor<Index>(Shape{B}, Index{0}),
                            e.index_tensor("shift"), e.matrix("cos"),     e.matrix("sin")};
    const KvCacheOutputs<Bound> first = kv_cache(in, opt);
    in.q = part("q", m, n);
    in.k = part("k", m, n);
    in.v = part("v", m, n);
    in.k_cache = first.k_new;
    in.v_cache = first.v_new;
    in.past = Tensor<Index>(Shape{B}, m);
    return std::pair<Tensor<Bound>, Tensor<Bound>>{first.o, kv_cache(in, opt).o};
  };
  const auto write = run(KvCacheOptions::Rope::at_write), read = run(KvCacheOptions::Rope::at_read);
  check.agree("O of the first step, rotated at write and at read", write.first, read.first);
  check.agree("O of the second step, rotated at write and at read", write.second, read.second);
}

CLAIM(cache.kv_cache.prefill_decode) {
  const Call call = with_tokens(check).call();
  const Index n = call.size("n"), m = check.pick("first", 0, n);
  const Tensors whole = check.run(call);
  const Call start = step(call, 0, m, call["k_cache"], call["v_cache"]);
  const Tensors first = check.run(start);
  const Call rest = step(call, m, n, first["k_new"], first["v_new"]);
  const Tensors second = check.run(rest);
  if (!check.same_kernel()) {
    check.accurate(call, whole);
    check.accurate(start, first);
    return check.accurate(rest, second);
  }
  check.same_bits("O of the first part", first["o"], tokens(whole["o"], 0, m));
  check.same_bits("O of the second part", second["o"], tokens(whole["o"], m, n));
  for (const char* name : {"k_new", "v_new"})
    check.same_bits(name + std::string(" after both parts"), second[name], whole[name]);
}

CLAIM(cache.kv_cache.truncate) {
  const Call call = with_tokens(check).call();
  const Tensors once = check.run(call);
  // the step is taken back: the cache keeps its slots, past does not count them
  const Index n = call.size("n");
  const Tensors again = check.run(step(call, 0, n, once["k_new"], once["v_new"]));
  for (const Named& t : once.all())
    check.same_bits(t.name + " of the step taken back and made again", again[t.name], t.value);
  // other tokens were rejected, each row another number of them: past says where it goes on
  Check rejected = check;
  rejected.c.set("seed", (check.c["seed"] + 1) % 1000);
  const Call other = rejected.call();
  Call draft = call;
  for (const char* name : {"q", "k", "v"}) draft.set(name, other[name]);
  const Tensors wrong = check.run(draft);
  const Tensors right = check.run(step(call, 0, n, wrong["k_new"], wrong["v_new"]));
  for (const Named& t : once.all()) check.same_bits(t.name + " after rejected tokens", right[t.name], t.value);
}

}  // namespace assay

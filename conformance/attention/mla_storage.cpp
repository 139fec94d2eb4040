#include "reference/attention/mla_storage.hpp"

#include <algorithm>

#include "conformance/attention/mla.hpp"

// Claims of spec/attention/mla_storage.md.
namespace assay {
namespace {

template <class T>
void mla_decode_op(Eval<T>& e) {
  const auto opt = e.template options<MlaDecodeOptions>();
  MlaInputs<T> in{e.tensor("c"),
                  e.tensor("k_rope"),
                  e.tensor("q_nope"),
                  e.tensor("q_rope"),
                  e.tensor("w_uk"),
                  e.tensor("w_uv"),
                  e.mask_tensor("mask"),
                  {},
                  {},
                  {},
                  {},
                  {}};
  if (e.has("gain")) {
    in.gain = e.vector("gain");
    in.cos = e.matrix("cos"), in.sin = e.matrix("sin");
    in.cos_q = e.matrix("cos_q"), in.sin_q = e.matrix("sin_q");
  }
  const MlaOutputs<T> y = mla_decode(in, opt);
  e.out("o", y.o);
  e.out("lse", y.lse);
  if (opt.latent == MlaDecodeOptions::Latent::raw) e.out("c_cache", y.c_cache), e.out("k_cache", y.k_cache);
  if (opt.latent == MlaDecodeOptions::Latent::fp8) e.out("codes", y.codes), e.out("scales", y.scales);
}

/// The same call on the cache that a call with latent=raw returned.
Call on_cache(const Call& raw, const Tensors& y) {
  Call call = raw;
  call.set_option("latent", 0);
  for (const char* name : {"gain", "cos", "sin", "cos_q", "sin_q"}) call.inputs.erase(name);
  call.set("c", y["c_cache"]);
  call.set("k_rope", y["k_cache"]);
  return call;
}

/// Tables that turn no query.
void leave_queries(Call& call) {
  call.set("cos_q", Tensor<double>(call["cos_q"].shape(), 1.0));
  call.set("sin_q", Tensor<double>(call["sin_q"].shape(), 0.0));
}

/// The determinant of the n x n block of whole numbers at (i, j), exact: Leibniz, n <= 5.
double determinant(const Matrix<double>& x, Index i, Index j, Index n) {
  std::vector<Index> order;
  for (Index k = 0; k < n; ++k) order.push_back(k);
  double sum = 0;
  do {
    double term = 1;
    for (std::size_t a = 0; a < order.size(); ++a) {
      term *= x(i + static_cast<Index>(a), j + order[a]);
      for (std::size_t b = 0; b < a; ++b) term = order[b] > order[a] ? -term : term;
    }
    sum += term;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum;
}

}  // namespace

DEFINITION(attention.mla_storage, mla_decode, mla_decode_op)

// ---- on: target

CLAIM(attention.mla_storage.empty_row) { mla_empty_rows(something(check).with("form", "expanded")); }
CLAIM(attention.mla_storage.masked_poison) { mla_masked_poison(something(check).with("form", "expanded")); }
CLAIM(attention.mla_storage.nan_row) { mla_nan_rows(something(check).with("form", "expanded")); }

CLAIM(attention.mla_storage.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.mla_storage.cache_post_norm) {
  Call call = something(check).with("latent", "raw").call();
  if (call.contract.in != call.contract.out) throw NotOffered{"a cache in the format of the inputs"};
  leave_queries(call);
  const Tensors y = check.run(call);
  // what was written is the definition's latent after its norm and key after its rotation ...
  check.accurate(call, y, "c_cache");
  check.accurate(call, y, "k_cache");
  // ... a quarter turn of it, exactly ...
  Call quarter = call;
  quarter.set("cos", Tensor<double>(call["cos"].shape(), 0.0));
  quarter.set("sin", Tensor<double>(call["sin"].shape(), 1.0));
  const Tensors z = check.run(quarter);
  for (Index i = 0, n = call["k_rope"].size(); i + 1 < n; i += 2) {
    const double before = call["k_rope"].at_flat(i), after = z["k_cache"].at_flat(i + 1);
    check.require(after == round_to(*call.contract.out, before), "k_rope after a quarter turn", after);
  }
  // ... and what attention read: the bits of attention on the cache.
  same_but(check, check.run(on_cache(call, y)), y, [](Index, Index, Index) { return false; });
}

CLAIM(attention.mla_storage.decode_equals_prefill) {
  // The prefill writes the cache; the last query alone then asks it.
  Call prefill = something(check).with("latent", "raw").with("causal", "bottom_right").call();
  if (prefill.contract.in != prefill.contract.out) throw NotOffered{"a cache in the format of the inputs"};
  leave_queries(prefill);
  const Tensors y = check.run(prefill);
  Call decode = on_cache(prefill, y);
  const Index Sq = prefill.size("Sq"), H = prefill.size("H");
  for (const char* name : {"q_nope", "q_rope", "mask"}) {
    if (!prefill.inputs.has(name)) continue;
    const Tensor<double>& x = prefill[name];
    Shape last = x.shape();
    last[1] = 1;
    decode.set(name, Tensor<double>(x.storage(), x.data() + (Sq - 1) * x.strides()[1], last, x.strides()).clone());
  }
  const Tensors z = check.run(decode);
  const ReadingScope scope(Reading{&prefill.contract, false, 8});
  const auto whole = check.define<Bound>(prefill), one = check.define<Bound>(decode);
  const Index dvh = prefill.size("dvh");
  for_each_head(prefill, [&](Index b, Index h) {
    const Index at = (b * H + h) * Sq + Sq - 1, row = (b * Sq + Sq - 1) * H + h;
    close(check, "L of decode and prefill", lse_at(z, b, h, 0), one.at("lse").at_flat(b * H + h),
          lse_at(y, b, h, Sq - 1), whole.at("lse").at_flat(at), *prefill.contract.acc);
    for (Index n = 0; n < dvh; ++n)
      close(check, "O of decode and prefill", row_at(z, b, h, 0)[n], one.at("o").at_flat((b * H + h) * dvh + n),
            row_at(y, b, h, Sq - 1)[n], whole.at("o").at_flat(row * dvh + n), *prefill.contract.out);
  });
}

CLAIM(attention.mla_storage.fp8_pack) {
  Call call = something(check).with("latent", "fp8").call();
  const Tensor<double> c = call["c"].clone();
  const Index gw = call.size("gw"), groups = c.size() / gw, edge = check.pick("edge", 0, 3);
  for (Index a = 0; a < gw; ++a) {  // the first group: below the floor, at 448 2^k, just above it, zero
    double& x = c.data()[a];
    const double top = std::ldexp(448.0, static_cast<int>(check.pick("k", -5, 3)));
    if (edge == 0) x = std::ldexp(x, -12);
    if (edge == 1) x = a == 0 ? -top : top / 4;
    if (edge == 2) x = a == 0 ? top + ulp(*call.contract.in, top) : top / 8;
    if (edge == 3) x = 0;
    x = round_to(*call.contract.in, x);
  }
  call.set("c", c);
  const Tensors y = check.run(call);
  for (Index g = 0; g < groups; ++g) {
    int k = -13;
    for (Index a = 0; a < gw; ++a)
      while (std::ldexp(448.0, k) < std::fabs(c.data()[g * gw + a])) ++k;
    check.same_bits("scale of a group", y["scales"].at_flat(g), std::ldexp(1.0, k));
    for (Index a = 0; a < gw; ++a) {
      const double x = std::ldexp(c.data()[g * gw + a], -k);
      const auto code = static_cast<double>(encode(format("e4m3"), x, Round::nearest_even));
      check.same_bits("code of a latent", y["codes"].at_flat(g * gw + a), code);
    }
  }
}

CLAIM(attention.mla_storage.rope_shared) {
  // Where two heads have the same query and weights nothing tells them apart: the one rotary key serves both.
  if (!check.same_kernel()) throw NotOffered{"heads computed the same way"};
  if (check.c["H"] < 2) check.with("H", 2);
  if (check.c["r"] < 1) check.with("r", 1);
  Call call = something(check).call();
  const Index H = call.size("H");
  for (const char* name : {"q_nope", "q_rope", "w_uk", "w_uv"}) {
    const Tensor<double> x = call[name].clone();
    const Index width = x.shape().back();
    for (Index i = 0, n = x.size(); i < n; ++i)
      x.data()[i] = call[name].at_flat(i / (H * width) * H * width + i % width);
    call.set(name, x);
  }
  heads_are_equal(check, call, check.run(call));
}

// ---- on: definition

CLAIM(attention.mla_storage.bytes) {
  // Counted on the tensors that the op writes: per token, whatever the number of heads.
  const auto per_token = [&](std::vector<std::pair<const char*, int>> tensors) {
    const Call call = check.call();
    const auto y = check.define<double>(call);
    Index bytes = 0;
    for (const auto& t : tensors) bytes += t.second * (y.count(t.first) > 0 ? y.at(t.first) : call[t.first]).size();
    return bytes / (call.size("B") * call.size("Sk"));
  };
  something(check);
  const Index dc = check.c["dc"], dr = check.c["dr"], ng = check.c["ng"];
  for (const Index H : {1, 3}) {
    check.with("H", H).with("latent", "raw");
    const Index plain = per_token({{"c_cache", 2}, {"k_cache", 2}});
    check.require(plain == (dc + dr) * 2, "bytes of a token in bf16", static_cast<double>(plain));
    check.with("latent", "fp8");
    const Index packed = per_token({{"codes", 1}, {"scales", 4}, {"k_rope", 2}});
    check.require(packed == dc + 4 * ng + 2 * dr, "bytes of a token with the latent in FP8",
                  static_cast<double>(packed));
  }
  check.require((512 + 64) * 2 == 1152 && 512 + 4 * 4 + 2 * 64 == 656, "V3: 1152 bytes in bf16, 656 in FP8");
}

CLAIM(attention.mla_storage.gqa_special_case) {
  // The latent of a token is [k of all kv heads | v of all kv heads]; W_UK,h and W_UV,h pick the blocks of kv head h /
  // g.
  const Index Sq = check.c["Sq"], Sk = check.c["Sk"], d = check.c["dn"], dv = check.c["dvh"], Hkv = 2, g = 2, B = 1;
  const auto filled = [](const Shape& shape, Index step) {
    const Tensor<Bound> x(shape);
    for (Index i = 0, n = x.size(); i < n; ++i) x.data()[i] = static_cast<double>((i * step + 1) % 13 - 6) / 4;
    return x;
  };
  AttentionInputs<Bound> gqa;
  gqa.q = filled({B, Sq, Hkv * g, d}, 5), gqa.k = filled({B, Sk, Hkv, d}, 7), gqa.v = filled({B, Sk, Hkv, dv}, 3);
  MlaInputs<Bound> in;
  const Index dc = Hkv * (d + dv);
  in.c = Tensor<Bound>(Shape{B, Sk, 1, dc}), in.k_rope = Tensor<Bound>(Shape{B, Sk, 0}), in.q_nope = gqa.q;
  in.q_rope = Tensor<Bound>(Shape{B, Sq, Hkv * g, 0});
  in.w_uk = Tensor<Bound>(Shape{dc, Hkv * g, d}, Bound(0)), in.w_uv = Tensor<Bound>(Shape{dc, Hkv * g, dv}, Bound(0));
  for (Index j = 0; j < Sk; ++j)
    for (Index a = 0; a < dc; ++a)
      in.c.data()[j * dc + a] =
          a < Hkv * d ? gqa.k.at_flat(j * Hkv * d + a) : gqa.v.at_flat(j * Hkv * dv + a - Hkv * d);
  for (Index h = 0; h < Hkv * g; ++h) {
    for (Index n = 0; n < d; ++n) in.w_uk.data()[((h / g * d + n) * Hkv * g + h) * d + n] = Bound(1);
    for (Index n = 0; n < dv; ++n) in.w_uv.data()[((Hkv * d + h / g * dv + n) * Hkv * g + h) * dv + n] = Bound(1);
  }
  MlaDecodeOptions opt;
  opt.form = check.pick("form", 0, 1) == 0 ? MlaDecodeOptions::Form::expanded : MlaDecodeOptions::Form::absorbed;
  const MlaOutputs<Bound> y = mla_decode(in, opt);
  const AttentionOutputs<Bound> z = attention(gqa, AttentionOptions());
  check.agree("O of grouped heads", y.o, z.o);
  check.agree("L of grouped heads", y.lse, z.lse);
}

CLAIM(attention.mla_storage.mscale) {
  const Index dn = check.c["dn"], dr = check.c["dr"];
  MlaDecodeOptions opt;
  const Bound width = sqrt(Bound(static_cast<double>(dn + dr)));
  opt.mscale = 7;  // not used
  check.agree("scale without extension", mla_scale<Bound>(dn, dr, opt) * width, Bound(1));
  opt.factor = 40;  // ln 40 = 3 ln 2 + ln 5
  const Bound stretch = Bound(1) + (Bound(3) * log(Bound(2)) + log(Bound(5))) / Bound(10);
  check.agree("scale of V3", mla_scale<Bound>(dn, dr, opt) * width, stretch * stretch);
  check.at_most("|mscale² of V3 - 1.873854|, half of its last digit", std::fabs(stretch.v * stretch.v - 1.873854),
                5e-7);
  opt.mscale_all_dim = 0.5;
  const Bound half = (stretch + Bound(1)) / Bound(2);
  check.agree("scale with mscale_all_dim 0.5", mla_scale<Bound>(dn, dr, opt) * width, half * half);
}

CLAIM(attention.mla_storage.rank) {
  // Whole numbers: the products are exact, and so is every minor of dc + 1 rows, which is 0.
  if (check.c["ng"] * check.c["gw"] > 3) check.with("ng", 1).with("gw", 3);
  if (check.c["Sk"] < 5) check.with("Sk", 5);
  if (check.c["H"] < 2) check.with("H", 2);
  const Call call = something(check).with("latent", "cached").call();
  const Index Sk = call.size("Sk"), H = call.size("H"), dn = call.size("dn"), dvh = call.size("dvh"),
              dc = call.size("dc");
  const auto whole = [&](Index i, Index j, Index step) {
    return static_cast<double>((i * 5 + j * step + check.pick("from", 0, 6)) * (i + 2) % 7 - 3);
  };
  Matrix<double> c(Sk, dc), stacked(Sk, H * (dn + dvh));
  for (Index j = 0; j < Sk; ++j)
    for (Index a = 0; a < dc; ++a) c(j, a) = whole(j, a, 3);
  for (Index h = 0; h < H; ++h) {
    Matrix<double> uk(dc, dn), uv(dc, dvh);
    for (Index a = 0; a < dc; ++a) {
      for (Index n = 0; n < dn; ++n) uk(a, n) = whole(a + h, n, 4);
      for (Index n = 0; n < dvh; ++n) uv(a, n) = whole(a + 2 * h, n, 2);
    }
    const Matrix<double> k = mla_expand(c, uk, {}), v = mla_expand(c, uv, {});
    for (Index j = 0; j < Sk; ++j)
      for (Index n = 0; n < dn + dvh; ++n) stacked(j, h * (dn + dvh) + n) = n < dn ? k(j, n) : v(j, n - dn);
  }
  check.nothing_to_compare();
  for (Index i = 0; i + dc < Sk; ++i)
    for (Index j = 0; j + dc < stacked.cols(); ++j)
      check.same_bits("a minor of dc + 1 rows of the stacked keys and values",
                      std::fabs(determinant(stacked, i, j, dc + 1)), 0.0);
}

}  // namespace assay

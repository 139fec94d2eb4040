#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// The backward pass as fused kernels do it: D of every row first; then for each tile of keys all queries of all heads
// that share them, recomputing the weights in base 2, with dK and dV of the tile in registers and dQ added to.
namespace assay {
namespace {

using std::int64_t;

constexpr int64_t tile = 4;
constexpr float log2e = 1.44269504f;

struct Kernel {
  Subject& s;
  const In q = s.in("q"), k = s.in("k"), v = s.in("v"), o = s.in("o"), lse = s.in("lse"), d_o = s.in("d_o");
  const In d_lse = s.in("d_lse"), mask = s.in("mask"), bias = s.in("bias"), sink = s.in("sink"), z = s.in("z");
  const Out d_q = s.out("d_q"), d_k = s.out("d_k"), d_v = s.out("d_v"), d_bias = s.out("d_bias");
  const Out d_sink = s.out("d_sink");
  const int64_t B = q.size(0), Sq = q.size(1), H = q.size(2), d = q.size(3);
  const int64_t Sk = k.size(1), Hkv = k.size(2), dv = v.size(3);
  const bool causal = !s.option("causal", "none"), top_left = s.option("causal", "top_left");
  const bool included = s.option("lse_of_sink", "included");
  const int64_t window = static_cast<int64_t>(s.number("window"));
  const float cap = s.number("softcap"), lift = 1.0f / (1.0f - s.number("p_drop"));
  const bool by_block = s.bug("block_lse"), guardless = s.bug("empty_row_nan"), plain_l = s.bug("lse_not_log2e");
  const bool dropped_p = s.bug("dropout_p_in_ds"), overwrite = s.bug("gqa_overwrite");
  const bool no_mod = s.bug("mod_derivative_forgotten"), twice = s.bug("scale_twice");
  const bool unselected = s.bug("masked_value_multiplied");
  float scale = s.number("scale");
  std::vector<float> L{}, D{}, grad_q{};  // of one batch entry: [H, Sq], [H, Sq], [H, Sq, d]

  void check() {
    if (k.size(0) != B || k.size(3) != d) s.refuse("k must be [B, Sk, Hkv, d] with the B and d of q");
    if (v.size(0) != B || v.size(1) != Sk || v.size(2) != Hkv) s.refuse("v must be [B, Sk, Hkv, dv], as k");
    if (H % Hkv != 0) s.refuse("H must be a multiple of Hkv");
    for (const In* t : {&o, &d_o})
      if (t->size(0) != B || t->size(1) != Sq || t->size(2) != H || t->size(3) != dv)
        s.refuse("o and d_o must be [B, Sq, H, dv]");
    for (const In* t : {&lse, &d_lse})
      if (t->given() && (t->size(0) != B || t->size(1) != H || t->size(2) != Sq))
        s.refuse("lse and d_lse must be [B, H, Sq]");
    if (mask.given() && (mask.size(0) != B || mask.size(1) != Sq || mask.size(2) != Sk))
      s.refuse("mask must be [B, Sq, Sk]");
    if (bias.given() && (bias.size(0) != H || bias.size(1) != Sq || bias.size(2) != Sk))
      s.refuse("bias must be [H, Sq, Sk]");
    if (sink.given() && sink.size(0) != H) s.refuse("sink must be [H]");
    if (z.given() && (z.size(0) != B || z.size(1) != H || z.size(2) != Sq || z.size(3) != Sk))
      s.refuse("z must be [B, H, Sq, Sk]");
    if (window == 0 || window < -1) s.refuse("window must be at least 1, or -1");
    if (scale == 0) scale = 1.0f / std::sqrt(static_cast<float>(d));
  }

  bool sees(int64_t b, int64_t i, int64_t j) const {
    const int64_t t = top_left ? i : i + Sk - Sq;
    if (causal && j > t) return false;
    if (window > 0 && j <= t - window) return false;
    return !mask.given() || mask(b, i, j) != 0;
  }

  /// tanh(scale q k / C), or scale q k where there is no cap.
  float product(int64_t b, int64_t h, int64_t i, int64_t j) const {
    float dot = 0;
    for (int64_t c = d; c-- > 0;) dot += q(b, i, h, c) * k(b, j, h / (H / Hkv), c);
    return cap > 0 ? std::tanh(dot * scale / cap) : dot * scale;
  }
  float logit(int64_t h, int64_t i, int64_t j, float x) const {
    return (cap > 0 ? cap * x : x) + (bias.given() ? bias(h, i, j) : 0.0f);
  }
  float weight(float logit, float l) const { return std::exp2(logit * log2e - (plain_l ? l : l * log2e)); }
  /// x z / (1 - p): selected, for a weight that overflows may be dropped.
  float dropped(int64_t b, int64_t h, int64_t i, int64_t j, float x) const {
    if (!z.given()) return x;
    return z(b, h, i, j) != 0 ? x * lift : 0.0f;
  }
  float d_p(int64_t b, int64_t h, int64_t i, int64_t j) const {
    float dot = 0;
    for (int64_t c = 0; c < dv; ++c) dot += d_o(b, i, h, c) * v(b, j, h / (H / Hkv), c);
    return dropped(b, h, i, j, dot);
  }

  /// L and sum_j P dP of the keys first..last-1 alone.
  struct Statistics {
    float l, sum;
  };
  Statistics statistics(int64_t b, int64_t h, int64_t i, int64_t first, int64_t last) const {
    float all = 0, mean = 0;
    for (int64_t j = first; j < last; ++j) {
      if (!sees(b, i, j)) continue;
      const float e = std::exp(logit(h, i, j, product(b, h, i, j)));
      all += e;
      mean += e * d_p(b, h, i, j);
    }
    return {std::log(all), mean / all};
  }

  void preprocess(int64_t b) {
    L.assign(static_cast<std::size_t>(H * Sq), 0.0f);
    D = L;
    grad_q.assign(static_cast<std::size_t>(H * Sq * d), 0.0f);
    for (int64_t h = 0; h < H; ++h) {
      float of_sink = 0;
      for (int64_t i = 0; i < Sq; ++i) {
        const auto at = static_cast<std::size_t>(h * Sq + i);
        const float l = lse(b, h, i), dl = d_lse.given() ? d_lse(b, h, i) : 0.0f;
        float sum = 0, with = l;
        for (int64_t c = 0; c < dv; ++c) sum += d_o(b, i, h, c) * o(b, i, h, c);
        if (s.bug("d_output_rounding") && l != -INFINITY) sum = statistics(b, h, i, 0, Sk).sum;
        if (sink.given()) {
          const float m = std::max(l, sink(h));
          if (!included) with = m + std::log(std::exp(l - m) + std::exp(sink(h) - m));
          of_sink -= std::exp(sink(h) - with) * (included ? sum - dl : sum);
        }
        // dL of L_excl weighs e^(L_incl - L_excl) as much in the weights that count the sink
        const bool factor = sink.given() && !included && l != -INFINITY && !s.bug("sink_excl_plain");
        L[at] = with;
        D[at] = sum - dl * (factor ? std::exp(with - l) : 1.0f);
        if (i % 2 == 1 && s.bug("d_corrupted")) D[at] = D[at - 1];
      }
      if (d_sink.wanted()) d_sink.set(b, h, of_sink);
    }
  }

  /// Adds what query i of head h gives to key j.
  void pair(int64_t b, int64_t h, int64_t i, int64_t j, float* dk, float* dvj) {
    const auto at = static_cast<std::size_t>(h * Sq + i);
    const bool seen = sees(b, i, j);
    if (d_bias.wanted() && bias.given()) d_bias.set(b, h, i, j, 0.0f);
    if (lse(b, h, i) == -INFINITY && !guardless) return;  // a pair that is not seen has weight 0, but -inf - -inf none
    const float x = seen ? product(b, h, i, j) : 0.0f;
    float l = L[at], delta = D[at];
    if (by_block) {
      const Statistics block = statistics(b, h, i, j / tile * tile, std::min(Sk, j / tile * tile + tile));
      l = block.l, delta = block.sum;
    }
    const float p = weight(seen ? logit(h, i, j, x) : -INFINITY, l), p_v = dropped(b, h, i, j, p);
    if (!seen && !unselected && !guardless) return;
    const float g = (dropped_p ? p_v : p) * (d_p(b, h, i, j) - delta);
    if (d_bias.wanted() && bias.given()) d_bias.set(b, h, i, j, g);
    const float t = cap > 0 && s.bug("derivative_uncapped") ? std::atanh(x) : x;
    const float ds = (cap > 0 && !no_mod ? g * (1.0f - t * t) : g) * scale;
    for (int64_t c = 0; c < d; ++c) {
      grad_q[at * static_cast<std::size_t>(d) + static_cast<std::size_t>(c)] += ds * k(b, j, h / (H / Hkv), c);
      dk[c] += (twice ? ds * scale : ds) * q(b, i, h, c);
    }
    for (int64_t c = 0; c < dv; ++c) dvj[c] += p_v * d_o(b, i, h, c);
  }

  void run() {
    for (int64_t b = 0; b < B; ++b) {
      preprocess(b);
      for (int64_t g = 0; g < Hkv; ++g)
        for (int64_t j = 0; j < Sk; ++j) {
          std::vector<float> dk(static_cast<std::size_t>(d)), dvj(static_cast<std::size_t>(dv));
          for (int64_t h = g * (H / Hkv); h < (g + 1) * (H / Hkv); ++h) {
            if (overwrite) dk.assign(dk.size(), 0.0f), dvj.assign(dvj.size(), 0.0f);
            for (int64_t i = Sq; i-- > 0;) pair(b, h, i, j, dk.data(), dvj.data());
          }
          for (int64_t c = 0; c < d && d_k.wanted(); ++c) d_k.set(b, j, g, c, dk[static_cast<std::size_t>(c)]);
          for (int64_t c = 0; c < dv && d_v.wanted(); ++c) d_v.set(b, j, g, c, dvj[static_cast<std::size_t>(c)]);
        }
      for (int64_t h = 0; h < H; ++h)
        for (int64_t i = 0; i < Sq; ++i)
          for (int64_t c = 0; c < d && d_q.wanted(); ++c)
            d_q.set(b, i, h, c, grad_q[static_cast<std::size_t>((h * Sq + i) * d + c)]);
    }
  }
};

}  // namespace

SUBJECT(attention_backward) {
  Kernel kernel{s};
  kernel.check();
  kernel.run();
}

}  // namespace assay

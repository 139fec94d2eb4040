#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/attention/subject/split.hpp"
#include "conformance/engine/subject.hpp"

// Attention as one thread block of a fused kernel does it: for each query a running maximum, sum and accumulator over
// tiles of keys, within a tile from the last key to the first; one division at the end. Few queries over many keys are
// computed in splits (split.hpp).
namespace assay {
namespace {

using attention_subject::Range;
using attention_subject::State;
using attention_subject::tile;

struct Kernel {
  Subject& s;
  const In q = s.in("q"), k = s.in("k"), v = s.in("v"), mask = s.in("mask"), bias = s.in("bias"), sink = s.in("sink");
  const Out o = s.out("o"), lse = s.out("lse");
  const std::int64_t B = q.size(0), Sq = q.size(1), H = q.size(2), d = q.size(3);
  const std::int64_t Sk = k.size(1), Hkv = k.size(2), dv = v.size(3), group = Hkv > 0 ? H / Hkv : 1;
  const bool causal = !s.option("causal", "none");
  const bool top_left = s.option("causal", "top_left") || (causal && s.bug("top_left"));
  const std::int64_t window = static_cast<std::int64_t>(s.number("window"));
  const bool bug_mean = s.bug("empty_row_mean"), bug_multiply = s.bug("mask_times_exp");
  const bool bug_local = s.bug("local_diagonal"), bug_padding = s.bug("padding_logit_zero");
  const bool bug_late = s.bug("mask_after_max"), bug_minus = s.bug("neg_inf_minus_neg_inf");
  const bool bug_modulo = s.bug("kv_head_modulo"), bug_div = s.bug("kv_head_div_hkv");
  const bool bug_packed = s.bug("pack_causal_row"), bug_repeat = s.bug("repeat_on_sequence");
  const bool bug_offset = s.bug("offset_ignored"), bug_one = s.bug("window_off_by_one");
  const bool bug_edge = s.bug("left_edge_rounded"), bug_slot = s.bug("slot_as_position");
  const bool bug_early = s.bug("ring_slot_early"), bug_visible = s.bug("cap_after_mask");
  const bool bug_off = s.bug("cap_zero"), bug_unscaled = s.bug("cap_before_scale"), bug_approx = s.bug("tanh_approx");
  const float cap = s.number("softcap");
  const float none = bug_mean ? -1e30f : -INFINITY;
  float scale = s.number("scale");

  void check() {
    if (k.size(0) != B || k.size(3) != d) s.refuse("k must be [B, Sk, Hkv, d] with the B and d of q");
    if (v.size(0) != B || v.size(1) != Sk || v.size(2) != Hkv) s.refuse("v must be [B, Sk, Hkv, dv], as k");
    if (H % Hkv != 0) s.refuse("H must be a multiple of Hkv");
    if (window == 0 || window < -1) s.refuse("window must be at least 1, or -1");
    if (!(cap >= 0)) s.refuse("softcap must be 0 or positive");
    if (mask.given() && (mask.size(0) != B || mask.size(1) != Sq || mask.size(2) != Sk))
      s.refuse("mask must be [B, Sq, Sk]");
    if (bias.given() && (bias.size(0) != H || bias.size(1) != Sq || bias.size(2) != Sk))
      s.refuse("bias must be [H, Sq, Sk]");
    if (sink.given() && sink.size(0) != H) s.refuse("sink must be [H]");
  }

  /// The key-value head of query head h.
  std::int64_t kv(std::int64_t h) const {
    if (bug_modulo) return h % Hkv;
    return bug_div ? std::min(h / Hkv, Hkv - 1) : h / group;
  }

  /// The key that query i reads as key j.
  std::int64_t key(std::int64_t i, std::int64_t j) const {
    // in a ring of `window` slots, when the key after the query's own is written already
    if (bug_early && window > 0 && j + window < Sk && j + window <= i + Sk - Sq + 1) return j + window;
    return bug_repeat ? j / group : j;
  }

  /// Whether the window of a query (its number, its position) has left key j behind.
  bool behind(std::int64_t row, std::int64_t t, std::int64_t j) const {
    std::int64_t last = (bug_offset ? row : t) - window;
    if (bug_one) --last;
    if (bug_edge) last = (last + 1) / tile * tile - 1;
    return (bug_slot ? j % window : j) <= last;
  }

  /// Whether a query sees key j; positions count within [from, to), which is all keys.
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t from, std::int64_t to) const {
    const std::int64_t row = bug_packed ? i * group + h % group : i, t = from + (top_left ? row : row + to - from - Sq);
    const bool local = bug_local && t >= 0 && j / tile == t / tile;  // of the diagonal tile
    if (causal && (local ? j % tile > row % tile : j > t)) return false;
    if (window > 0 && behind(row, t, j)) return false;
    return !mask.given() || mask(b, i, j) != 0;
  }

  float capped(float x) const {
    if (cap == 0 && !bug_off) return x;
    return cap * std::tanh(x / cap) * (bug_approx ? 1 + 0x1p-11f : 1.0f);
  }

  float logit(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    float dot = 0;
    for (std::int64_t c = 0; c < d; ++c) dot += q(b, i, h, c) * k(b, key(i, j), kv(h), c);
    if (bias.given() && s.bug("bias_before_scale")) return (dot + bias(h, i, j)) * scale;
    const float x = bug_unscaled ? capped(dot) * scale : capped(dot * scale);
    return bias.given() ? x + bias(h, i, j) : x;
  }

  /// The keys of a range.
  State scan(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t start, std::int64_t end) const {
    const bool alone = s.bug("causal_per_split");
    float m = none, l = s.bug("l_starts_at_one") ? 1.0f : 0.0f, lane = 0;
    std::vector<float> acc(static_cast<std::size_t>(dv));
    for (std::int64_t first = start; first < end; first += tile) {
      float x[tile];
      bool keep[tile];
      const std::int64_t n = std::min(tile, end - first);
      const float before = m;
      std::int64_t kept = 0;
      for (std::int64_t r = 0; r < n; ++r) {
        const bool seen = sees(b, h, i, first + r, alone ? start : 0, alone ? end : Sk);
        keep[r] = seen || (bug_visible && cap > 0);
        kept += seen;
        x[r] = seen || bug_multiply || bug_late ? logit(b, h, i, first + r) : none;
        if (keep[r] && !seen) x[r] = -cap;
        if (!keep[r] && !bug_mean && !bug_multiply && !bug_late) continue;
        if (x[r] > m || std::isnan(x[r])) m = x[r];
      }
      if (kept == 0 && s.bug("masked_tile_nan")) l = NAN;  // of exp(-inf - max of the tile)
      if (bug_padding && n < tile && !(m > 0)) m = 0;
      if (m == -INFINITY && !bug_minus) continue;
      const float from = s.bug("m_before_alpha") ? m : before;
      const float a = before == -INFINITY && !bug_minus ? 0.0f : std::exp(from - m);
      l *= a;
      lane *= a;
      for (float& c : acc) c *= s.bug("alpha_on_l_only") ? 1.0f : a;
      if (bug_padding) l += static_cast<float>(tile - n) * std::exp(0.0f - m);
      for (std::int64_t r = n; r-- > 0;) {
        if (!keep[r] && !bug_mean && !bug_multiply) continue;
        float e = bug_multiply ? (keep[r] ? 1.0f : 0.0f) * std::exp(x[r] - m) : std::exp(x[r] - m);
        if (s.bug("fma_rescale")) e = std::exp2(std::fma(x[r], 1.44269504f, -(m * 1.44269504f)));
        l += e;
        if (r % 2 == 0) lane += e;
        for (std::int64_t c = 0; c < dv; ++c) acc[static_cast<std::size_t>(c)] += e * v(b, key(i, first + r), kv(h), c);
      }
    }
    if (s.bug("early_division"))  // by the sum of one of two lanes
      for (float& c : acc) c *= l / lane;
    return {m, l, acc};
  }

  /// The logit of a row's sink (-inf: none).
  float sink_of(std::int64_t h, bool empty) const {
    if (!sink.given() || (empty && s.bug("sink_lost_empty"))) return -INFINITY;
    if (attention_subject::splits(Sq, Sk) && s.bug("sink_dropped_cp")) return -INFINITY;
    const float g = sink(s.bug("sink_by_kv_head") ? kv(h) : h);
    if (s.bug("sink_capped")) return capped(g);
    return s.bug("sink_scaled") ? g * scale : g;
  }

  void row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    State state;
    if (attention_subject::splits(Sq, Sk)) {
      std::vector<State> parts;
      for (const Range& keys : attention_subject::plan(s, Sk, B)) {
        const float g = sink_of(h, false);
        parts.push_back(attention_subject::written(s, scan(b, h, i, keys.from, keys.to), g, parts.empty()));
      }
      state = attention_subject::combine(s, parts, static_cast<std::size_t>(dv));
    } else {
      state = scan(b, h, i, 0, Sk);
    }
    write(b, h, i, state.m, state.l, state.a);
  }

  void write(std::int64_t b, std::int64_t h, std::int64_t i, float m, float l, const std::vector<float>& acc) const {
    const bool empty = m == -INFINITY && l == 0;
    const float g = sink_of(h, empty);
    // against the larger of maximum and sink, so that neither overflows
    const float top = empty ? g : std::max(m, g);
    const float weight = g == -INFINITY ? 0.0f : g == top ? 1.0f : std::exp(g - top);
    float all = top == -INFINITY ? 0.0f : (empty ? 0.0f : l * std::exp(m - top)) + weight;
    if (std::isnan(m)) all = NAN;
    for (std::int64_t c = 0; c < dv && o.wanted(); ++c) {
      float part = empty ? 0.0f : acc[static_cast<std::size_t>(c)] * std::exp(m - top);
      if (s.bug("sink_in_numerator")) part += weight;
      o.set(b, i, h, c, empty && !s.bug("empty_row_nan") ? 0.0f : part / all);
    }
    if (!lse.wanted()) return;
    const bool included = s.option("lse_of_sink", "included") && sink.given();
    float L = included ? (top == -INFINITY ? top : top + std::log(all)) : empty ? -INFINITY : m + std::log(l);
    if (empty && !included && s.bug("empty_row_plus_inf")) L = INFINITY;
    if (s.bug("lse_base2")) L *= 1.44269504f;
    if (s.bug("lse_without_scale")) L /= scale;
    lse.set(b, h, i, L);
  }

  /// Subtracts the mean over the keys, channel by channel, where the caller keeps them.
  void overwrite_keys() const {
    for (std::int64_t b = 0; b < B; ++b)
      for (std::int64_t g = 0; g < Hkv; ++g)
        for (std::int64_t c = 0; c < d; ++c) {
          float mean = 0;
          for (std::int64_t j = 0; j < Sk; ++j) mean += k(b, j, g, c) / static_cast<float>(Sk);
          for (std::int64_t j = 0; j < Sk; ++j) k.overwrite(b, j, g, c, k(b, j, g, c) - mean);
        }
  }
};

}  // namespace

SUBJECT(attention) {
  Kernel kernel{s};
  kernel.check();
  const std::int64_t width = s.bug("padded_scale") ? (kernel.d + 7) / 8 * 8 : kernel.d;
  if (kernel.scale == 0) kernel.scale = 1.0f / std::sqrt(static_cast<float>(width));
  if (s.bug("scale_twice")) kernel.scale *= kernel.scale;
  for (std::int64_t b = 0; b < kernel.B; ++b)
    for (std::int64_t h = 0; h < kernel.H; ++h)
      for (std::int64_t i = 0; i < kernel.Sq; ++i) kernel.row(b, h, i);
  if (s.bug("input_overwritten")) kernel.overwrite_keys();
}

}  // namespace assay

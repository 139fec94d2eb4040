#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Multi-head latent attention in both forms. Both weights are packed as kernels load them, [nope | v] per head; keys
// and values of a head are expanded before its queries, or its queries are moved to the latent. The softmax runs over
// tiles of keys, within a tile from the last key to the first.
namespace assay {
namespace {

using std::int64_t;

constexpr int64_t tile = 8;

/// A row-major matrix.
struct Rows {
  int64_t width = 0;
  std::vector<float> data{};
  Rows(int64_t rows, int64_t cols) : width(cols), data(static_cast<std::size_t>(rows * cols)) {}
  void set(int64_t i, int64_t j, float x) { data[static_cast<std::size_t>(i * width + j)] = x; }
  float operator()(int64_t i, int64_t j) const { return data[static_cast<std::size_t>(i * width + j)]; }
};

struct Kernel {
  Subject& s;
  const In c = s.in("c"), k_rope = s.in("k_rope"), q_nope = s.in("q_nope"), q_rope = s.in("q_rope");
  const In w_uk = s.in("w_uk"), w_uv = s.in("w_uv"), gain = s.in("gain"), mask = s.in("mask");
  const In cos = s.in("cos"), sin = s.in("sin"), cos_q = s.in("cos_q"), sin_q = s.in("sin_q");
  const Out o = s.out("o"), lse = s.out("lse"), c_cache = s.out("c_cache"), k_cache = s.out("k_cache");
  const Out codes = s.out("codes"), scales = s.out("scales");
  const int64_t B = c.size(0), Sk = c.size(1), ng = c.size(2), gw = c.size(3), dc = ng * gw, dr = k_rope.size(2);
  const int64_t Sq = q_nope.size(1), H = q_nope.size(2), dn = q_nope.size(3), dvh = w_uv.size(2);
  const bool absorbed = s.option("form", "absorbed"), hold_out = s.option("hold", "out");
  const bool raw = s.option("latent", "raw"), fp8 = s.option("latent", "fp8"), causal = !s.option("causal", "none");
  const bool pre_norm = s.bug("cache_pre_norm"), sharded = s.bug("latent_sharded");
  float scale = 0;
  Rows fused{dc, H*(dn + dvh)}, cc{Sk, dc}, kr{Sk, dr};

  void check() const {
    if (w_uk.size(0) != dc || w_uk.size(1) != H || w_uk.size(2) != dn) s.refuse("w_uk must be [dc, H, dn]");
    if (w_uv.size(0) != dc || w_uv.size(1) != H) s.refuse("w_uv must be [dc, H, dvh]");
    if (k_rope.size(0) != B || k_rope.size(1) != Sk) s.refuse("k_rope must be [B, Sk, dr]");
    if (q_nope.size(0) != B) s.refuse("q_nope must be [B, Sq, H, dn]");
    if (q_rope.size(0) != B || q_rope.size(1) != Sq || q_rope.size(2) != H || q_rope.size(3) != dr)
      s.refuse("q_rope must be [B, Sq, H, dr]");
    if (mask.given() && (mask.size(0) != B || mask.size(1) != Sq || mask.size(2) != Sk))
      s.refuse("mask must be [B, Sq, Sk]");
    if (s.number("factor") < 1) s.refuse("factor must be at least 1");
    if (!raw) return;
    if (gain.size(0) != dc) s.refuse("gain must be [dc]");
    for (const In* t : {&cos, &sin})
      if (t->size(0) != Sk || 2 * t->size(1) != dr) s.refuse("cos and sin must be [Sk, dr/2]");
    for (const In* t : {&cos_q, &sin_q})
      if (t->size(0) != Sq || 2 * t->size(1) != dr) s.refuse("cos_q and sin_q must be [Sq, dr/2]");
  }

  void prepare() {
    const float all_dim = s.bug("mscale_key") ? s.number("mscale") : s.number("mscale_all_dim");
    const float m = 0.1f * all_dim * std::log(s.number("factor")) + 1.0f;
    auto width = static_cast<float>(dn + dr);
    if (s.bug("scale_from_model_width")) width = static_cast<float>(dvh);
    if (absorbed && s.bug("scale_latent")) width = static_cast<float>(dc + dr);
    scale = (s.bug("scale_exponent_sign") ? std::sqrt(width) : 1.0f / std::sqrt(width)) * m * m;
    for (int64_t a = 0; a < dc; ++a)
      for (int64_t h = 0; h < H; ++h) {
        for (int64_t n = 0; n < dn; ++n) fused.set(a, h * (dn + dvh) + n, w_uk(a, h, n));
        for (int64_t n = 0; n < dvh; ++n) fused.set(a, h * (dn + dvh) + dn + n, w_uv(a, h, n));
      }
  }

  float up_k(int64_t h, int64_t a, int64_t n) const {
    if (absorbed && s.bug("w_uk_transposed")) {  // the same memory read as [dn, dc]
      const int64_t flat = n * dc + a;
      return fused(flat / dn, h * (dn + dvh) + flat % dn);
    }
    return fused(a, s.bug("fused_slice") ? h * dn + n : h * (dn + dvh) + n);
  }
  float up_v(int64_t h, int64_t a, int64_t n) const {
    return fused(a, s.bug("fused_slice") ? H * dn + h * dvh + n : h * (dn + dvh) + dn + n);
  }
  float stored(float x) const { return o.wanted() ? o.rounded(x) : x; }
  float held(float x) const { return hold_out ? stored(x) : x; }

  /// Row i of x turned by the angles of position `at`.
  void rotate(Rows& x, int64_t i, const In& co, const In& si, int64_t at) const {
    const bool halves = s.bug("rope_layout");
    const int64_t r = dr / 2;
    for (int64_t t = 0; t < r; ++t) {
      const int64_t first = halves ? t : 2 * t, second = halves ? t + r : 2 * t + 1;
      const float p = x(i, first), q = x(i, second);
      x.set(i, first, p * co(at, t) - q * si(at, t));
      x.set(i, second, p * si(at, t) + q * co(at, t));
    }
  }

  void write_raw(int64_t b, int64_t j) {
    float square = 0;
    for (int64_t a = dc; a-- > 0;) square += cc(j, a) * cc(j, a);
    auto n = static_cast<float>(dc);
    if (s.bug("norm_over_rope")) {
      for (int64_t a = 0; a < dr; ++a) square += kr(j, a) * kr(j, a);
      n += static_cast<float>(dr);
    }
    const float r = 1.0f / std::sqrt(square / n + s.number("eps"));
    for (int64_t a = 0; a < dc; ++a) {
      const float before = cc(j, a);
      cc.set(j, a, stored(before * r * gain(a)));
      if (c_cache.wanted()) c_cache.set(b, j, a / gw, a % gw, pre_norm ? before : cc(j, a));
    }
    rotate(kr, j, cos, sin, j);
    for (int64_t a = 0; a < dr; ++a) {
      kr.set(j, a, stored(kr(j, a)));
      if (k_cache.wanted()) k_cache.set(b, j, a, kr(j, a));
    }
  }

  /// e4m3 by its steps: 2^(e-3) in the binade e, from -6 on.
  static float e4m3(float x) {
    if (!std::isfinite(x) || x == 0) return x;
    const int e = std::max(std::ilogb(x), -6);
    return std::ldexp(std::nearbyint(std::ldexp(x, 3 - e)), e - 3);
  }
  static float code_of(float held) {
    if (!std::isfinite(held)) return 127;  // the format has no infinity
    const float sign = std::signbit(held) ? 128.0f : 0.0f, x = std::fabs(held);
    if (x < 0x1p-6f) return sign + x * 0x1p9f;
    const int e = std::ilogb(x);
    return sign + static_cast<float>(8 * (e + 7)) + std::ldexp(x, 3 - e) - 8.0f;
  }

  void write_fp8(int64_t b, int64_t j) {
    for (int64_t g = 0; g < ng; ++g) {
      float amax = 0;
      for (int64_t a = g * gw; a < (g + 1) * gw; ++a) amax = std::max(amax, std::fabs(cc(j, a)));
      // the exponent's bits, not a logarithm: that of a quotient just above 2^k may round to k
      int k = 0;
      const float part = std::frexp(std::max(amax / 448.0f, 1e-4f), &k);
      const float delta = std::ldexp(1.0f, part == 0.5f ? k - 1 : k);
      if (scales.wanted()) scales.set(b, j, g, delta);
      for (int64_t a = g * gw; a < (g + 1) * gw; ++a) {
        const float held8 = e4m3(cc(j, a) / delta);
        cc.set(j, a, held8 * delta);
        if (codes.wanted()) codes.set(b, j, g, a % gw, code_of(held8));
      }
      if (g == 0 && s.bug("rope_dequantized"))
        for (int64_t a = 0; a < dr; ++a) kr.set(j, a, kr(j, a) * delta);
    }
  }

  bool sees(int64_t b, int64_t i, int64_t j) const {
    if (causal && j > i + Sk - Sq) return false;
    return !mask.given() || mask(b, i, j) != 0;
  }

  /// Whether the rank that has head h has column a of the latent: only with the bug does it matter.
  bool has(int64_t h, int64_t a) const { return !sharded || H < 2 || (h * 2 < H) == (a * 2 < dc); }

  /// Keys [.., dn + dr] and values [.., dvh] of head h, or the cache itself.
  void expand(int64_t h, Rows& k, Rows& v) const {
    const int64_t nope = absorbed ? dc : dn;
    for (int64_t j = 0; j < Sk; ++j) {
      for (int64_t n = 0; n < nope; ++n) {
        float sum = 0;
        for (int64_t a = 0; a < dc && !absorbed; ++a) sum += has(h, a) ? cc(j, a) * up_k(h, a, n) : 0.0f;
        k.set(j, n, !absorbed ? held(sum) : has(h, n) ? cc(j, n) : 0.0f);
      }
      for (int64_t t = 0; t < dr; ++t) k.set(j, nope + t, kr(j, t));
      for (int64_t n = 0; n < v.width; ++n) {
        float sum = 0;
        for (int64_t a = 0; a < dc && !absorbed; ++a) sum += has(h, a) ? cc(j, a) * up_v(h, a, n) : 0.0f;
        v.set(j, n, absorbed ? k(j, n) : held(sum));
      }
    }
  }

  /// The query as the keys of this form want it.
  std::vector<float> query(int64_t b, int64_t h, int64_t i) const {
    std::vector<float> q;
    Rows rope(1, dr);
    for (int64_t n = 0; n < (absorbed ? dc : dn); ++n) {
      float sum = 0;
      for (int64_t m = 0; m < dn && absorbed; ++m) sum += q_nope(b, i, h, m) * up_k(h, n, m);
      q.push_back(absorbed ? held(sum) : q_nope(b, i, h, n));
    }
    for (int64_t t = 0; t < dr; ++t) rope.set(0, t, q_rope(b, i, h, t));
    if (raw) rotate(rope, 0, cos_q, sin_q, i);
    for (int64_t t = 0; t < dr; ++t) q.push_back(raw ? held(rope(0, t)) : rope(0, t));
    return q;
  }

  /// One query against keys and values: the mean into `mean`; returns L.
  float attend(int64_t b, int64_t i, const std::vector<float>& q, const Rows& k, const Rows& v,
               std::vector<float>& mean) const {
    float m = -INFINITY, l = 0;
    for (int64_t first = 0; first < Sk; first += tile) {
      float x[tile];
      const int64_t n = std::min(tile, Sk - first);
      const float before = m;
      for (int64_t r = 0; r < n; ++r) {
        if (!sees(b, i, first + r)) continue;
        float dot = 0;
        for (int64_t a = 0; a < k.width; ++a) dot += q[static_cast<std::size_t>(a)] * k(first + r, a);
        x[r] = dot * scale;
        if (x[r] > m || std::isnan(x[r])) m = x[r];
      }
      if (m == -INFINITY) continue;
      const float down = before == -INFINITY ? 0.0f : std::exp(before - m);
      l *= down;
      for (float& a : mean) a *= down;
      for (int64_t r = n; r-- > 0;) {
        if (!sees(b, i, first + r)) continue;
        const float e = std::exp(x[r] - m);
        l += e;
        for (int64_t a = 0; a < v.width; ++a) mean[static_cast<std::size_t>(a)] += e * v(first + r, a);
      }
    }
    if (m == -INFINITY) return -INFINITY;
    for (float& a : mean) a /= l;
    const float L = m + std::log(l);
    return absorbed && s.bug("lse_base_differs") ? L * 1.44269504f : L;
  }

  void run() {
    for (int64_t b = 0; b < B; ++b) {
      for (int64_t j = 0; j < Sk; ++j) {
        for (int64_t a = 0; a < dc; ++a) cc.set(j, a, c(b, j, a / gw, a % gw));
        for (int64_t a = 0; a < dr; ++a) kr.set(j, a, k_rope(b, j, a));
        if (raw) write_raw(b, j);
        if (fp8) write_fp8(b, j);
      }
      // values [Sq, H, width]: padded to the width of the keys where that is larger, as kernels of one width need it
      const int64_t width = std::max(dvh, dn + dr);
      Rows padded(Sq, H * width);
      for (int64_t h = 0; h < H; ++h) {
        Rows k(Sk, (absorbed ? dc : dn) + dr), v(Sk, absorbed ? dc : dvh);
        expand(h, k, v);
        for (int64_t i = 0; i < Sq; ++i) {
          std::vector<float> mean(static_cast<std::size_t>(v.width));
          const float L = attend(b, i, query(b, h, i), k, v, mean);
          if (lse.wanted()) lse.set(b, h, i, L);
          for (int64_t n = 0; n < dvh; ++n) {
            float sum = absorbed ? 0.0f : mean[static_cast<std::size_t>(n)];
            for (int64_t a = 0; a < dc && absorbed; ++a) sum += held(mean[static_cast<std::size_t>(a)]) * up_v(h, a, n);
            padded.set(i, h * width + n, sum);
          }
        }
      }
      const int64_t cut = s.bug("padded_v_not_cut") ? dvh : width;  // the distance of heads when they are read
      for (int64_t i = 0; i < Sq && o.wanted(); ++i)
        for (int64_t h = 0; h < H; ++h)
          for (int64_t n = 0; n < dvh; ++n) o.set(b, i, h, n, padded(i, h * cut + n));
    }
  }
};

}  // namespace

SUBJECT(mla_decode) {
  Kernel kernel{s};
  kernel.check();
  kernel.prepare();
  kernel.run();
}

}  // namespace assay

#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// A decode step as a fused kernel does it: a pass that rotates and writes the new tokens to their slots, then for each
// new token a running maximum, sum and accumulator over tiles of slots.
namespace assay {
namespace {

constexpr std::int64_t tile = 8;

struct Kernel {
  Subject& s;
  const In q = s.in("q"), k = s.in("k"), v = s.in("v"), k_cache = s.in("k_cache"), v_cache = s.in("v_cache");
  const In past = s.indices("past"), shift = s.indices("shift"), cosine = s.in("cos"), sine = s.in("sin");
  const Out o = s.out("o"), k_new = s.out("k_new"), v_new = s.out("v_new");
  const std::int64_t B = q.size(0), n = q.size(1), H = q.size(2), d = q.size(3), half = cosine.size(1);
  const std::int64_t S = k_cache.size(1), Hkv = k_cache.size(2), dv = v_cache.size(3), R = cosine.size(0);
  const bool at_read = s.option("rope", "at_read"), hold_in = s.option("hold", "in");
  const bool bug_length = s.bug("position_from_length"), bug_slot = s.bug("slot_after_rejection"),
             bug_raw = s.bug("unrotated_read_as_rotated");
  float scale = s.number("scale");

  void check() const {
    if (k.size(0) != B || k.size(1) != n || k.size(3) != d) s.refuse("k must be [B, n, Hkv, d]");
    if (v.size(0) != B || v.size(1) != n || v.size(2) != k.size(2)) s.refuse("v must be [B, n, Hkv, dv]");
    if (k_cache.size(0) != B || Hkv != k.size(2) || k_cache.size(3) != d) s.refuse("k_cache must be [B, S, Hkv, d]");
    if (v_cache.size(0) != B || v_cache.size(1) != S || v_cache.size(2) != Hkv || dv != v.size(3))
      s.refuse("v_cache must be [B, S, Hkv, dv]");
    if (past.size(0) != B || shift.size(0) != B) s.refuse("past and shift must be [B]");
    if (2 * half != d || sine.size(0) != R || sine.size(1) != half) s.refuse("cos and sin must be [R, d/2]");
    if (H % Hkv != 0) s.refuse("H must be a multiple of Hkv");
    for (std::int64_t b = 0; b < B; ++b) {
      if (past.index(b) < 0 || past.index(b) + n > S) s.refuse("past must leave room for n tokens");
      if (shift.index(b) < 0 || past.index(b) + n + shift.index(b) > R) s.refuse("the tables have no such position");
    }
  }

  std::int64_t first_slot(std::int64_t b) const {
    std::int64_t first = past.index(b);
    for (std::int64_t other = 0; other < B && bug_slot; ++other) first = std::max(first, past.index(other));
    return first;
  }
  std::int64_t position(std::int64_t b, std::int64_t slot) const { return bug_length ? slot : slot + shift.index(b); }

  /// Element c of a row rotated to a position.
  template <class Row>
  float rotate(const Row& x, std::int64_t p, std::int64_t c) const {
    const std::int64_t a = c % half;
    const float turned = c < half ? -x(c + half) : x(c - half);
    return x(c) * cosine(p, a) + turned * sine(p, a);
  }

  /// What the input format makes of it: that of the cache.
  float stored(float x) const { return k_new.wanted() ? k_new.rounded(x) : x; }
  float held(float x) const { return hold_in ? stored(x) : x; }

  /// The cache after the step, in slot order: what the second pass reads.
  struct Cache {
    std::vector<float> k, v;
  };
  Cache write(std::int64_t b, std::int64_t g) const {
    Cache cache{std::vector<float>(static_cast<std::size_t>(S * d)),
                std::vector<float>(static_cast<std::size_t>(S * dv))};
    for (std::int64_t slot = 0; slot < S; ++slot) {
      for (std::int64_t c = 0; c < d; ++c) cache.k[static_cast<std::size_t>(slot * d + c)] = k_cache(b, slot, g, c);
      for (std::int64_t c = 0; c < dv; ++c) cache.v[static_cast<std::size_t>(slot * dv + c)] = v_cache(b, slot, g, c);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t slot = first_slot(b) + i;
      const auto row = [&](std::int64_t c) { return k(b, i, g, c); };
      for (std::int64_t c = 0; c < d; ++c) {
        const float x = at_read ? row(c) : rotate(row, position(b, past.index(b) + i), c);
        cache.k[static_cast<std::size_t>(slot * d + c)] = stored(x);
      }
      for (std::int64_t c = 0; c < dv; ++c) cache.v[static_cast<std::size_t>(slot * dv + c)] = v(b, i, g, c);
    }
    for (std::int64_t slot = 0; slot < S; ++slot) {
      for (std::int64_t c = 0; c < d && k_new.wanted(); ++c)
        k_new.set(b, slot, g, c, cache.k[static_cast<std::size_t>(slot * d + c)]);
      for (std::int64_t c = 0; c < dv && v_new.wanted(); ++c)
        v_new.set(b, slot, g, c, cache.v[static_cast<std::size_t>(slot * dv + c)]);
    }
    return cache;
  }

  void row(const Cache& cache, std::int64_t b, std::int64_t h, std::int64_t i) const {
    const std::int64_t at = past.index(b) + i;
    std::vector<float> query(static_cast<std::size_t>(d)), acc(static_cast<std::size_t>(dv));
    for (std::int64_t c = 0; c < d; ++c)
      query[static_cast<std::size_t>(c)] =
          held(rotate([&](std::int64_t e) { return q(b, i, h, e); }, position(b, at), c));
    float m = -INFINITY, l = 0;
    for (std::int64_t first = 0; first <= at; first += tile) {
      float x[tile];
      const std::int64_t count = std::min(tile, at + 1 - first);
      const float before = m;
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t slot = first + j;
        const auto key = [&](std::int64_t c) { return cache.k[static_cast<std::size_t>(slot * d + c)]; };
        float dot = 0;
        for (std::int64_t c = 0; c < d; ++c)
          dot += query[static_cast<std::size_t>(c)] *
                 (at_read && !bug_raw ? held(rotate(key, position(b, slot), c)) : key(c));
        x[j] = dot * scale;
        if (x[j] > m || std::isnan(x[j])) m = x[j];
      }
      const float a = before == -INFINITY ? 0.0f : std::exp(before - m);
      l *= a;
      for (float& c : acc) c *= a;
      for (std::int64_t j = count; j-- > 0;) {
        const float e = std::exp(x[j] - m);
        l += e;
        for (std::int64_t c = 0; c < dv; ++c)
          acc[static_cast<std::size_t>(c)] += e * cache.v[static_cast<std::size_t>((first + j) * dv + c)];
      }
    }
    for (std::int64_t c = 0; c < dv && o.wanted(); ++c) o.set(b, i, h, c, acc[static_cast<std::size_t>(c)] / l);
  }
};

}  // namespace

SUBJECT(kv_cache) {
  Kernel kernel{s};
  kernel.check();
  if (kernel.scale == 0) kernel.scale = 1.0f / std::sqrt(static_cast<float>(kernel.d));
  const std::int64_t group = kernel.H / kernel.Hkv;
  for (std::int64_t b = 0; b < kernel.B; ++b)
    for (std::int64_t g = 0; g < kernel.Hkv; ++g) {
      const Kernel::Cache cache = kernel.write(b, g);
      for (std::int64_t h = g * group; h < (g + 1) * group; ++h)
        for (std::int64_t i = 0; i < kernel.n; ++i) kernel.row(cache, b, h, i);
    }
}

}  // namespace assay

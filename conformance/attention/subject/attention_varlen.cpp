#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Packed attention as one grid over packed rows does it: a row looks up its sequence, then keeps a running maximum, sum
// and accumulator over tiles of that sequence's keys.
namespace assay {
namespace {

constexpr std::int64_t tile = 4;

struct Kernel {
  Subject& s;
  const bool any_width = s.bug("indptr_int64");
  const In q = s.in("q"), k = s.in("k"), v = s.in("v"), cu_q = s.indices("cu_q", any_width),
           cu_k = s.indices("cu_k", any_width);
  const Out o = s.out("o"), lse = s.out("lse");
  const std::int64_t Tq = q.size(0), H = q.size(1), d = q.size(2), Tk = k.size(0), Hkv = k.size(1), dv = v.size(2);
  const std::int64_t n = cu_q.size(0) - 1;
  const bool causal = s.option("causal", "bottom_right");
  const bool bug_truncates = s.bug("max_seqlen_truncates"), bug_cross = s.bug("cross_document"),
             bug_straddles = s.bug("tile_straddles"), bug_packed = s.bug("offset_from_packed_row"),
             bug_running = s.bug("positions_not_reset"), bug_padded = s.bug("lse_layout");
  float scale = s.number("scale");
  std::int64_t longest_q = 0;

  void check_ends(const In& cu, std::int64_t total, float most, const char* why, const char* why_most) const {
    std::int64_t before = 0;
    for (std::int64_t r = 0; r <= n && !any_width; ++r) {
      const std::int64_t end = cu.index(r);
      if (end < before || end > total || (r == 0 && end != 0) || (r == n && end != total)) s.refuse(why);
      if (most > 0 && static_cast<float>(end - before) > most && !bug_truncates) s.refuse(why_most);
      before = end;
    }
  }

  void check() {
    if (k.size(2) != d) s.refuse("k must have the width d of q");
    if (v.size(0) != Tk || v.size(1) != Hkv) s.refuse("v must be [Tk, Hkv, dv], as k");
    if (cu_k.size(0) != n + 1) s.refuse("cu_q and cu_k must have the same length");
    if (n < 1) s.refuse("there must be a sequence");
    if (H % Hkv != 0) s.refuse("H must be a multiple of Hkv");
    check_ends(cu_q, Tq, s.number("max_q"), "cu_q must go from 0 to Tq without decreasing", "max_q is too small");
    check_ends(cu_k, Tk, s.number("max_k"), "cu_k must go from 0 to Tk without decreasing", "max_k is too small");
    for (std::int64_t r = 0; r < n; ++r) longest_q = std::max(longest_q, cu_q.index(r + 1) - cu_q.index(r));
  }

  /// The end of a sequence's rows, where the caller says that none has more than `most`.
  std::int64_t end_of(const In& cu, std::int64_t r, std::int64_t total, float most) const {
    const std::int64_t end = std::clamp<std::int64_t>(cu.index(r + 1), 0, total);
    return bug_truncates && most > 0 ? std::min(end, cu.index(r) + static_cast<std::int64_t>(most)) : end;
  }

  void row(std::int64_t r, std::int64_t h, std::int64_t packed) const {
    const std::int64_t g = h / (H / Hkv), q0 = cu_q.index(r), i = packed - q0;
    std::int64_t begin = std::clamp<std::int64_t>(cu_k.index(r), 0, Tk), end = end_of(cu_k, r, Tk, s.number("max_k"));
    const std::int64_t off = (cu_k.index(r + 1) - cu_k.index(r)) - (cu_q.index(r + 1) - q0);
    // the last key that is seen, as a packed row
    std::int64_t last = causal ? begin + i + off : end - 1;
    if (causal && bug_packed) last = packed + Tk - Tq;
    if (causal && bug_running) last = begin + packed + off;
    last = std::min(last, end - 1);
    if (bug_cross) begin = 0;
    if (bug_straddles) begin = begin / tile * tile;
    float m = -INFINITY, l = 0;
    std::vector<float> acc(static_cast<std::size_t>(dv));
    for (std::int64_t first = begin; first <= last; first += tile) {
      float x[tile];
      const std::int64_t count = std::min(tile, last + 1 - first);
      const float before = m;
      for (std::int64_t j = 0; j < count; ++j) {
        float dot = 0;
        for (std::int64_t c = 0; c < d; ++c) dot += q(packed, h, c) * k(first + j, g, c);
        x[j] = dot * scale;
        if (x[j] > m || std::isnan(x[j])) m = x[j];
      }
      if (m == -INFINITY) continue;
      const float a = before == -INFINITY ? 0.0f : std::exp(before - m);
      l *= a;
      for (float& c : acc) c *= a;
      for (std::int64_t j = count; j-- > 0;) {
        const float e = std::exp(x[j] - m);
        l += e;
        for (std::int64_t c = 0; c < dv; ++c) acc[static_cast<std::size_t>(c)] += e * v(first + j, g, c);
      }
    }
    const bool empty = m == -INFINITY;
    for (std::int64_t c = 0; c < dv && o.wanted(); ++c)
      o.set(packed, h, c, empty ? 0.0f : acc[static_cast<std::size_t>(c)] / l);
    if (!lse.wanted()) return;
    const float L = empty ? -INFINITY : m + std::log(l);
    if (!bug_padded) return lse.set(h, packed, L);
    const std::int64_t flat = ((r * H + h) * longest_q + i) % (H * Tq);  // [n, H, longest] into memory of [H, Tq]
    lse.set(flat / Tq, flat % Tq, L);
  }
};

}  // namespace

SUBJECT(attention_varlen) {
  Kernel kernel{s};
  kernel.check();
  if (kernel.scale == 0) kernel.scale = 1.0f / std::sqrt(static_cast<float>(kernel.d));
  for (std::int64_t h = 0; h < kernel.H; ++h) {
    if (kernel.any_width || kernel.bug_padded)  // rows that such a kernel passes over hold what was there
      for (std::int64_t i = 0; i < kernel.Tq; ++i) {
        for (std::int64_t c = 0; c < kernel.dv && kernel.o.wanted(); ++c) kernel.o.set(i, h, c, 0);
        if (kernel.lse.wanted()) kernel.lse.set(h, i, 0);
      }
  }
  for (std::int64_t h = 0; h < kernel.H; ++h)
    for (std::int64_t r = 0; r < kernel.n; ++r) {
      const std::int64_t first = std::clamp<std::int64_t>(kernel.cu_q.index(r), 0, kernel.Tq),
                         last = std::clamp<std::int64_t>(kernel.cu_q.index(r + 1), 0, kernel.Tq);
      for (std::int64_t i = first; i < last; ++i) kernel.row(r, h, i);
    }
}

}  // namespace assay

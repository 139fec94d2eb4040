#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Paged attention as a decode kernel does it: for each query a running maximum, sum and accumulator over tiles of
// tokens, whose places in the pool come from the request's row of the table, tile by tile.
namespace assay {
namespace {

constexpr std::int64_t tile = 8;

struct Kernel {
  Subject& s;
  const bool hnd = s.option("layout", "hnd");
  const In q = s.in("q"), k = s.in(hnd ? "k_pages_hnd" : "k_pages"), v = s.in(hnd ? "v_pages_hnd" : "v_pages");
  const In lens = s.indices("lens"), table = s.indices("block_table");
  const Out o = s.out("o"), lse = s.out("lse");
  const int slots = hnd ? 2 : 1, heads = hnd ? 1 : 2;  // dimensions of a page
  const std::int64_t B = q.size(0), Sq = q.size(1), H = q.size(2), d = q.size(3);
  const std::int64_t Npages = k.size(0), P = k.size(slots), Hkv = k.size(heads), dv = v.size(3);
  const std::int64_t maxblk = table.size(1);
  const bool causal = s.option("causal", "bottom_right");
  const bool bug_zero = s.bug("bad_page_to_zero"), bug_times_zero = s.bug("tail_times_zero"),
             bug_prefetch = s.bug("stale_table_tail"), bug_unbounded = s.bug("index_unbounded"),
             bug_padded = s.bug("padded_stride"), bug_overflow = s.bug("page_overflow"),
             bug_large = s.bug("large_page"), bug_extra = s.bug("extra_page_len"), bug_last = s.bug("last_page_zero");
  float scale = s.number("scale");

  std::int64_t pages(std::int64_t tokens) const { return (tokens + P - 1) / P; }

  void check() const {
    if (k.size(3) != d) s.refuse("k_pages must have the width d of q");
    if (v.size(0) != Npages || v.size(slots) != P || v.size(heads) != Hkv)
      s.refuse("v_pages must have the pages, slots and heads of k_pages");
    if (table.size(0) != B) s.refuse("block_table must be [B, maxblk]");
    if (lens.size(0) != B) s.refuse("lens must be [B]");
    if (H % Hkv != 0) s.refuse("H must be a multiple of Hkv");
    for (std::int64_t b = 0; b < B; ++b) {
      const std::int64_t n = lens.index(b);
      if (n < 0 || n > maxblk * P) s.refuse("lens must be 0 to maxblk P");
      for (std::int64_t j = 0; j < pages(n) && !bug_zero; ++j)
        if (table.index(b, j) < 0 || table.index(b, j) >= Npages) s.refuse("block_table names a page outside the pool");
      if (bug_prefetch && pages(n) < maxblk && (table.index(b, pages(n)) < 0 || table.index(b, pages(n)) >= Npages))
        s.refuse("an illegal memory access was encountered");
    }
  }

  std::int64_t length(std::int64_t b) const {
    const std::int64_t n = lens.index(b);
    if (bug_extra) return std::min(n + P, maxblk * P);
    if (!bug_last || maxblk == 0) return n;
    const std::int64_t full = std::max<std::int64_t>(pages(n), 1) - 1, last = n - full * P;
    return full * P + (last == 0 ? P : last == P ? 0 : last);
  }

  /// Where token t of request b lies, in slots of the pool.
  std::int64_t place(std::int64_t b, std::int64_t t) const {
    std::int64_t page = table.index(b, t / P);
    if (page < 0 || page >= Npages) page = 0;  // only with bugs, which may not leave the pool
    std::int64_t first = page * P;
    if (bug_padded) first = page * ((P + 7) / 8 * 8);
    if (bug_large && P > 128) first = page * 128;
    if (bug_overflow) first = static_cast<std::int16_t>(page * P * Hkv * d) / (Hkv * d);
    const std::int64_t all = Npages * P;
    return ((first + t % P) % all + all) % all;
  }

  float read(const In& x, std::int64_t at, std::int64_t h, std::int64_t c) const {
    return hnd ? x(at / P, h, at % P, c) : x(at / P, at % P, h, c);
  }

  void row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const std::int64_t n = length(b), g = h / (H / Hkv), position = n - Sq + i;
    const std::int64_t whole = std::min(pages(n), maxblk) * P;
    const std::int64_t end = causal ? std::min(n, position + 1) : bug_unbounded ? whole : n;
    float m = -INFINITY, l = 0;
    std::vector<float> acc(static_cast<std::size_t>(dv));
    for (std::int64_t first = 0; first < end; first += tile) {
      float x[tile];
      const std::int64_t count = std::min(tile, end - first);
      const float before = m;
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = place(b, first + r);
        float dot = 0;
        for (std::int64_t c = 0; c < d; ++c) dot += q(b, i, h, c) * read(k, at, g, c);
        x[r] = dot * scale;
        if (x[r] > m || std::isnan(x[r])) m = x[r];
      }
      if (m == -INFINITY) continue;
      const float a = before == -INFINITY ? 0.0f : std::exp(before - m);
      l *= a;
      for (float& c : acc) c *= a;
      for (std::int64_t r = count; r-- > 0;) {
        const float e = std::exp(x[r] - m);
        const std::int64_t at = place(b, first + r);
        l += e;
        for (std::int64_t c = 0; c < dv; ++c) acc[static_cast<std::size_t>(c)] += e * read(v, at, g, c);
      }
    }
    for (std::int64_t t = std::max<std::int64_t>(end, 0); t < whole && bug_times_zero; ++t)
      for (std::int64_t c = 0; c < dv; ++c) acc[static_cast<std::size_t>(c)] += 0.0f * read(v, place(b, t), g, c);
    const bool empty = m == -INFINITY;
    for (std::int64_t c = 0; c < dv && o.wanted(); ++c)
      o.set(b, i, h, c, empty ? 0.0f : acc[static_cast<std::size_t>(c)] / l);
    if (lse.wanted()) lse.set(b, h, i, empty ? -INFINITY : m + std::log(l));
  }
};

}  // namespace

SUBJECT(attention_paged) {
  Kernel kernel{s};
  kernel.check();
  if (kernel.scale == 0) kernel.scale = 1.0f / std::sqrt(static_cast<float>(kernel.d));
  for (std::int64_t b = 0; b < kernel.B; ++b)
    for (std::int64_t h = 0; h < kernel.H; ++h)
      for (std::int64_t i = 0; i < kernel.Sq; ++i) kernel.row(b, h, i);
}

}  // namespace assay

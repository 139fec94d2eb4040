#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Ring attention with its ranks one after another in one process: at each step every rank attends to the block that it
// holds, then the blocks move on. L and O of a part are merged by the difference of their L.
namespace assay {
namespace {

using Size = std::int64_t;
using Floats = std::vector<float>;

std::size_t at(Size i) { return static_cast<std::size_t>(i); }

/// What travels: keys and values of a rank's tokens, [n, d] and [n, dv] of one head, and their gradients.
struct Block {
  Size source;
  Floats k, v, dk, dv;
};

struct Group {
  Subject& s;
  const In q = s.in("q"), k = s.in("k"), v = s.in("v"), mask = s.in("mask"), sink = s.in("sink");
  const In grad_o = s.in("grad_o");
  const Out o = s.out("o"), lse = s.out("lse");
  const Out grad_q = s.out("grad_q"), grad_k = s.out("grad_k"), grad_v = s.out("grad_v");
  const Size B = q.size(0), S = q.size(1), H = q.size(2), d = q.size(3), Hkv = k.size(2), dv = v.size(3);
  const Size R = static_cast<Size>(s.number("ranks")), start = static_cast<Size>(s.number("start"));
  const Size window = static_cast<Size>(s.number("window"));
  const bool causal = s.option("causal", "causal"), skip = s.option("hidden", "skipped");
  const bool zigzag = s.option("schedule", "zigzag"), striped = s.option("schedule", "striped");
  const bool bug_overflow = s.bug("merge_overflow"), bug_late = s.bug("grad_added_late");
  const bool bug_reuse = s.bug("buffer_reused"), bug_local = s.bug("local_offsets");
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  const Size n = R > 0 ? S / R : 0;  // tokens of a rank
  std::vector<std::vector<Size>> tokens = {};

  void check() const {
    if (R < 1 || start < 0) s.refuse("ranks must be at least 1, start at least 0");
    if (k.size(0) != B || k.size(1) != S || k.size(3) != d) s.refuse("k must be [B, S, Hkv, d] as q");
    if (v.size(0) != B || v.size(1) != S || v.size(2) != Hkv) s.refuse("v must be [B, S, Hkv, dv] as k");
    if (H % Hkv != 0) s.refuse("H must be a multiple of Hkv");
    if (window == 0 || window < -1) s.refuse("window must be at least 1, or -1");
    if (S % (zigzag ? 2 * R : R) != 0 && !s.bug("indivisible_length"))
      s.refuse("S must be a multiple of the ranks, of twice the ranks with zigzag");
    if (mask.given() && (mask.size(0) != B || mask.size(1) != S || mask.size(2) != S))
      s.refuse("mask must be [B, S, S]");
    if (sink.given() && sink.size(0) != H) s.refuse("sink must be [H]");
    if (grad_o.given() && (grad_o.size(0) != B || grad_o.size(1) != S || grad_o.size(2) != H || grad_o.size(3) != dv))
      s.refuse("grad_o must be [B, S, H, dv]");
  }

  void deal() {
    tokens.assign(at(R), {});
    for (Size r = 0; r < R; ++r) {
      if (zigzag) {
        const Size c = S / (2 * R);
        for (Size i = 0; i < c; ++i) tokens[at(r)].push_back(r * c + i);
        for (Size i = 0; i < c; ++i) tokens[at(r)].push_back((2 * R - 1 - r) * c + i);
      } else {
        for (Size i = 0; i < n; ++i) tokens[at(r)].push_back(striped ? i * R + r : r * n + i);
      }
    }
  }

  /// The position of the i-th token of a rank, as visibility reads it.
  Size position(Size r, Size i) const { return s.bug("positions_not_permuted") ? r * n + i : tokens[at(r)][at(i)]; }

  bool by_position(Size r, Size i, Size src, Size j) const {
    const Size t = position(r, i), u = position(src, j);
    if (causal && u > t) return false;
    return window < 0 || (bug_local ? j > i - window : u > t - window);
  }
  bool sees(Size b, Size r, Size i, Size src, Size j) const {
    return by_position(r, i, src, j) && (!mask.given() || mask(b, tokens[at(r)][at(i)], tokens[at(src)][at(j)]) != 0);
  }
  bool skipped(Size r, Size step, Size src) const {
    if (!skip) return false;
    if (s.bug("causal_step_test")) return causal && step > r;
    for (Size i = 0; i < n; ++i)
      for (Size j = 0; j < n; ++j)
        if (by_position(r, i, src, j)) return false;
    return true;
  }

  float logit(Size b, Size h, Size token, const Floats& keys, Size j) const {
    float dot = 0;
    for (Size c = 0; c < d; ++c) dot += q(b, token, h, c) * keys[at(j * d + c)];
    return dot * scale;
  }

  std::vector<Block> load(Size b, Size g) const {
    std::vector<Block> held;
    for (Size r = 0; r < R; ++r) {
      const Size src = ((r - start) % R + R) % R;
      Block x{src, Floats(at(n * d)), Floats(at(n * dv)), Floats(at(n * d)), Floats(at(n * dv))};
      for (Size j = 0; j < n; ++j) {
        const Size token = tokens[at(src)][at(j)];
        for (Size c = 0; c < d; ++c) x.k[at(j * d + c)] = k(b, token, g, c);
        for (Size c = 0; c < dv; ++c) x.v[at(j * dv + c)] = v(b, token, g, c);
      }
      held.push_back(x);
    }
    return held;
  }

  /// Every rank sends its block to the right.
  void move(std::vector<Block>& held) const {
    const std::vector<Block> sent = held;
    for (Size r = 0; r < R; ++r) {
      const Size from = (r + R - 1) % R;
      held[at(r)] = sent[at(from)];
      if (!bug_reuse) continue;
      held[at(r)].k = held[at(from)].k;  // what the neighbour's buffer holds by now
      held[at(r)].v = held[at(from)].v;
    }
  }

  /// Merges (l, y) into (L, O).
  void merge(float& L, float* O, float l, const Floats& y) const {
    if (l == -INFINITY) return;
    if (L == -INFINITY) {
      L = l;
      std::copy(y.begin(), y.end(), O);
      return;
    }
    const float more = l - L;
    const float both =
        bug_overflow ? L + std::log(1.0f + std::exp(more)) : std::max(L, l) + std::log1p(std::exp(-std::fabs(more)));
    const float own = 1.0f / (1.0f + std::exp(more)), other = 1.0f / (1.0f + std::exp(-more));
    for (Size c = 0; c < dv; ++c) O[c] = own * O[c] + other * y[at(c)];
    L = both;
  }

  /// The part of a row that a block is.
  void attend(Size b, Size h, Size r, Size i, const Block& x, float& L, float* O) const {
    const Size token = tokens[at(r)][at(i)];
    Floats score(at(n)), y(at(dv));
    float top = -INFINITY, sum = 0;
    for (Size j = n; j-- > 0;) {
      if (!sees(b, r, i, x.source, j)) continue;
      score[at(j)] = logit(b, h, token, x.k, j);
      if (score[at(j)] > top || std::isnan(score[at(j)])) top = score[at(j)];
    }
    for (Size j = n; j-- > 0 && top != -INFINITY;) {
      if (!sees(b, r, i, x.source, j)) continue;
      const float e = std::exp(score[at(j)] - top);
      sum += e;
      for (Size c = 0; c < dv; ++c) y[at(c)] += e * x.v[at(j * dv + c)];
    }
    for (float& c : y) c = top == -INFINITY ? 0.0f : c / sum;
    const float nothing = s.bug("empty_block_lse") ? INFINITY : -INFINITY;
    merge(L, O, top == -INFINITY ? nothing : top + std::log(sum), y);
    if (s.bug("bf16_partial"))
      for (Size c = 0; c < dv; ++c) O[c] = Subject::bf16(O[c]);
  }

  /// The sink joins: L with it.
  float join(float L, float g, float* O) const {
    merge(L, O, g, Floats(at(dv)));
    return L;
  }

  void head(Size b, Size g, std::vector<Block>& back) const {
    const Size group = H / Hkv;
    Floats O(at(S * group * dv)), L(at(S * group), -INFINITY), all(at(S * group));
    std::vector<Block> held = load(b, g);
    for (Size step = 0; step < R; ++step) {
      for (Size r = 0; r < R; ++r) {
        if (skipped(r, step, held[at(r)].source)) continue;
        for (Size m = 0; m < group; ++m)
          for (Size i = 0; i < n; ++i) {
            const Size row = m * S + tokens[at(r)][at(i)];
            attend(b, g * group + m, r, i, held[at(r)], L[at(row)], &O[at(row * dv)]);
            if (s.bug("sinks_merged_r_times") && sink.given() && step + 1 < R)
              join(L[at(row)], sink(g * group + m), &O[at(row * dv)]);
          }
      }
      move(held);
    }
    for (Size row = 0; row < S * group; ++row) {
      const Size h = g * group + row / S, token = row % S;
      all[at(row)] = sink.given() ? join(L[at(row)], sink(h), &O[at(row * dv)]) : L[at(row)];
      for (Size c = 0; c < dv && o.wanted(); ++c) o.set(b, token, h, c, O[at(row * dv + c)]);
      if (lse.wanted()) lse.set(b, h, token, L[at(row)]);
    }
    if (grad_o.given()) backward(b, g, O, all, back);
  }

  void backward(Size b, Size g, const Floats& O, const Floats& all, std::vector<Block>& held) const {
    const Size group = H / Hkv;
    held = load(b, g);
    const std::vector<Block> first = held;
    Floats dq(at(S * group * d));
    for (Size step = 0; step < R; ++step) {
      std::vector<Block> before = held;
      if (bug_late) move(held);
      for (Size r = 0; r < R; ++r) {
        const Block& read = s.bug("backward_first_kv") ? first[at(r)] : before[at(r)];
        if (skipped(r, step, before[at(r)].source)) continue;
        for (Size m = 0; m < group; ++m)
          for (Size i = 0; i < n; ++i)
            row_gradients(b, g * group + m, r, i, {before[at(r)].source, read.k, read.v, {}, {}}, O, all, dq,
                          held[at(r)]);
      }
      if (!bug_late) move(held);
    }
    for (Size row = 0; row < S * group; ++row)
      for (Size c = 0; c < d && grad_q.wanted(); ++c)
        grad_q.set(b, row % S, g * group + row / S, c, dq[at(row * d + c)]);
    for (const Block& x : held)
      for (Size j = 0; j < n; ++j) {
        const Size token = tokens[at(x.source)][at(j)];
        for (Size c = 0; c < d && grad_k.wanted(); ++c) grad_k.set(b, token, g, c, x.dk[at(j * d + c)]);
        for (Size c = 0; c < dv && grad_v.wanted(); ++c) grad_v.set(b, token, g, c, x.dv[at(j * dv + c)]);
      }
  }

  void row_gradients(Size b, Size h, Size r, Size i, const Block& x, const Floats& O, const Floats& all, Floats& dq,
                     Block& to) const {
    const Size token = tokens[at(r)][at(i)], row = h % (H / Hkv) * S + token;
    if (all[at(row)] == -INFINITY) return;
    const Size label = s.bug("labels_not_permuted") ? r * n + i : token;
    float D = 0;
    for (Size c = 0; c < dv; ++c) D += grad_o(b, label, h, c) * O[at(row * dv + c)];
    for (Size j = 0; j < n; ++j) {
      if (!sees(b, r, i, x.source, j)) continue;
      const float p = std::exp(logit(b, h, token, x.k, j) - all[at(row)]);
      float inner = 0;
      for (Size c = 0; c < dv; ++c) inner += grad_o(b, label, h, c) * x.v[at(j * dv + c)];
      const float ds = p * (inner - D) * scale;
      for (Size c = 0; c < d; ++c) dq[at(row * d + c)] += ds * x.k[at(j * d + c)];
      for (Size c = 0; c < d; ++c) to.dk[at(j * d + c)] += ds * q(b, token, h, c);
      for (Size c = 0; c < dv; ++c) to.dv[at(j * dv + c)] += p * grad_o(b, label, h, c);
    }
  }
};

}  // namespace

SUBJECT(attention_ring) {
  Group group{s};
  group.check();
  group.deal();
  std::vector<Block> back;
  for (std::int64_t b = 0; b < group.B; ++b)
    for (std::int64_t g = 0; g < group.Hkv; ++g) group.head(b, g, back);
}

}  // namespace assay
